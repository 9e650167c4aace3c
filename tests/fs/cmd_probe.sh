#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_probe: kprof probe lists probes and checks programs without a server, and runs them in a private one.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

probe() {
	kprof_ends "$1" probe "${@:2}"
}

# programs that need nothing of the kernel
probe 0 -n 'profile:hz:99 { @[comm] = count(); }'
probe 0 -n -e 'BEGIN { printf("%d %s %d\n", $1, str($2), $#); }' 42 word
printf '#!/usr/bin/x\nBEGIN\n{\n\t@ = 1;\n}\n' >"$tmp/file.bt"
probe 0 -n "$tmp/file.bt"
probe 1 -n 'BEGIN { @ = count( }'
same "the place and the reason" "kprof: line 1, column 20: a value is missing" "$(head -n 1 "$tmp/err")"
same "the caret" '                   ^' "$(tail -n 1 "$tmp/err")"
probe 1 -n 'BEGIN { for (;;) { } }'
grep -q 'for loops are not supported' "$tmp/err" || fail "it does not name what is refused"
probe 1 -n -e 'BEGIN { @ = $1; }' word
grep -q 'not a number: use str(\$1)' "$tmp/err" || fail "it does not say how a word is used"
probe 1 -n "$tmp/absent.bt"
probe 2 -n
probe 2 -l a b

# what can be probed: the same names as the kernel shows
events=/sys/kernel/tracing/events
if [ -r $events/sched ]; then
	probe 0 -l 'tracepoint:sched:*'
	same "the tracepoints of one system" "$(cd $events/sched && find . -mindepth 1 -type d | sed 's|\./||' | sort)" \
		"$(sed 's/ .*//; s/^tracepoint:sched://' "$tmp/out" | sort)"
	probe 0 -l 'tracepoint:sched:sched_switch'
	grep -q ' char prev_comm\[16\], pid_t prev_pid, ' "$tmp/out" || fail "no types of fields: $(cat "$tmp/out")"
	probe 0 -l 'syscall:getppid:*'
	same "both sides of a system call" "syscall:getppid:entry syscall:getppid:return long ret" \
		"$(sort "$tmp/out" | paste -sd ' ')"
fi
# of files
program=$PWD/tests/fs/probes_static
probe 0 -l "usdt:$program:*"
same "static probes" "usdt:$program:kp:one usdt:$program:kp:two usdt:$program:kp:two" \
	"$(sed 's/ .*//' "$tmp/out" | sort | paste -sd ' ')"
grep -q "^usdt:$program:kp:one 8@[^ ]* -4@[^ ]* -4@" "$tmp/out" || fail "no arguments: $(cat "$tmp/out")"
probe 0 -l "uprobe:$program:ma?n"
same "functions" "uprobe:$program:main" "$(cat "$tmp/out")"
probe 0 -l "usdt:$program:on?"
probe 1 -l "usdt:$program:no_such*"
probe 1 -l 'uprobe:/no/such/file:*'
probe 1 -l 'tracepoint:no_such_system:*'
grep -q "no probe matches" "$tmp/err" || fail "it does not say that nothing matches"
if [ -r /sys/kernel/btf/vmlinux ]; then
	probe 0 -l '*:vfs_read'
	same "a function" "fentry:vfs_read fexit:vfs_read kprobe:vfs_read kretprobe:vfs_read" \
		"$(sed 's/ .*//' "$tmp/out" | sort | paste -sd ' ')"
	grep -q '^fentry:vfs_read file \*file, char \*buf, size_t count, loff_t \*pos$' "$tmp/out" ||
		fail "no arguments: $(cat "$tmp/out")"
fi

# runs, where the server can run programs
if ! "$KPROF" probe 'BEGIN { exit(); }' >"$tmp/out" 2>"$tmp/err"; then
	echo "programs can't be run here: $(cat "$tmp/err")"
	[ "$failures" = 0 ]
	exit
fi
probe 0 -e 'BEGIN { printf("%d %s %d\n", $1, str($2), $#); exit(); } END { printf("ends\n"); }' 42 'a"b'
same "what BEGIN and END print" '42 a"b 2 ends' "$(paste -sd ' ' "$tmp/out")"

# sixteen calls of a program: each `:` of this shell opens a file once
cat >"$tmp/opens" <<-END
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do : <$tmp/file.bt; done
END
probe 3 -c "bash -c '. $tmp/opens; exit 3'" \
	'syscall:openat:entry /pid == cpid/ { @f[str(args.filename)] = count(); }'
grep -qxF "@f[$tmp/file.bt]: 16" "$tmp/out" || fail "not 16 opens: $(cat "$tmp/out")"
probe 0 -o "$tmp/written" -e 'BEGIN { @x = 7; exit(); }'
same "the output in a file" "@x: 7" "$(grep . "$tmp/written")"
same "nothing else" "" "$(cat "$tmp/out")"

# maps that are printed on the way, and their lines
probe 0 -e 'BEGIN { @a[1] = 5; @a[3] = 4; print(@a); printf("x\ny\n"); exit(); }'
same "all lines" "@a[1]: 5 @a[1]: 5 @a[3]: 4 @a[3]: 4 x y" "$(sort "$tmp/out" | paste -sd ' ')"

# without keys: at that moment, and nothing of one that is not set
probe 0 -e 'BEGIN { @s = "longer text"; print(@s); @s = "b"; print(@s); delete(@s); print(@s); exit(); }'
same "a map without keys" "@s: longer text @s: b" "$(grep . "$tmp/out" | paste -sd ' ')"

probe 0 -e 'BEGIN { @m[1] = sum(3); @m[2] = sum(4); print(@m[2]); print(@m[3]); clear(@m); exit(); }'
same "one key of an aggregation" "@m[2]: 4" "$(grep . "$tmp/out")"
probe 0 -e 'interval:ms:1 { @k = kstack(2); print(@k); exit(); }'
same "stacks, at once and at the end" "2" "$(grep -c '^@k:' "$tmp/out")"

# the wall clock, in what is printed and in maps
first=$(date '+%F %T')
probe 0 -e 'BEGIN { printf("%s\n", strftime("%F %T", nsecs)); @[strftime("%F %T", nsecs)] = 1; exit(); }'
last=$(date '+%F %T')
[ "$(wc -l <"$tmp/out")" -ge 2 ] || fail "two times: $(cat "$tmp/out")"
while IFS= read -r line; do
	time=${line#"@["}
	time=${time%"]: 1"}
	[ "${#time}" = "${#first}" ] && [[ ! $time < $first && ! $time > $last ]] ||
		fail "'$line' is not between $first and $last"
done < <(grep . "$tmp/out")

# a line ends where its text does, and not with the call
probe 0 -e 'BEGIN { printf("a "); printf("b\n"); printf("%s\nd", "c"); printf(""); @x = 1; exit(); }'
same "one line of two calls" 'a b
c
d
@x: 1' "$(grep . "$tmp/out")"
printf 'x\ny' >"$tmp/unended"
probe 0 -e 'BEGIN { cat("'"$tmp/unended"'"); exit(); } END { printf("z\n"); }'
same "a file whose last line has no newline" "x yz" "$(paste -sd ' ' "$tmp/out")"

# the time is in its line, however soon the next call comes
clock='[0-2][0-9]:[0-5][0-9]:[0-6][0-9]'
probe 0 -e 'interval:ms:1 { @i++; time("%H:%M:%S "); printf("line %d\n", @i); if (@i == 100) { exit(); } }'
same "lines with the time" "$(seq -f 'line %g' 100)" "$(grep line "$tmp/out" | sed "s/^$clock //")"
same "all of them" 100 "$(grep -c "^$clock line" "$tmp/out")"
probe 0 -f json -e 'interval:ms:1 { @i++; time("%%\n"); printf("%d\n", @i); if (@i == 100) { exit(); } }'
same "JSON with the time" "$(seq -f '{"type": "time", "data": "%%\n"}
{"type": "printf", "data": "%g\n"}' 100)" "$(grep -E '"(time|printf)"' "$tmp/out")"
hour=$(TZ=UTC date +%Y-%m-%dT%H)
TZ=UTC probe 0 -e 'BEGIN { time("%Y-%m-%dT%H"); exit(); }'
case $(cat "$tmp/out") in
"$hour" | "$(TZ=UTC date +%Y-%m-%dT%H)") ;;
*) fail "the time is $(cat "$tmp/out") and not $hour" ;;
esac
# a map and a file, which the server reads, are between the lines around them
printf 'file\n' >"$tmp/read"
probe 0 -e 'interval:ms:5 { @i++; @m[1] = 7; printf("before %d\n", @i); print(@m); cat("'"$tmp/read"'");
	printf("behind %d\n", @i); if (@i == 50) { exit(); } }'
same "the order of maps and files" "$(seq 50 | awk '{ print "before " $1 "\n@m[1]: 7\nfile\nbehind " $1 }')" "$(grep -v '^@i\|^$' "$tmp/out" | head -n 200)"
# as killsnoop prints a signal
probe 0 -c "bash -c 'kill -CONT \$\$'" 'tracepoint:syscalls:sys_exit_kill /pid == cpid/ {
	time("%H:%M:%S  "); printf("%-16s %d\n", comm, args.ret); }'
same "a signal in one line" "bash             0" "$(sed -n "s/^$clock  //p" "$tmp/out")"

# JSON, which bpftrace would print so
probe 0 -f json -e 'BEGIN { printf("a\n"); @s = "abc"; print(@s); delete(@s); @["k"] = hist(5); exit(); }'
same "JSON" '{"type": "attached_probes", "data": {"probes": 1}}
{"type": "printf", "data": "a\n"}
{"type": "map", "data": {"@s": "abc"}}
{"type": "hist", "data": {"@": {"k": [{"min": 4, "max": 7, "count": 1}]}}}' "$(cat "$tmp/out")"
probe 2 -f xml -e 'BEGIN { }'

# one process, and its end
sleep 1000 &
pid=$!
"$KPROF" probe -p $pid -e 'BEGIN { printf("runs\n"); } tracepoint:sched:sched_process_exit { @[comm] = count(); }' \
	>"$tmp/out" 2>"$tmp/err" &
probe=$!
end=$((SECONDS + 60))
until grep -q runs "$tmp/out" || [ "$SECONDS" -ge "$end" ]; do read -rt 0.05 <> <(:); done
/bin/true
kill $pid
wait $pid 2>/dev/null
wait $probe || fail "-p: status $?: $(cat "$tmp/err")"
same "the one process" "@[sleep]: 1" "$(grep @ "$tmp/out")"
probe 2 -p $pid -e 'BEGIN { }'
probe 2 -p x -e 'BEGIN { }'

# Ctrl-C ends a program that would go on
mkfifo "$tmp/way"
"$KPROF" probe 'BEGIN { printf("runs\n"); } interval:s:1000 { @ = count(); } END { printf("ends\n"); }' \
	>"$tmp/way" 2>"$tmp/err" &
pid=$!
exec 3<"$tmp/way"
read -r -t 60 line <&3
same "it runs" runs "$line"
kill -INT $pid
wait $pid
same "the status after Ctrl-C" 0 $?
same "END has run" ends "$(cat <&3)"
exec 3<&-

[ "$failures" = 0 ]
