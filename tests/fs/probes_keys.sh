#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_keys: aggregations of system calls by a key, more keys than the cache of a CPU has slots: each key's value is
# exact, on two CPUs, while others read, after the map was cleared under load, and when there are more keys than may be.
# shellcheck source=tests/fs/lib.sh disable=SC2086 # lists of numbers
. "${srcdir:-.}/tests/fs/lib.sh"

PROGRAM=$PWD/tests/fs/probes_keys
CPUS=$(awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo | head -n 2)
COUNT=$(wc -w <<<"$CPUS")
KEYS=200
ROUNDS=500

# callers ROUNDS: one on each of the CPUs; CALLERS are their processes, and `go` lets them call
callers() {
	local cpu
	CALLERS=
	mkfifo "$WORK/in"
	exec 5<>"$WORK/in"
	for cpu in $CPUS; do
		rm -f "$WORK/out"
		"$PROGRAM" "$cpu" $KEYS "$1" <"$WORK/in" >"$WORK/out" 5>&- &
		CALLERS="$CALLERS $!"
		wait_for test -s "$WORK/out"
	done
}

go() {
	# the end of the input is a line too
	exec 5>&-
	rm "$WORK/in"
}

come_back() {
	local caller
	for caller in $CALLERS; do
		WAIT=100 wait_for has_ended "$caller"
		wait "$caller" || fail "the program failed with $?"
	done
}

# of_callers: a filter
of_callers() {
	set -- $CALLERS
	echo "pid == $1 || pid == ${2:-$1}"
}

# values FILE MAP: key and value, a line each, by key
values() {
	sed -n "s/^@$2\[\([0-9]*\)\]: /\1 /p" "$1" | sort -n
}

# expected AWK: the same of each key, computed with n, the number of its calls
expected() {
	awk -v keys=$KEYS -v n=$((COUNT * ROUNDS)) "BEGIN { for (key = 0; key < keys; key++) print key, $1 }"
}

# all_of FILE MAP AWK
all_of() {
	same "@$2" "$(expected "$3" | cksum)" "$(values "$1" "$2" | cksum)"
}

serve
need_probe first 'syscall:getppid:entry { @ = count(); }'
rm "$MNT/probes/first"

callers $ROUNDS
for name in count sum most average; do
	case $name in
	count) value="count()" ;;
	sum) value="sum(args.whence)" ;;
	most) value="max(args.offset * 10 + args.whence)" ;;
	average) value="stats(args.offset)" ;;
	esac
	check "$name: $(tail -n 1 "$MNT/kperr")" put probes/$name \
		"syscall:lseek:entry /$(of_callers)/ { @$name[args.offset] = $value; }"
done
put probes/rows "syscall:lseek:entry /$(of_callers)/ { @rows[args.offset] = lhist(args.whence, 0, 5, 1); }"
put probes/many "syscall:lseek:entry /$(of_callers)/ { @many[args.offset, comm, args.whence, pid] = count(); }"
go
# a value that is read meanwhile never falls
echo "none 0" >"$WORK/before"
while ! has_ended "${CALLERS##* }"; do
	cp "$MNT/probes/count" "$WORK/count"
	values "$WORK/count" count >"$WORK/now"
	awk 'NR == FNR { was[$1] = $2; next } { here[$1] = $2 } END { for (key in was) if (here[key] + 0 < was[key]) exit 1 }' \
		"$WORK/before" "$WORK/now" || fail "a count fell: $(diff "$WORK/before" "$WORK/now" | head -n 5)"
	mv "$WORK/now" "$WORK/before"
done
come_back
for name in count sum most average rows many; do
	cp "$MNT/probes/$name" "$WORK/$name"
	same "$name: events" $((COUNT * ROUNDS * KEYS)) \
		"$(awk '/^# [0-9]* events/ { print $2 - $6 }' "$WORK/$name")"
done
all_of "$WORK/count" count n
all_of "$WORK/sum" sum 'n * 2'
all_of "$WORK/most" most 'key * 10 + 4'
all_of "$WORK/average" average '"count " n ", average " key ", total " n * key'
same "histograms" $((KEYS * 5)) "$(grep -cE "^\[[0-4], [1-5]\) +$((COUNT * ROUNDS / 5)) " "$WORK/rows")"
same "keys of four words" $((KEYS * 5 * COUNT)) \
	"$(grep -cE "^@many\[[0-9]+, probes_keys, [0-4], [0-9]+\]: $((ROUNDS / 5))\$" "$WORK/many")"
same "their number in kpstat" $KEYS "$(stat_of probes.count.keys)"
rm "$MNT"/probes/{sum,most,average,rows,many}

# off and on again, and cleared: nothing of before comes back
put probes/count off
put probes/count on
cp "$MNT/probes/count" "$WORK/count"
all_of "$WORK/count" count n
put probes/count clear
same "cleared" "" "$(grep '^@' "$MNT/probes/count")"
same "kpstat: no keys" 0 "$(stat_of probes.count.keys)"

# it is cleared while programs count, and then counts all
callers $((ROUNDS * 4))
put probes/count "syscall:lseek:entry /comm == \"probes_keys\"/ { @count[args.offset] = count(); }"
go
clears=0
while ! has_ended "${CALLERS##* }"; do
	put probes/count clear
	clears=$((clears + 1))
done
come_back
echo "cleared $clears times"
put probes/count clear
same "cleared under load" "" "$(grep '^@' "$MNT/probes/count")"
callers $ROUNDS
go
come_back
cp "$MNT/probes/count" "$WORK/count"
all_of "$WORK/count" count n

# a program that removes its keys
put probes/count "syscall:lseek:entry /comm == \"probes_keys\"/ { @count[args.offset] = count();
	if (args.offset % 2 == 0) { delete(@count[args.offset]); } }"
callers $ROUNDS
go
come_back
same "those that were not removed" "$(expected n | awk '$1 % 2 { print }')" "$(values "$MNT/probes/count" count)"

# a rule with many maps: the first have caches, and each counts all; the kernel allows a program 64 maps
many_maps() {
	printf 'syscall:lseek:entry /comm == "probes_keys"/ { '
	for ((i = 0; i < $1; i++)); do
		printf '@m%d[args.whence] = count(); ' "$i"
	done
	echo '}'
}
check "50 maps: $(tail -n 3 "$MNT/kperr")" put probes/count "$(many_maps 50)"
callers 5
go
come_back
same "50 maps of 5 keys" 250 "$(grep -c "^@m[0-9]*\[[0-4]\]: $((COUNT * KEYS))\$" "$MNT/probes/count")"
fails_with "Argument list too long" put probes/count "$(many_maps 70)"
check "it says why: $(tail -n 3 "$MNT/kperr")" grep -q 'line 1, column 1: .* 64 maps' "$MNT/kperr"
put probes/count "syscall:lseek:entry /comm == \"probes_keys\"/ { unroll(40) { @h[comm, args.whence] = hist(args.offset); } }"
callers 5
go
come_back
same "40 statements" $((40 * COUNT * KEYS * 5)) \
	"$(sed -n 's/^\[.*[])] *\([0-9]*\) |.*/\1/p' "$MNT/probes/count" | awk '{ n += $1 } END { print n }')"

# a key without room is dropped and counted: in the cache there is none that the map has no room for
serve_end
serve -o probe_keys=16
put probes/count "syscall:lseek:entry /comm == \"probes_keys\"/ { @count[args.offset] = count(); }"
callers $ROUNDS
go
come_back
cp "$MNT/probes/count" "$WORK/count"
same "keys" 16 "$(grep -c '^@' "$WORK/count")"
same "all counts are whole" 16 "$(grep -c "^@count\[[0-9]*\]: $((COUNT * ROUNDS))\$" "$WORK/count")"
same "the others are dropped" $((COUNT * ROUNDS * (KEYS - 16))) \
	"$(sed -n 's/^# .* filtered, \([0-9]*\) keys dropped.*/\1/p' "$WORK/count")"
