#!/bin/bash
# SPDX-License-Identifier: MIT
# stack_dwarf: A program without frame pointers, whose calls are known, is sampled with `stack both` and
# `stack dwarf`. Its stacks are complete in views, reports and saved captures with the second only, and no
# sample is counted twice.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

BURN_MS=150
PROGRAM= # its pid

declare -A CHAINS=(
	[burn_called]='_start;.*;main;chain_one;chain_two;chain_three;burn_called'
	[burn_thread]=';chain_thread;burn_thread'
	[burn_handler]='_start;.*;main;interrupted;.*;handler;burn_handler'
)

serve
need_machine
take_machine
if ! put kpctl 'stack dwarf' 2>/dev/null; then
	echo "no registers here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi

# sample MODE [WORD...]: with these words to kpctl too, one run of the program; it still runs then, so that its file is there
sample() {
	ctl clear "stack $1" 'prof_cpubufsz 4096' 'event cpu-clock:freq=999' "${@:2}" start
	mkfifo "$WORK/input"
	"$FIXTURES/deep" $BURN_MS <"$WORK/input" >"$WORK/said" &
	PROGRAM=$!
	exec 9>"$WORK/input"
	WAIT=300 wait_for grep -q "done" "$WORK/said"
	ctl stop
}

end_program() {
	exec 9>&-
	ended_well "the program" "$PROGRAM"
	rm -f "$WORK/input" "$WORK/said"
}

# share FOLDED FUNCTION CHAIN: of the program's samples in a function, percent with the chain; -1: none.
# Without those that the kernel took behind the function.
share() {
	awk -v fn="$2" -v chain="$3" '
	/^deep;/ {
		n = $NF
		sub(/ [0-9]+$/, "")
		if ($0 !~ "(;|^)" fn "(;|$)") next
		all += n
		if ($0 ~ chain "(;|$)") whole += n
	}
	END { print all ? int(100 * whole / all) : -1 }' "$1"
}

# whole WHAT FOLDED: nearly all are; between the last instructions of a function a table may be wrong
whole() {
	local function percent
	for function in "${!CHAINS[@]}"; do
		percent=$(share "$2" "$function" "${CHAINS[$function]}")
		check "$1: $percent % of $function have their chain" [ "$percent" -ge 95 ]
	done
}

# check_counts WHAT: each sample that was delivered or lost is in the copy once, as a sample or in a LOST
check_counts() {
	copy_to "$WORK/kpdata"
	tally "$WORK/kpdata" >"$WORK/tally"
	check "$1: there are samples" [ -s "$WORK/tally" ]
	same "$1: samples and losses" \
		"$(awk '/^event\.1\.cpu\.[0-9]*\.(delivered|lost) / { n += $2 } END { print n }' "$MNT/kpstat")" \
		"$(awk '{ n += $3 + $4 } END { print n }' "$WORK/tally")"
	same "$1: samples in views/flat" "$(awk '{ n += $3 } END { print n }' "$WORK/tally")" \
		"$(sed -n '1s/^# \([0-9]*\) samples\{0,1\} of .*/\1/p' "$MNT/views/flat")"
}

sample both
cat "$MNT/views/folded" >"$WORK/folded" || fail "views/folded"
check "with frame pointers nothing leads to main" \
	[ "$(share "$WORK/folded" burn_called "${CHAINS[burn_called]}")" -le 5 ]
check "the program was sampled" [ "$(share "$WORK/folded" burn_called burn_called)" = 100 ]
end_program

sample dwarf
same "kpctl" "stack dwarf 127" "$(grep '^stack ' "$MNT/kpctl")"
check_counts "stack dwarf"
cat "$MNT/views/folded" >"$WORK/folded" || fail "views/folded: $(tail -n 1 "$MNT/kperr")"
whole views/folded "$WORK/folded"
"$KPROF" convert -t folded -o "$WORK/folded" "$WORK/kpdata" || fail "kprof convert"
whole "kprof convert" "$WORK/folded"
# of a pipe, which can't be read twice
"$KPROF" convert -t folded -o "$WORK/folded" - <"$WORK/kpdata" || fail "kprof convert -"
whole "kprof convert -" "$WORK/folded"
"$KPROF" report -n -T 0 "$WORK/kpdata" >"$WORK/report" || fail "kprof report"
check "kprof report has burn_called" grep -q burn_called "$WORK/report"
if command -v perf >/dev/null; then
	cat "$MNT/views/perf.data" >"$WORK/perf.data"
	# a line a frame, an empty one behind each sample
	perf script -i "$WORK/perf.data" -F comm,ip,sym 2>/dev/null | awk '
	BEGIN { RS = "" }
	/^deep/ && /burn_called/ { all++; if (/chain_three.*chain_two.*chain_one.*main.*_start/) whole++ }
	END { print all + 0, whole + 0 }' >"$WORK/perf"
	read -r all whole <"$WORK/perf"
	check "perf script: $whole of $all" [ $((whole * 100)) -ge $((all * 95)) -a "$all" -gt 0 ]
fi

# DEPTH is kept: no stack is longer
ctl clear 'stack dwarf 4' start
wait_for grep -q '^event.1.cpu.*delivered [1-9]' "$MNT/kpstat"
ctl stop
copy_to "$WORK/kpdata"
"$KPROF" convert -t folded -o "$WORK/folded" "$WORK/kpdata" || fail "kprof convert"
# what was inlined is no frame of the stack
check "DEPTH is kept" awk -F ';' '
	{ n = 0; for (i = 2; i <= NF; i++) n += $i !~ /_\[i\]( [0-9]+)?$/; if (n > 4) { print; exit 1 } }' \
	"$WORK/folded"
end_program

# a small ring holds less of each stack, and still some
ctl clear 'stack dwarf' 'prof_cpubufsz 16' start
wait_for grep -q '^event.1.cpu.*delivered [1-9]' "$MNT/kpstat"
ctl stop
check_counts "a small ring"

# kpdata that is full: a sample goes with its stack or stays with it
for words in 'mode discard' 'mode overwrite'; do
	sample dwarf 'event cpu-clock:freq=4999' 'prof_qlimit 1024' "$words"
	check_counts "$words"
	check "$words: something is lost" grep -q ' lost ' "$WORK/dump"
	end_program
done
serve_end

# where the kernel can't be sampled, the program still can
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$FIXTURES/user_only" "$(realpath "$KPROFS")" >"$WORK/kprofs"
chmod +x "$WORK/kprofs"
KPROFS=$WORK/kprofs
serve
sample dwarf
check "kperr says the scope" grep -q 'scope machine-user' "$MNT/kperr"
cat "$MNT/views/folded" >"$WORK/folded" || fail "views/folded: $(tail -n 1 "$MNT/kperr")"
whole "user space only" "$WORK/folded"
end_program
serve_end
