#!/bin/bash
# SPDX-License-Identifier: MIT
# tools: bpftrace's own tools are taken unchanged by `cp X.bt probes/x` on a kernel that has what they probe.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

TOOLS=/kprofs/tools
# of the 38 of Debian's package; the others name what this kernel does not have
TAKEN_LEAST=34

# functions of modules, which these kernels have
for module in libcrc32c xfs md-mod; do
	file=$(find /lib/modules -name "$module.ko*" | head -n 1)
	[ -z "$file" ] || insmod "$file"
done
serve
taken=0 all=0
for tool in "$TOOLS"/*.bt; do
	name=$(basename "$tool" .bt)
	all=$((all + 1))
	if cp "$tool" "$MNT/probes/$name" 2>"$WORK/said"; then
		taken=$((taken + 1))
		grep -q '^# [0-9]* events' "$MNT/probes/$name" || fail "$name has no answer"
		rm "$MNT/probes/$name"
	else
		echo "$name is refused: $(grep "probes/$name" "$MNT/kperr" | tail -n 1 | sed 's/^.*\(: line [0-9]\)/\1/')"
	fi
done
echo "$taken of $all are taken"
same "tools of the package" 38 "$all"
check "taken: $taken" [ "$taken" -ge $TAKEN_LEAST ]
serve_end
