#!/bin/bash
# SPDX-License-Identifier: MIT
# split: with `split cycles` mpstat divides the time of tasks by the counters of a PMU: a program that computes is in
# the column user, one that copies zeroes in the kernel is in the column kern, where the ticks are not asked.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# column N: ns of CPU 0, by mpstat-raw: 1 irq, 2 kern, 3 user, 4 idle
column() {
	local row
	read -r -a row < <(sed -n 2p "$MNT/mpstat-raw")
	echo $((16#${row[$1]}))
}

# parts COMMAND...: sets kern and user, in ms, while it runs
parts() {
	put mpstat reset
	kern=$(column 2) user=$(column 3)
	"$@"
	kern=$((($(column 2) - kern) / 1000000)) user=$((($(column 3) - user) / 1000000))
	echo "$*: kern $kern ms, user $user ms"
}

compute() {
	local i
	for ((i = 0; i < 60000; i++)); do :; done
}
copy() {
	dd if=/dev/zero of=/dev/null bs=1M count=600 2>/dev/null
}

serve
# All on a CPU that does nothing else: QEMU counts cycles of the kernel while a CPU is idle, too. So the shares are
# rough here.
taskset -pc 0 $$ >/dev/null
put mpstat 'source bpf'
put mpstat 'split cycles' || fail "split cycles: $(tail -n 1 "$MNT/kperr")"
same "what divides" cycles "$(stat_of mpstat.split)"
parts compute
check "mostly user" [ "$user" -gt "$kern" ]
check "more than nothing" [ "$user" -gt 100 ]
parts copy
check "mostly kernel" [ "$kern" -gt "$user" ]
check "more than nothing" [ "$kern" -gt 100 ]
serve_end
