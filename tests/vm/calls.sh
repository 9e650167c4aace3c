#!/bin/bash
# SPDX-License-Identifier: MIT
# calls: the recorder of system calls on other kernels and CPUs: every call of a program that floods each CPU is
# in the trace or counted, while a reader follows it; arguments, paths and results are right.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

COUNT=20000
# other tests have programs of the usual names too
NAME=calls$$
cp "$PWD/tests/fs/kernel_calls" "$WORK/$NAME"
GETPPID=events/kernel/syscall:getppid

# recorded, overwritten, missed and torn events since the mount, as one line
counts() {
	awk '/^trace.kernel.(recorded|overwritten|missed|torn) / { n[$1] = $2 }
		END { print n["trace.kernel.recorded"], n["trace.kernel.overwritten"], n["trace.kernel.missed"], \
			n["trace.kernel.torn"] }' "$MNT/kpstat"
}

serve -o trace_kernel=64
put "$GETPPID" "1 /comm == \"$NAME\"/" || fail "$(tail -n 1 "$MNT/kperr")"
exec 7<"$MNT/kptrace_pipe"
timeout 200 cat <&7 >"$WORK/pipe" &
READER=$!
exec 7<&-
pids=()
for cpu in 0 1; do
	"$WORK/$NAME" "$cpu" "$COUNT" <<<go >"$WORK/out$cpu" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || fail "a program failed with $?"
done
followed() {
	awk '/ calls[0-9]*\[[0-9]*\] syscall:getppid: = [0-9]+ \([0-9.]+ us\)$/ { n++ }
		/ events lost$/ { n += $(NF - 2) } END { exit n != '$((2 * COUNT))' }' "$WORK/pipe"
}
WAIT=60 wait_for followed || awk '/ events lost$/ { n += $(NF - 2) } END { print NR, n, "of them lost" }' "$WORK/pipe"
kill "$READER" 2>/dev/null
wait "$READER" 2>/dev/null
read -r recorded overwritten missed torn <<<"$(counts)"
echo "recorded $recorded, overwritten $overwritten, missed $missed, torn $torn"
same "all calls are recorded or missed" $((2 * COUNT)) $((recorded + missed))
same "shown, overwritten and torn are all that was recorded" "$recorded" \
	$((overwritten + torn + $(grep -c 'syscall:getppid' "$MNT/kptrace")))
put "$GETPPID" 0

put events/kernel/syscall:openat '1 /comm == "cat"/'
put events/kernel/syscall:execve 1
cat "$WORK/no such file" 2>/dev/null
put events/kernel/syscall:openat 0
put events/kernel/syscall:execve 0
check "a path, flags and an error" grep -q "openat: dfd=AT_FDCWD filename=\"$WORK/no such file\" flags=O_RDONLY.* = -1 \
ENOENT (No such file or directory) ([0-9.]* us)$" "$MNT/kptrace"
check "the path of a program" grep -q 'execve: filename="[^"]*/cat" .* = 0 ([0-9.]* us)$' "$MNT/kptrace"

# those of a 32-bit program have other numbers, and addresses of 32 bits
serve_end
serve -o trace_kernel=1024
put events/kernel/syscalls 1
"$PWD/tests/fs/compat_calls" 100 >"$WORK/compat"
status=$?
put events/kernel/syscalls 0
if [ "$status" = 77 ]; then
	echo "not tried: calls of 32-bit programs, which are not here"
else
	same "the program with 32-bit calls" 0 "$status"
	grep "compat_calls\[$(cat "$WORK/compat")\]" "$MNT/kptrace" >"$WORK/lines"
	# each is compared with what the other kind of call says
	same "32-bit calls, and another one" 101 "$(grep -c 'syscall:getpid: = ' "$WORK/lines")"
	same "none is taken for the call with that number" "" "$(grep -E 'syscall:(writev|fstat|newfstat): ' "$WORK/lines" |
		grep -v 'fd=1 ')"
	# the text is not copied
	check "arguments: $(tail -n 2 "$WORK/lines")" grep -q \
		'syscall:open: filename=0x[0-9a-f]\{7,8\} flags=O_RDONLY = -1 ENOENT ' "$WORK/lines"
	check "the end, of the other kind" grep -q 'syscall:exit_group: error_code=0$' "$WORK/lines"
fi
serve_end
