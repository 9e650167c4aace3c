#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_bpftrace: the same text in probes/ and in bpftrace at the same time, on known work: the answers have the same
# lines, keys, counts and rows of histograms, and those that the work has.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

WORK_PROGRAM=$PWD/tests/fs/probes_work

if ! command -v bpftrace >"$WORK/which"; then
	echo "needs bpftrace"
	exit 77
fi
serve
need_probe first 'syscall:getppid:entry { @ = count(); }'
rm "$MNT/probes/first"

mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$WORK_PROGRAM" <"$WORK/in" >"$WORK/pid" 5>&- &
ran=$!
wait_for test -s "$WORK/pid"
cat >"$WORK/both.bt" <<END
tracepoint:syscalls:sys_enter_getppid /pid == $ran/ { @calls = count(); @by_thread[tid != pid, comm] = count(); @n++; }
tracepoint:syscalls:sys_enter_openat /pid == $ran/ {
	@opens[str(args->filename)] = count();
	@flags = lhist(args->flags & 3, 0, 4, 1);
	@name[tid] = str(args->filename);
}
tracepoint:syscalls:sys_exit_openat /@name[tid] != "" && pid == $ran/ {
	@results[@name[tid], args->ret < 0 ? args->ret : 0] = count();
	delete(@name[tid]);
}
tracepoint:syscalls:sys_exit_write /pid == $ran && args->ret > 0/ {
	@sizes = hist(args->ret);
	@linear = lhist(args->ret, 0, 500, 50);
	@sum = sum(args->ret);
	@average = avg(args->ret);
	@least = min(args->ret);
	@most = max(args->ret);
	@stats = stats(args->ret);
	if (args->ret & 1) { @parity["odd"]++ } else { @parity["even"] += 2 }
}
tracepoint:syscalls:sys_enter_setpriority /pid == $ran/ { @stack[ustack] = count(); @near[ustack(5)] = count(); }
tracepoint:syscalls:sys_enter_clock_nanosleep /pid == $ran/ { @start[tid] = nsecs; }
tracepoint:syscalls:sys_exit_clock_nanosleep /@start[tid]/ {
	@ms = hist((nsecs - @start[tid]) / 1000000);
	delete(@start[tid]);
}
END
cp "$WORK/both.bt" "$MNT/probes/both" || { tail -n 1 "$MNT/kperr"; exit 1; }
# BEGIN runs before the others are attached: a timer that ticks again does not
{ cat "$WORK/both.bt"; echo 'interval:ms:20 /@ticks < 3/ { @ticks++; printf("ready\n"); }'; } >"$WORK/theirs.bt"
run_bpftrace -q "$WORK/theirs.bt" >"$WORK/theirs" 2>"$WORK/theirs.log" 5>&- &
tracer=$!
is_ready() {
	[ "$(grep -c '^ready$' "$WORK/theirs")" = 3 ] || has_ended "$tracer"
}
wait_for is_ready
if has_ended "$tracer"; then
	echo "bpftrace does not run here:"
	cat "$WORK/theirs.log"
	exit 77
fi
echo >&5
exec 5>&-
WAIT=60 wait_for has_ended "$ran"
wait "$ran" || fail "the program failed with $?"
# a signal that comes while it handles an event may be lost: another one each second
sent=-1
ends_by_signal() {
	if [ $SECONDS -gt $sent ]; then
		kill -INT "$tracer" 2>/dev/null
		sent=$SECONDS
	fi
	has_ended "$tracer"
}
WAIT=60 wait_for ends_by_signal

# maps are in no common order; bpftrace loses counts of @n++ when threads of two CPUs count, and a histogram's name
# has a blank behind it
lines() {
	sed 's/ *$//' "$1" | grep -v -e '^#' -e '^ready$' -e '^@ticks' -e '^@n:' -e '^$' | sort
}
cp "$MNT/probes/both" "$WORK/ours"
lines "$WORK/ours" >"$WORK/ours.lines"
lines "$WORK/theirs" >"$WORK/theirs.lines"
check "the same lines" diff -u "$WORK/theirs.lines" "$WORK/ours.lines"
for line in '@calls: 1300' '@n: 1300' '@by_thread[1, probes_work]: 300' '@by_thread[0, probes_work]: 1000' \
	'@opens[/dev/null]: 200' '@opens[/no/such/file]: 200' '@results[/no/such/file, -2]: 200' '@sum: 131328' \
	'@average: 256' '@least: 1' '@most: 512' '@parity[odd]: 256' '@parity[even]: 512'; do
	check "a line" grep -qxF "$line" "$WORK/ours"
done
check "sleeps" awk '/^@ms/ { in_map = 1 } in_map && /^\[/ { split($0, part, "[])]"); n += part[2] } /^$/ { in_map = 0 }
	END { exit n != 30 }' "$WORK/ours"

# frames of each stack, with the call itself and the part of the C library that calls main: as known, and 127 at most
frames_of() {
	awk -v map="@$1[" '$0 == map { in_map = 1; n = 0; next } in_map && /^\]/ { print n; in_map = 0 } in_map { n++ }' \
		"$WORK/ours" | sort -n | tr '\n' ' '
}
if [ "$(uname -m)" = x86_64 ]; then
	check "stacks of many and of large frames" grep -Eq '^([0-9]+ ){4}127 $' <(frames_of stack)
	check "of five frames" grep -Eq '^(5 )+$' <(frames_of near)
fi
