#!/bin/bash
# SPDX-License-Identifier: MIT
# view_ctf: babeltrace2 reads from views/ctf on the mount each event that kptrace shows. All files are of
# one moment.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

for tool in babeltrace2 python3; do
	command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 77; }
done

# Lines of kptrace, those of one moment sorted; notes of lost events apart.
read_kptrace() {
	cat "$MNT/kptrace" >"$WORK/kptrace" || fail "cat kptrace"
	grep -E '^\[[0-9.]+\]:cpu[0-9]+: [0-9]+ events (lost|left out)' "$WORK/kptrace" >"$WORK/notes"
	grep -vE '^\[[0-9.]+\]:cpu[0-9]+: [0-9]+ events (lost|left out)' "$WORK/kptrace" |
		sort -s -t ']' -k 1.2,1n -k 2 >"$WORK/expected"
}

read_ctf() {
	babeltrace2 --clock-cycles --no-delta "${1:-$MNT/views/ctf}" >"$WORK/bt" 2>"$WORK/bt.err" ||
		fail "babeltrace2: $(head -n 5 "$WORK/bt.err")"
	python3 "${srcdir:-.}/tests/fs/ctf.py" <"$WORK/bt" >"$WORK/found" || fail "ctf.py"
	sort -s -t ']' -k 1.2,1n -k 2 -o "$WORK/found" "$WORK/found"
}

compare() {
	if ! cmp "$WORK/expected" "$WORK/found"; then
		fail "$1: $(wc -l <"$WORK/expected") lines of kptrace, $(wc -l <"$WORK/found") of babeltrace2"
		diff "$WORK/expected" "$WORK/found" | head -n 10
	fi
}

size_of() {
	stat -c %s "$MNT/views/ctf/$1"
}

has_gone() {
	[ "$(size_of metadata)" = 0 ]
}

serve_trace trace_max=1024 # KB, the least
put events/all 1

# ---- nothing there ------------------------------------------------------------------------------

fails_with "No data available" cat "$MNT/views/ctf/metadata"
check "kperr says why" grep -q "metadata: the trace is empty" "$MNT/kperr"

# ---- every kind of event ------------------------------------------------------------------------

put kptrace 'said "so" \ and
twice'
printf 'bytes \001 \t and \303\251' >"$MNT/kptrace"
TELL=$PWD/tests/fs/ctf_tell
tell_start first 1024 4 700
read_kptrace
read_ctf
compare "on the mount"
same "what was lost" "" "$(cat "$WORK/notes" "$WORK/bt.err")"
[ "$(wc -l <"$WORK/found")" = 14003 ] || fail "$(wc -l <"$WORK/found") events, not 4 * 700 * 5 and 3"
cp -r "$MNT/views/ctf" "$WORK/copy"
read_ctf "$WORK/copy"
compare "of a copy"

# ---- of one moment ------------------------------------------------------------------------------

# opens a set, of which $WORK/metadata is a copy: the copy before and the one after the open are equal
open_set() {
	cat "$MNT/views/ctf/metadata" >"$WORK/metadata"
	exec 5<"$MNT/views/ctf/metadata"
	cmp -s "$WORK/metadata" "$MNT/views/ctf/metadata"
}

wait_for open_set
put kptrace later
cat "$MNT"/views/ctf/stream_* >"$WORK/streams"
same "sizes in stat" "$(stat -c %s "$WORK/streams")" \
	"$(stat -c %s "$MNT"/views/ctf/stream_* | awk '{ n += $1 } END { print n }')"
check "the set that was there" cmp "$WORK/metadata" <(cat <&5)
if grep -q later "$WORK/streams"; then
	fail "a stream is newer than the metadata that is open"
fi
exec 5<&-
wait_for has_gone
exec 5<"$MNT/views/ctf/metadata"
check "a set of its own" [ "$(size_of metadata)" -gt 0 ]
exec 5<&-
wait_for has_gone
read_kptrace
read_ctf
compare "a new set"
check "the new event" grep -q ': later$' "$WORK/found"

# ---- copies of the CPUs' own files, of which kprof trace makes CTF ---------------------------------

copy_cpus() {
	local cpu
	for cpu in "$MNT"/cpu/*; do
		cat "$cpu/trace" >"$WORK/cpu.${cpu##*/}" || fail "cat $cpu/trace"
	done
}
copy_cpus
check "kprof trace --ctf" "$PWD/kprof" trace --ctf "$WORK/made" "$WORK"/cpu.*
same "its files" "$(ls "$WORK/copy")" "$(ls "$WORK/made")"
same "not for others" 700 "$(stat -c %a "$WORK/made")"
read_ctf "$WORK/made"
compare "of copies of cpu/N/trace"
same "what was lost in copies" "" "$(cat "$WORK/bt.err")"
fails_with "File exists" "$PWD/kprof" trace --ctf "$WORK/made" "$WORK"/cpu.*
check "what was there stays" babeltrace2 "$WORK/made" >/dev/null
fails_with "not a copy of cpu/N/trace" "$PWD/kprof" trace --ctf "$WORK/none" "$WORK/found"
check "nothing is made of nothing" [ ! -e "$WORK/none" ]
for copy in "$WORK"/cpu.*; do # all but the end of the one that has most
	if [ "$(wc -c <"$copy")" -gt 100000 ]; then
		head -c 90001 "$copy" >"$WORK/cut"
	fi
done
fails_with "the file is cut" "$PWD/kprof" trace --ctf "$WORK/part" "$WORK/cut"
read_ctf "$WORK/part"
check "a part" [ "$(wc -l <"$WORK/found")" -gt 100 ]
check "of the whole" [ -z "$(comm -13 <(sort "$WORK/expected") <(sort "$WORK/found"))" ]
tell_end first

# ---- two readers --------------------------------------------------------------------------------

for i in 1 2 3; do
	babeltrace2 "$MNT/views/ctf" >"$WORK/reader.$i" 2>&1 &
	readers[i]=$!
done
for i in 1 2 3; do
	wait "${readers[$i]}" || fail "reader $i: $(tail -n 2 "$WORK/reader.$i")"
	same "events of reader $i" 14004 "$(wc -l <"$WORK/reader.$i")"
done

# ---- too much for trace_max ---------------------------------------------------------------------

TELL=$PWD/tests/fs/tell
tell_start second 8192 2 50000
wait_for has_gone
read_kptrace
read_ctf
compare "what is left"
count=$(sed -n 's/.*: \([0-9]*\) events left out.*/\1/p' "$WORK/notes")
[ "${count:-0}" -gt 0 ] || fail "nothing was left out"
same "what babeltrace2 says was discarded" "$count" \
	"$(sed -n 's/.*Tracer discarded \([0-9]*\) events.*/\1/p' "$WORK/bt.err")"
copy_cpus
check "kprof trace --ctf of what is left" "$PWD/kprof" trace --ctf "$WORK/left" "$WORK"/cpu.*
babeltrace2 "$WORK/left" >"$WORK/bt" 2>"$WORK/bt.err" || fail "babeltrace2 of what is left"
# each copy is a moment of its own, and so what is left out of it may be another part
check "copies say that there was more" grep -q "Tracer discarded [1-9][0-9]* events" "$WORK/bt.err"
tell_end second
wait_for has_gone
put kptrace_ctl clear

# ---- kprof_backtrace: its stack is a field --------------------------------------------------------

TELL=$PWD/tests/fs/ctf_tell
tell_start third 1024 2 100 stacks
read_kptrace
read_ctf
compare "stacks"
same "events with a stack" 200 "$(grep -cE \
	'text = "thread [0-9] at [^"]* of [0-9]+", stack_length = [1-9][0-9]*, stack = \[ \[0\] = 0x' "$WORK/bt")"
copy_cpus
check "kprof trace --ctf of stacks" "$PWD/kprof" trace --ctf "$WORK/stacks" "$WORK"/cpu.*
read_ctf "$WORK/stacks"
compare "stacks of copies"
tell_end third
wait_for has_gone
put kptrace_ctl clear
fails_with "No data available" cat "$MNT/views/ctf/stream_0"
