#!/bin/bash
# SPDX-License-Identifier: MIT
# long_text: a program's small events make long lines. Their text is bounded as their memory is, the oldest
# ones are left out and counted, and others see their events in kptrace and in views/ctf.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

# begin_long BUFFER_KB COUNT
begin_long() {
	mkfifo "$WORK/stdin.long"
	KPROF_BUFFER_KB=$1 "$PWD/tests/hostile/long_text" "$2" <"$WORK/stdin.long" >"$WORK/tell.long" &
	LONG=$!
	exec {hold}>"$WORK/stdin.long"
	wait_for has_written long
}

end_long() {
	exec {hold}>&-
	wait "$LONG" || fail "long_text: status $?"
	rm "$WORK/stdin.long"
	put kptrace_ctl clear
}

# a program of events as they should be, which must not notice
is_whole() {
	[ "$(events_are_right "$1")" = 100 ]
}

# The first byte of kptrace, the best of five opens, is only printed. A quiet machine with 2 CPUs needs 30 to 90 ms for
# what a pool of 64 MiB holds, and needed 262 when it parsed the format of each event to measure its text.
first_byte() {
	local begin took best=999999
	for _ in 1 2 3 4 5; do
		begin=${EPOCHREALTIME/./}
		check "there is a byte" test -n "$(head -c 1 "$MNT/kptrace")"
		took=$(((${EPOCHREALTIME/./} - begin) / 1000))
		best=$((took < best ? took : best))
	done
	echo "the first byte of kptrace after $best ms"
}

# text_of BUFFER_KB COUNT MOST: the text has at most so many bytes
text_of() {
	local bytes
	begin_long "$1" "$2"
	tell_start good 256 1 100
	first_byte
	cat "$MNT/kptrace" >"$WORK/text"
	bytes=$(stat -c %s "$WORK/text")
	echo "pool of $1 KiB: $bytes bytes of text"
	check "bounded text: $bytes" test "$bytes" -le "$3"
	check "what is left out is counted" grep -q 'events left out' "$WORK/text"
	check "the newest event is there" grep -q 'hostile:last: the last' "$WORK/text"
	check "the events of another program" is_whole "$WORK/text"
	cat "$MNT/views/ctf/metadata" >/dev/null || fail "views/ctf"
	tell_end good
	end_long
}

serve_trace
put events/hostile:wide 1
put events/hostile:last 1
# 16 times the memory, and a few lines; the 87,381 events that it holds would make 114 MB
text_of 2048 100000 $((16 * 2048 * 1024 + 1000000))
# 8 times the default of trace_max
text_of 65536 3000000 $((8 * 64 * 1024 * 1024 + 1000000))
