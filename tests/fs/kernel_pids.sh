#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_pids: events/kernel/pids chooses the processes whose kernel events are recorded: they and all that they
# start, and no others.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

PIDS=events/kernel/pids

# start: a shell that waits, and then runs what is written to it; its process is in RUN
start() {
	rm -f "$WORK/in"
	mkfifo "$WORK/in"
	sh -s <"$WORK/in" >/dev/null 2>&1 5>&- &
	RUN=$!
	exec 5>"$WORK/in"
	wait_for grep -qx sh "/proc/$RUN/comm"
}

end() {
	exec 5>&-
	wait "$RUN" || fail "the shell failed"
}

serve
same "at first" all "$(cat "$MNT/$PIDS")"
if ! put events/kernel/syscall:getcwd 1 2>/dev/null; then
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
for wrong in 0 x -1 "1,,2" "exec" "exec x" "1 2"; do
	fails_with "Invalid argument" put "$PIDS" "$wrong"
done
fails_with "No such process" put "$PIDS" "$$,4194305"
same "what is wrong changes nothing" all "$(cat "$MNT/$PIDS")"

# a process and what it starts
start
put "$PIDS" "$RUN"
same "it is set" "$RUN" "$(cat "$MNT/$PIDS")"
put kptrace_ctl clear
(cd / && /bin/pwd) >/dev/null # another process
cat >&5 <<'END'
/bin/pwd
(/bin/pwd; sh -c '/bin/pwd & wait; /bin/pwd; true')
END
end
put events/kernel/syscall:getcwd 0
same "four programs" 4 "$(grep -c ': pwd\[[0-9]*\] syscall:getcwd: ' "$MNT/kptrace")"
same "each of them a process of its own" 4 \
	"$(sed -n 's/.*: pwd\[\([0-9]*\)\] syscall:getcwd: .*/\1/p' "$MNT/kptrace" | sort -u | wc -l)"

# events about a process: a switch to it, the beginning of one that it starts
start
put "$PIDS" "$RUN"
put kptrace_ctl clear
put events/kernel/sched:sched_switch 1
put events/kernel/sched:sched_process_fork 1
echo '/bin/pwd; /bin/pwd' >&5
end
put events/kernel/sched:sched_switch 0
put events/kernel/sched:sched_process_fork 0
same "it starts two" 2 "$(grep -c "\[$RUN\] sched:sched_process_fork: " "$MNT/kptrace")"
check "switches to it" grep -q " sched:sched_switch: .* next_pid=$RUN " "$MNT/kptrace"
check "switches from it" grep -q "\[$RUN\] sched:sched_switch: .* prev_pid=$RUN " "$MNT/kptrace"
children=$(sed -n 's/.* sched:sched_process_fork: .* child_pid=\([0-9]*\).*/\1/p' "$MNT/kptrace" | xargs)
same "and of no others" 0 "$(grep ' sched:sched_switch: ' "$MNT/kptrace" |
	grep -cvE "_pid=(${RUN}|${children// /|}) ")"

# from the next program on
start
put "$PIDS" "exec $RUN"
put kptrace_ctl clear
put events/kernel/syscalls 1
echo 'cd /; exec /bin/pwd' >&5
end
put events/kernel/syscalls 0
grep "\[$RUN\]" "$MNT/kptrace" >"$WORK/lines"
check "the first line is the exec" grep -q 'syscall:execve: filename="/bin/pwd" .* = 0 (' <(head -n 1 "$WORK/lines")
same "no chdir of the shell before" 0 "$(grep -c syscall:chdir "$WORK/lines")"
check "and its end is there" grep -q 'syscall:exit_group: ' <(tail -n 1 "$WORK/lines")
same "nothing of others" "" "$(grep ' syscall:' "$MNT/kptrace" | grep -v "\[$RUN\]")"

# all again
put "$PIDS" all
same "all" all "$(cat "$MNT/$PIDS")"
put kptrace_ctl clear
put events/kernel/syscall:getcwd 1
(cd / && /bin/pwd) >/dev/null
check "all processes" grep -q 'syscall:getcwd: ' "$MNT/kptrace"
same "none was lost" 0 "$(stat_of trace.kernel.threads_lost)"
serve_end
