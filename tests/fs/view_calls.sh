#!/bin/bash
# SPDX-License-Identifier: MIT
# view_calls: views/trace.json shows system calls as spans of the length that they had, and by sched_switch what
# ran on each CPU.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

# what ran on each CPU, from the lines of kptrace: CPU, thread, begin and length in ns
slices() {
	awk '/ sched:sched_switch: / {
		cpu = substr($1, index($1, ":cpu") + 4) + 0
		now = substr($1, 2, index($1, "]") - 2)
		sub(/[.]/, "", now)
		match($0, / prev_pid=[0-9]+/)
		from = substr($0, RSTART + 10, RLENGTH - 10)
		match($0, / next_pid=[0-9]+/)
		to = substr($0, RSTART + 10, RLENGTH - 10)
		if (cpu in thread && thread[cpu] == from && from != 0)
			print cpu, from, since[cpu], now - since[cpu]
		thread[cpu] = to
		since[cpu] = now
	}' "$1" | sort
}

# other tests have sleeps too
NAP=nap$$
cp "$(command -v sleep)" "$WORK/$NAP"

serve
if ! put events/kernel/syscall:clock_nanosleep "1 /comm == \"$NAP\"/" 2>/dev/null; then
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
put events/kernel/sched:sched_switch 1
put events/kernel/syscall:exit_group "1 /comm == \"$NAP\"/"
"$WORK/$NAP" 0.25
put events/kernel/sched:sched_switch 0
put events/kernel/syscall:clock_nanosleep 0
put events/kernel/syscall:exit_group 0
cat "$MNT/kptrace" >"$WORK/kptrace"
cat "$MNT/views/trace.json" >"$WORK/json"
python3 "${srcdir:-.}/tests/fs/tracejson.py" "$WORK/json" >"$WORK/found" || fail "trace.json"
# a process has one name in the view, also if a program that it ran had another
unnamed() {
	sed 's/\(:cpu[0-9]*: \)[^[]*\[/\1[/' "$@"
}
diff <(sed -n 's/^mark //p' "$WORK/found" | unnamed) <(unnamed "$WORK/kptrace") | head -n 5 >"$WORK/differs"
same "it has the lines of kptrace" "" "$(cat "$WORK/differs")"

# the time of sleep(1) is at least what it was told; the text of kptrace has it in us
same "one sleep" 1 "$(grep -c '^span .* syscall:clock_nanosleep ' "$WORK/found")"
read -r _ pid tid _ begin us <<<"$(grep '^span .* syscall:clock_nanosleep ' "$WORK/found")"
check "it takes as long as it was told" test "${us%.*}" -ge 250000
same "of its only thread" "$pid" "$tid"
same "the length is that of kptrace" "$(awk -v us="$us" 'BEGIN { printf "%.1f", us }')" \
	"$(sed -n 's/.* syscall:clock_nanosleep: .* = 0 (\([0-9.]*\) us)$/\1/p' "$WORK/kptrace")"
same "and it ends at the time of kptrace" \
	"$(sed -n 's/^\[\([0-9]*\)\.\([0-9]*\)\].* syscall:clock_nanosleep: .*/\1\2/p' "$WORK/kptrace")" \
	"$((${begin/./} + ${us/./}))"
same "a call that does not return is no span" 0 "$(grep -c '^span .* syscall:exit_group ' "$WORK/found")"
same "but it is there" 1 "$(grep -c '^mark .* syscall:exit_group: ' "$WORK/found")"

slices "$WORK/kptrace" >"$WORK/expected"
sed -n 's/^slice //p' "$WORK/found" | awk '{ gsub(/\./, "", $(NF - 1)); gsub(/\./, "", $NF)
	print $1, $2, $(NF - 1), $NF + 0 }' | sort >"$WORK/slices"
check "there are some" test -s "$WORK/expected"
cmp "$WORK/expected" "$WORK/slices" || fail "slices: $(diff "$WORK/expected" "$WORK/slices" | head -n 5)"
serve_end
