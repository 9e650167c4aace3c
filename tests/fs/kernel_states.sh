#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_states: the state in which a task leaves its CPU is shown by letters, the same as those in which tracefs shows
# it for the same switches, in kptrace, kptrace_pipe and views/ctf.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

SWITCH=events/kernel/sched:sched_switch
INSTANCE=/sys/kernel/tracing/instances/kp-states-$$
# of a name that no other task has: its switches are compared
NAME=kp_states
NAMED="$WORK/$NAME"
ln -s "$(command -v bash)" "$NAMED"

remove_instance() {
	local status=$?
	[ ! -d "$INSTANCE" ] || rmdir "$INSTANCE"
	return "$status"
}
trap 'remove_instance; clean_up' EXIT

serve
if ! put $SWITCH "1 /prev_comm == \"$NAME\"/" 2>/dev/null; then
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
if ! mkdir "$INSTANCE" 2>/dev/null; then
	echo "tracefs makes no instance here"
	exit 77
fi
timeout 100 cat "$MNT/kptrace_pipe" >"$WORK/pipe" &
READER=$!
is_open() {
	put kptrace "a message" && grep -q "a message" "$WORK/pipe"
}
wait_for is_open
echo "prev_comm == \"$NAME\"" >"$INSTANCE/events/sched/sched_switch/filter"
echo 1 >"$INSTANCE/events/sched/sched_switch/enable"

# some that sleep, that are stopped, that end, and two that are preempted on one CPU
"$NAMED" -c 'for i in 1 2 3; do read -rt 0.01 <> <(:); done'
"$NAMED" -c 'kill -STOP $BASHPID; :' &
STOPPED=$!
is_stopped() {
	grep -q '^State:.T' "/proc/$STOPPED/status"
}
wait_for is_stopped
kill -CONT "$STOPPED"
wait "$STOPPED"
BUSY=()
CPU=$(sed 's/[-,].*//' /sys/devices/system/cpu/online)
for _ in 1 2; do
	taskset -c "$CPU" "$NAMED" -c 'for ((i = 0; i < 100000; i++)); do :; done' &
	BUSY+=("$!")
done
wait "${BUSY[@]}"

echo 0 >"$INSTANCE/events/sched/sched_switch/enable"
put $SWITCH 0

# thread, state and next thread of each switch. A task that ends is a zombie (Z) until its parent has waited for it
# (X), which may be between the two looks at one switch: both are Z here.
ended_alike() {
	sed 's/ X / Z /'
}
sed -n 's/.* prev_pid=\([0-9]*\) prev_prio=.* prev_state=\([^ ]*\) ==> .* next_pid=\([0-9]*\) .*/\1 \2 \3/p' \
	"$INSTANCE/trace" | ended_alike | sort >"$WORK/kernel"
states() {
	sed -n 's/.* sched:sched_switch: .*prev_pid=\([0-9]*\) .* prev_state=\([^ ]*\) .* next_pid=\([0-9]*\) .*/\1 \2 \3/p' \
		"$1" | ended_alike | sort
}
states "$MNT/kptrace" >"$WORK/shown"
check "tracefs has switches" [ -s "$WORK/kernel" ]
same "the states of tracefs" "$(cat "$WORK/kernel")" "$(cat "$WORK/shown")"
echo "states: $(cut -d' ' -f 2 "$WORK/shown" | sort | uniq -c | tr -s ' \n' ' ')"
for state in S T R; do
	check "one that left as $state" grep -q " $state" "$WORK/shown"
done
check "one that ended" grep -q ' Z ' "$WORK/shown"
piped() {
	[ "$(states "$WORK/pipe")" = "$(cat "$WORK/shown")" ]
}
wait_for piped
kill "$READER" 2>/dev/null
wait "$READER" 2>/dev/null

# typed: a text in CTF
check "the type in info" grep -q "^name 'sched:sched_switch' fields '.*, pid_t prev_pid, .*' format '.* prev_state=%s " "$MNT/events/kernel/info"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 "$MNT/views/ctf" >"$WORK/ctf" || fail "babeltrace2: status $?"
	same "the states in views/ctf" "$(cut -d' ' -f 2 "$WORK/shown" | sort)" \
		"$(sed -n 's/.*prev_state = "\([^"]*\)".*/\1/p' "$WORK/ctf" | sed 's/^X$/Z/' | sort)"
fi

# a filter compares the number
put $SWITCH "1 /prev_comm == \"$NAME\" && prev_state == 1/" || fail "a filter: $(tail -n 1 "$MNT/kperr")"
put kptrace_ctl clear
"$NAMED" -c 'read -rt 0.01 <> <(:)'
put $SWITCH 0
same "a filter by the number" S "$(states "$MNT/kptrace" | cut -d' ' -f 2 | sort -u)"
