#!/bin/bash
# SPDX-License-Identifier: MIT
# samples: sample() in a program of probes/ with and without `only`, whose steps the program of this kernel carries
# out: what they refuse is counted as filtered.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# the calls of getppid(2) of a program with this name
calls() {
	"$WORK/$1" 0 "$2" </dev/null >"$WORK/calls" || fail "the program $1"
}

# counted: the samples that were delivered, filtered, lost, and are missing, on all CPUs
counted() {
	put kpctl flush
	awk '{ split($1, part, ".") } part[3] == "cpu" { n[part[5]] += $2 }
		END { print n["delivered"] + 0, n["filtered"] + 0, n["lost"] + 0, n["undelivered"] + 0 }' "$MNT/kpstat"
}

cp "$PWD/tests/fs/kernel_calls" "$WORK/wanted"
cp "$PWD/tests/fs/kernel_calls" "$WORK/other"
serve
put probes/calls 'syscall:getppid:entry /comm == "wanted" || comm == "other"/ { @ = count(); sample(); }' ||
	fail "the program: $(tail -n 3 "$MNT/kperr")"
calls wanted 40
calls other 2
same "without only" "42 0 0 0" "$(counted)"
put kpctl 'only comm == "wanted" && uid == 0 && ppid != 0 && (cpu + 1) * 2 / 2 - 1 < 64' || fail "only: $(tail -n 3 "$MNT/kperr")"
calls wanted 100
calls other 300
same "with a condition" "142 300 0 0" "$(counted)"
put kpctl 'only gid != 0 || !(comm == "wanted")'
calls wanted 7
calls other 5
same "with another one" "147 307 0 0" "$(counted)"
put kpctl 'only all'
calls other 3
same "with none any more" "150 307 0 0" "$(counted)"
same "the program saw all" "@: 457" "$(grep '^@' "$MNT/probes/calls")"
same "programs" "other wanted" "$(sed 's/[ ;(].*//' "$MNT/views/folded" | sort -u | xargs)"
