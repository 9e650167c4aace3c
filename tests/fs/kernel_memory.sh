#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_memory: without memory for the rings, by the limit of a control group, a switch of a kernel event is refused
# with ENOMEM and a sentence, nothing is attached, and it works once there is memory.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
	above=/sys/fs/cgroup/memory limit=memory.limit_in_bytes usage=memory.usage_in_bytes
elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && [ -w /sys/fs/cgroup/cgroup.procs ]; then
	above=/sys/fs/cgroup limit=memory.max usage=memory.current
else
	echo "no control group that limits memory can be made here"
	exit 77
fi
group=$above/kprofs-test.$$
mkdir "$group" || { echo "no control group that limits memory can be made here"; exit 77; }
remove_group() {
	local status=$?
	[ -z "$SERVER" ] || echo "$SERVER" >"$above/cgroup.procs"
	wait_for rmdir "$group"
	(exit "$status")
	clean_up
}
trap remove_group EXIT

serve -o trace_kernel=65536
if ! put events/kernel/syscall:getppid 1 2>/dev/null; then
	echo "kernel events are not available here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
if [ "$(stat_of trace.kernel.bytes)" -le $((64 << 20)) ]; then
	echo "the rings of this machine are too small to exceed a limit"
	exit 77
fi
serve_end

serve -o trace_kernel=65536
echo "$SERVER" >"$group/cgroup.procs" || fail "the server can't be moved"
# below what the rings take, and enough for all else
echo $(($(cat "$group/$usage") + (48 << 20))) >"$group/$limit"
fails_with "Cannot allocate memory" put events/kernel/syscall:getppid 1
check "kperr says what for" grep -q "the kernel refuses the map 'kp_rings' .* Cannot allocate memory" "$MNT/kperr"
same "the switch stays off" 0 "$(cat "$MNT/events/kernel/syscall:getppid")"
same "no event is on" 0 "$(stat_of trace.kernel.events)"
same "nothing is attached" 0 "$(cat "/proc/$SERVER/fdinfo"/* 2>/dev/null | grep -c '^link_type:\|^prog_type:')"
echo -1 >"$group/$limit" 2>/dev/null || echo max >"$group/$limit"
put events/kernel/syscall:getppid 1 || fail "with memory: $(tail -n 1 "$MNT/kperr")"
same "it is on" 1 "$(cat "$MNT/events/kernel/syscall:getppid")"
serve_end
