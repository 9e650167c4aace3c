#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_leaks: programs of probes/ are created, replaced and removed PROBES_CYCLES times (300), under load and while
# they are read: no program, map, link or descriptor is left, and the server's memory does not grow. Memory of
# 100 programs, and of a large answer; stacks that no key has any more.
#
# PROBES_CYCLES=10000 tests/fs/probes_leaks.sh, in the build folder, is the long form (some minutes).
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

CYCLES=${PROBES_CYCLES:-300}
WARM=100 # cycles before memory is looked at
CALLS=$PWD/tests/fs/kernel_calls
# of the server: allocators keep some; a leak of 100 bytes in each cycle of the long form is more
GROWN_KB_MAX=1024

# ids KIND: the numbers of programs (prog), maps (map) or links (link) of the server
ids() {
	sed -n "s/^$1_id:[^0-9]*//p" /proc/"$SERVER"/fdinfo/* 2>/dev/null | sort -u
}

# what the server has open: kinds and counts; without the pipes that libfuse makes for a thread when it first
# answers a large read
held() {
	echo "$(ids prog | wc -l) programs, $(ids map | wc -l) maps, $(ids link | wc -l) links," \
		"$(find "/proc/$SERVER/fd" -mindepth 1 -not -lname 'pipe:*' | wc -l) descriptors"
}

# no count is larger: `before` may have what was just being closed
is_as_before() {
	paste -d ' ' <(grep -o '[0-9]*' <<<"$before") <(held | grep -o '[0-9]*') |
		awk '$2 > $1 { more = 1 } END { exit NR != 4 || more }'
}

# no program of probes/; others serve the rings, which stay for a while
none_left() {
	local id
	for id in $(ids prog); do
		! bpftool prog show id "$id" 2>/dev/null | grep -q ' name kp_probe ' || return 1
	done
}

# waits until the server has what it had before
wait_for_before() {
	wait_for is_as_before && return
	echo "now: $(held)"
	ls -l "/proc/$SERVER/fd"
}

# the bytes that the kernel has locked for programs and maps of the server
locked_bytes() {
	local kind id
	for kind in prog map; do
		for id in $(ids $kind); do
			bpftool "$kind" show id "$id" 2>/dev/null
		done
	done | sed -n 's/.*memlock \([0-9]*\)B.*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }'
}

# one cycle of number $1: new text, replacement, words, removal
cycle() {
	local name=probes/x$(($1 % 7))
	put "$name" "syscall:getppid:entry { @[comm, pid] = count(); @s[kstack] = count(); printf(\"$1\\n\"); }"
	case $(($1 % 5)) in
	0) rm "$MNT/$name" ;;
	1) put "$name" off && put "$name" on ;;
	2) put "$name" clear ;;
	3) put "$name" "BEGIN { @a = $1; } syscall:getppid:return { @h = hist(retval); }" ;;
	esac
}

serve
need_probe first 'syscall:getppid:entry { @ = count(); }'
# as after any first program: the rings stay for a while
rm "$MNT/probes/first"
wait_for none_left
before=$(held)
echo "before: $before"

# load: a program that calls all the time, and a reader of all answers
mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$CALLS" 0 2000000000 <"$WORK/in" >"$WORK/out" 5>&- &
caller=$!
wait_for test -s "$WORK/out"
echo >&5
while cat "$MNT"/probes/x* "$MNT/kpstat" >"$WORK/read" 2>/dev/null || true; do :; done 5>&- &
reader=$!
begin=$SECONDS
for ((i = 0; i < CYCLES; i++)); do
	cycle "$i" || fail "cycle $i"
	[ "$i" != "$WARM" ] || warm_kb=$(resident_kb)
done
echo "$CYCLES cycles: $((SECONDS - begin)) s; resident $warm_kb KB, then $(resident_kb) KB"
if ldd "$KPROFS" | grep -q asan; then
	echo "not tried: memory, under a sanitizer"
else
	check "memory does not grow" [ "$(resident_kb)" -le $((warm_kb + GROWN_KB_MAX)) ]
fi
rm "$MNT"/probes/x*
kill "$reader" "$caller"
wait "$reader" "$caller" 2>/dev/null
exec 5>&-
wait_for_before

# 100 programs: the server's memory and the kernel's
for ((i = 0; i < 100; i++)); do
	put "probes/n$i" "syscall:read:return /retval > $i/ { @[comm] = hist(retval); }"
done
total=$(($(resident_kb) * 1024 + $(locked_bytes)))
echo "100 programs: $(resident_kb) KB resident, $(locked_bytes) bytes in the kernel"
if command -v bpftool >"$WORK/bpftool" && ! ldd "$KPROFS" | grep -q asan; then
	check "100 programs below 64 MB" [ "$total" -lt 64000000 ]
fi
rm "$MNT"/probes/n*
wait_for_before

# an answer of some MB is written piece by piece
rm -f "$WORK/out" "$WORK/in"
mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$CALLS" 0 100000 <"$WORK/in" >"$WORK/out" 5>&- &
caller=$!
wait_for test -s "$WORK/out"
put probes/large "syscall:getppid:entry /pid == $caller/ { @[@n % 4000] = hist(@n); @n++; }
syscall:getppid:return /pid == $caller/ { @s[kstack] = count(); }"
echo >&5
wait_for has_ended "$caller"
wait "$caller" || fail "the program failed with $?"
exec 5>&-
cp "$MNT/probes/large" "$WORK/large"
same "all keys are in the answer" 4000 "$(grep -c '^@\[' "$WORK/large")"
# the map of few CPUs has the memory of all keys; in a larger one new keys come faster than the kernel finds memory
if [ "$(getconf _NPROCESSORS_CONF)" -le 2 ]; then
	check "no key is dropped" grep -q ' 0 keys dropped$' "$WORK/large"
fi
same "all calls are in its rows, or counted" 100000 "$(awk '/^\[/ { split($0, part, "[])]"); sum += part[2] }
	/^# [0-9]+ events/ { sum += $8 } END { print sum }' "$WORK/large")"

# stacks without a key are given back by clear
stacks() {
	local id
	for id in $(ids map); do
		if bpftool map show id "$id" 2>/dev/null | grep -q 'hash *name kp_stacks'; then
			bpftool map dump id "$id" 2>/dev/null | grep -c '"count"\|^key'
		fi
	done
}
if command -v bpftool >"$WORK/bpftool"; then
	check "there are stacks" [ "$(stacks)" -ge 1 ]
	put probes/large off
	put probes/large clear
	same "stacks after clear" 0 "$(stacks)"
fi
rm "$MNT/probes/large"
wait_for_before
