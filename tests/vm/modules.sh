#!/bin/bash
# SPDX-License-Identifier: MIT
# modules: while a function or tracepoint of a module is recorded, the module stays, or goes without harm; the switch
# can be set to 0 in any case. Once it has gone, its events are not there any more, and others are not touched.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# load MODULE [PARAMETER...]
load() {
	local file name=$1
	shift
	file=$(find /lib/modules -name "$name.ko*" | head -n 1)
	[ -n "$file" ] && insmod "$file" "$@"
}
is_loaded() {
	grep -q "^$1 " /proc/modules
}

# goes MODULE SWITCH: with the event on
goes() {
	load "$1" || { fail "$1 can't be loaded"; return; }
	put "$2" 1 || { fail "$2: $(tail -n 1 "$MNT/kperr")"; return; }
	if rmmod "$1" 2>/dev/null; then
		echo "$1 goes while it is recorded"
		cat "$MNT/$2" >/dev/null # it may be gone
	else
		echo "$1 stays while it is recorded"
		same "$2 is on" 1 "$(cat "$MNT/$2")"
	fi
	put "$2" 0 || fail "$2 can't be switched off: $(tail -n 1 "$MNT/kperr")"
	# a link goes when its last user has passed
	can_go() { ! is_loaded "$1" || rmmod "$1" 2>/dev/null; }
	wait_for can_go "$1"
	fails_with "No such file" cat "$MNT/$2"
	fails_with "Operation not permitted" put "$2" 1
	check "kperr says why" grep -q "'${2#events/kernel/}' is not there" <(tail -n 1 "$MNT/kperr")
}

serve
put events/kernel/sched:sched_process_exit 1
goes dummy events/kernel/function:dummy_get_stats64
if load configfs || is_loaded configfs; then
	load null_blk nr_devices=0 && rmmod null_blk && goes null_blk events/kernel/nullb:nullb_zone_op
fi
same "the other switch" 1 "$(cat "$MNT/events/kernel/sched:sched_process_exit")"
(exit 0)
/bin/true
check "it is still recorded" grep -q 'sched:sched_process_exit: ' "$MNT/kptrace"
serve_end
