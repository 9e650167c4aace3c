#!/bin/bash
# SPDX-License-Identifier: MIT
# functions: functions of the kernel are recorded at their return, with arguments, result and duration, by
# fentry where the kernel has it and by kprobes or ftrace else; filters and stacks; those that can't be traced are
# refused with the reason.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
FILE=$WORK/file
NUMBER='\(0x[0-9a-f]*\|0\)'
TIME='([0-9]*\.[0-9] us)'

# on SWITCH [SETTING], off SWITCH, of functions
on() {
	put "events/kernel/function:$1" "${2:-1}" || fail "$1: $(tail -n 1 "$MNT/kperr")"
	same "$1 is set" "${2:-1}" "$(cat "$MNT/events/kernel/function:$1")"
}

off() {
	put "events/kernel/function:$1" 0
	same "$1 is off" 0 "$(cat "$MNT/events/kernel/function:$1")"
}

# lines of the trace that match
lines() {
	grep -c "$1" "$MNT/kptrace"
}

# refused FUNCTION ERRNO-TEXT REASON
refused() {
	local said
	said=$(put "events/kernel/function:$1" 1 2>&1) && fail "$1 is not refused"
	check "$1: $2" grep -q "$2" <<<"$said"
	check "$1: $(tail -n 1 "$MNT/kperr")" grep -q "$3" <(tail -n 1 "$MNT/kperr")
	same "$1 stays off" 0 "$(cat "$MNT/events/kernel/function:$1")"
}

serve
on vfs_fallocate
for _ in 1 2 3 4 5; do
	fallocate -o 4096 -l 8192 "$FILE"
done
fallocate -l 8192 /dev/null 2>/dev/null
off vfs_fallocate
same "calls with their arguments and results" 5 \
	"$(lines ": fallocate\[[0-9]*\] function:vfs_fallocate: file=$NUMBER mode=0 offset=4096 len=8192 = 0 $TIME\$")"
same "an error" 1 "$(lines "function:vfs_fallocate: file=$NUMBER mode=0 offset=0 len=8192 = -[0-9]* $TIME\$")"
fallocate -l 8192 "$FILE"
same "nothing when it is off" 6 "$(lines function:vfs_fallocate)"
grep function:vfs_fallocate "$MNT/kptrace" | tail -n 1

check "a span of views/trace.json" grep -q '"name":"function:vfs_fallocate".*"ph":"X"\|"ph":"X".*"name":"function:vfs_fallocate"' \
	"$MNT/views/trace.json"
for field in mode len result duration_us; do
	check "CTF has the field $field" grep -q " _$field;" <(sed -n '/name = "function:vfs_fallocate"/,/^};/p' "$MNT/views/ctf/metadata")
done

# filters by arguments, result and duration
put kptrace_ctl clear
on vfs_fallocate '1 /offset == 4096 && len > 4096 && result == 0 && retval == 0 && duration_ns > 0 && comm == "fallocate"/'
fallocate -o 4096 -l 8192 "$FILE"
fallocate -o 4096 -l 4096 "$FILE"
fallocate -o 8192 -l 8192 "$FILE"
on vfs_fallocate '1 /result < 0 && file != 0 && (file & 7) == 0/'
fallocate -o 4096 -l 8192 "$FILE"
fallocate -o 4096 -l 12288 /dev/null 2>/dev/null
fails_with "Invalid argument" put events/kernel/function:vfs_fallocate '1 /nosuch == 1/'
same "a wrong filter changes nothing" '1 /result < 0 && file != 0 && (file & 7) == 0/' \
	"$(cat "$MNT/events/kernel/function:vfs_fallocate")"
off vfs_fallocate
same "filtered by arguments" 1 "$(lines 'offset=4096 len=8192 = 0')"
same "filtered by the result" 1 "$(lines 'offset=4096 len=12288 = -')"
same "no others" 2 "$(lines function:vfs_fallocate)"

# a function that calls itself, and many threads in one: each duration is that of its own call
put kptrace_ctl clear
on do_nanosleep '1 /comm == "sleep"/'
sleepers=
for time in 0.4 0.3 0.2 0.1; do
	sleep $time &
	sleepers="$sleepers $!"
done
# shellcheck disable=SC2086 # words
wait $sleepers
off do_nanosleep
same "as long as they slept" "1 2 3 4" "$(sed -n 's/.*function:do_nanosleep: .* = 0 (\([0-9]*\)[0-9]\{5\}\.[0-9] us)$/\1/p' \
	"$MNT/kptrace" | sort -n | tr '\n' ' ' | sed 's/ $//')"

# many calls on both CPUs: each one is recorded or missed
CALL=$(sed -n 's/.* [tT] \(__[a-z0-9]*_sys_getppid\)$/\1/p' /proc/kallsyms | head -n 1)
count() {
	sed -n "s/^trace\.kernel\.$1 //p" "$MNT/kpstat"
}
recorded=$(count recorded) missed=$(count missed)
on "$CALL" '1 /comm == "kernel_calls"/'
for cpu in 0 1; do
	echo | tests/fs/kernel_calls $cpu 20000 >/dev/null &
	callers="${callers-} $!"
done
# shellcheck disable=SC2086 # words
wait $callers
same "it is in the folder while it is on" "function:$CALL" "$(cd "$MNT/events/kernel" && ls -d function:*)"
check "and in info" grep -q "^name 'function:$CALL' fields '.*' format '.* = %ld (%.1f us)' 1 /comm" "$MNT/events/kernel/info"
off "$CALL"
same "calls of $CALL" 40000 $(($(count recorded) - recorded + $(count missed) - missed))
same "not listed when it is off" 0 "$(cd "$MNT/events/kernel" && find . -name 'function:*' | wc -l)"

# stacks
put kptrace_ctl clear
on vfs_fallocate '1 stack'
fallocate -o 4096 -l 8192 "$FILE"
off vfs_fallocate
timeout 60 "$KPROF" trace --mount "$MNT" >"$WORK/named" || fail "kprof trace"
check "a stack of the kernel" grep -q 'fallocate\[[0-9]*\] function:vfs_fallocate:   0x[0-9a-f]* [a-z0-9_]*sys_fallocate+\{0,1\}.* (\[kernel.kallsyms\])$' "$WORK/named"
first=$(grep -m 1 'function:vfs_fallocate:   0x' "$WORK/named")
check "begins with the function or its caller: $first" grep -q '0x[0-9a-f]* [a-z0-9_]*_fallocate' <<<"$first"
check "and of the program" grep -q 'function:vfs_fallocate:   0x[0-9a-f]\{1,12\}\( \|$\)' "$WORK/named"

# a function of a module
if grep -q '\[fuse\]$' /proc/kallsyms; then
	put kptrace_ctl clear
	on fuse_lookup
	cat "$MNT/kpstat" >/dev/null
	off fuse_lookup
	grep function:fuse_lookup "$MNT/kptrace" | tail -n 1
	check "a function of a module" test "$(lines "function:fuse_lookup: dir=$NUMBER entry=$NUMBER flags=[0-9]* = $NUMBER $TIME\$")" -gt 0
	same "the server itself is left out" 0 "$(lines "kprofs\[[0-9]*\(/[0-9]*\)\?\] function:")"
fi

# one with more parameters than fentry takes on some kernels, else by kprobes
put kptrace_ctl clear
on do_mmap '1 /comm == "cat" && prot == 3/'
cat "$FILE" >/dev/null
off do_mmap
check "many parameters" test "$(lines "function:do_mmap: file=$NUMBER addr=[0-9]* len=[0-9]* prot=3 flags=[0-9]* .* = [0-9]* $TIME\$")" -gt 0
grep function:do_mmap "$MNT/kptrace" | tail -n 1

# one that the kernel's types do not have: arguments are registers
unknown=$(sed -n 's/^\(do_execveat_common\.[a-z]*\.0\)$/\1/p' /sys/kernel/tracing/available_filter_functions | head -n 1)
if [ -n "$unknown" ]; then
	put kptrace_ctl clear
	on "$unknown" '1 /arg0 != 1/'
	cat "$FILE" >/dev/null
	cat "$FILE" >/dev/null
	off "$unknown"
	grep "function:$unknown" "$MNT/kptrace" | tail -n 1
	check "without types: $(lines "function:$unknown")" test "$(lines "function:$unknown: arg0=$NUMBER .* arg5=$NUMBER = $NUMBER $TIME\$")" -ge 2
	grep "function:$unknown" "$MNT/kptrace" | tail -n 1
fi

# those that can't be recorded
fails_with "No such file" cat "$MNT/events/kernel/function:no_such_function"
fails_with "No such file" cat "$MNT/events/kernel/function:"
refused start_kernel "not supported" "__init"
for notrace in exc_page_fault el1h_64_sync_handler; do
	! grep -q " $notrace\$" /proc/kallsyms || refused "$notrace" "not supported" available_filter_functions
done

grep '^trace.kernel' "$MNT/kpstat"
same "nothing is missed" 0 "$(count missed)"
serve_end

# without perf_event_open there is ftrace
if [ -n "$unknown" ] && grep -q ' fprobe_handler\| register_fprobe$' /proc/kallsyms && [ -x tests/deny/deny ]; then
	printf '#!/bin/bash\nexec "%s" EPERM perf_event_open -- "%s" "$@"\n' "$PWD/tests/deny/deny" "$KPROFS" >"$WORK/denied"
	chmod +x "$WORK/denied"
	KPROFS=$WORK/denied
	serve
	on "$unknown"
	cat "$FILE" >/dev/null
	cat "$FILE" >/dev/null
	off "$unknown"
	check "by ftrace" test "$(lines "function:$unknown: arg0=$NUMBER .* arg5=$NUMBER = $NUMBER $TIME\$")" -ge 2
	grep "function:$unknown" "$MNT/kptrace" | tail -n 1
	serve_end
fi
