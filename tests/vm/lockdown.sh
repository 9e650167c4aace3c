#!/bin/bash
# SPDX-License-Identifier: MIT
# lockdown: where the kernel's memory is confidential (kernel lockdown), what reads it is refused with
# EOPNOTSUPP and what would give it, and all else goes on: samples, times away from the CPU, exact times, system calls
# with their texts, functions, tracepoints without the texts in their records, stacks, counts of probes/. The last test
# of a guest: the level can't be lowered again.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

LEVEL=/sys/kernel/security/lockdown
[ -e $LEVEL ] || mount -t securityfs security /sys/kernel/security
if ! [ -e $LEVEL ]; then
	echo "this kernel has no lockdown"
	exit 77
fi

# refused FILE TEXT REASON
refused() {
	fails_with "Operation not supported" put "$1" "$2"
	check "$1: $2: $(tail -n 1 "$MNT/kperr")" grep -q "kernel lockdown (confidentiality) forbids" <(tail -n 4 "$MNT/kperr")
	check "what would give it" grep -q "start the kernel with lockdown=integrity or lockdown=none" \
		<(tail -n 4 "$MNT/kperr")
}

# what works at each level
works() {
	local word
	for word in 'event default' 'event offcpu' 'stack both' start; do
		put kpctl "$word" || fail "$word: $(tail -n 1 "$MNT/kperr")"
	done
	sleep 0.3
	put kpctl stop
	check "samples of times away" grep -q ' offcpu ' "$MNT/views/flat"
	put events/kernel/sched:sched_process_exit '1 /comm == "true"/' || fail "a tracepoint: $(tail -n 1 "$MNT/kperr")"
	put events/kernel/function:vfs_fallocate '1 stack /len == 4096/' || fail "a function: $(tail -n 1 "$MNT/kperr")"
	put events/kernel/syscall:openat '1 stack /comm == "cat"/' || fail "a system call: $(tail -n 1 "$MNT/kperr")"
	put events/kernel/syscall:execve '1 /comm == "true"/' || fail "execve: $(tail -n 1 "$MNT/kperr")"
	put events/kernel/sched:sched_process_exec '1 /comm == "true"/' || fail "texts: $(tail -n 1 "$MNT/kperr")"
	env true
	fallocate -l 4096 "$WORK/file"
	fallocate -l 8192 "$WORK/file"
	long=$WORK/$(printf 'a%.0s' {1..250})
	cat "$WORK/file" "$long" >/dev/null 2>&1
	cat "$MNT/kptrace" >"$WORK/trace"
	check "a tracepoint is recorded" grep -q 'true\[[0-9]*\] sched:sched_process_exit: ' "$WORK/trace"
	check "a function too" grep -q 'function:vfs_fallocate: .* len=4096 = 0 ' "$WORK/trace"
	same "its filter holds" 1 "$(grep -c ' function:vfs_fallocate: .* len=' "$WORK/trace")"
	check "a system call, with its text" grep -q "syscall:openat: .* filename=\"$WORK/file\" " "$WORK/trace"
	check "a long text is cut" grep -q "syscall:openat: .* filename=\"$WORK/a*\"\.\.\. .* ENAMETOOLONG\|\
syscall:openat: .* filename=\"$WORK/a*\"\.\.\. .* ENOENT" "$WORK/trace"
	check "the path of a program" grep -q 'true\[[0-9]*\] syscall:execve: filename="[^"]*/true" ' "$WORK/trace"
	check "stacks of the kernel and of the program" [ "$(grep -A 8 'syscall:openat: ' "$WORK/trace" |
		grep -c '0x[0-9a-f]*$')" -gt 2 ]
	put events/kernel/syscall:bind "1 /comm == \"kernel_addresse\"/" || fail "bind: $(tail -n 1 "$MNT/kperr")"
	rm -f "$WORK/bound"
	tests/fs/kernel_addresses "$WORK/bound" >/dev/null || fail "addresses: status $?"
	check "an address" grep -q "syscall:bind: fd=[0-9]* umyaddr={AF_UNIX, \"$WORK/bound\"} addrlen=110 = 0 (" "$MNT/kptrace"
	put events/kernel/syscall:bind 0
	put events/kernel/sched:sched_process_exit 0
	put events/kernel/function:vfs_fallocate 0
	put events/kernel/syscall:openat 0
	put events/kernel/syscall:execve 0
	put events/kernel/sched:sched_process_exec 0
	put probes/calls 'tracepoint:syscalls:sys_enter_openat /comm == "cat"/ { @ = count(); }' ||
		fail "counts: $(tail -n 1 "$MNT/kperr")"
	cat "$WORK/file" >/dev/null
	check "counts" grep -q '^@: [1-9]' "$MNT/probes/calls"
	rm "$MNT/probes/calls"
	put mpstat 'source bpf' || fail "mpstat: $(tail -n 1 "$MNT/kperr")"
	put mpstat on
	same "exact times" bpf "$(stat_of mpstat.source)"
}

for level in integrity confidentiality; do
	echo $level >$LEVEL || fail "$level"
	check "the level" grep -q "\[$level\]" $LEVEL
	serve
	works
	if [ $level = integrity ]; then
		check "the text of a tracepoint" grep -q 'sched:sched_process_exec: filename=[^ ]*/true ' "$WORK/trace"
		same "nothing is lacking" "" "$(grep lockdown "$MNT/kperr")"
	else
		check "no text of a tracepoint" grep -q 'sched:sched_process_exec: filename=(null) pid=[0-9]' "$WORK/trace"
		check "it is said" grep -q 'sched_process_exec: it is on without the texts .*kernel lockdown' "$MNT/kperr"
		refused probes/names 'tracepoint:syscalls:sys_enter_openat { @[str(args.filename)] = count(); }'
		refused probes/none 'kprobe:no_such_function { @ = count(); }'
		check "nothing is left of them" test ! -e "$MNT/probes/names"
		check "the list says so first" grep -q '^# kernel memory: .*kernel lockdown' <(timeout 60 head -n 5 "$MNT/probes/list")
	fi
	serve_end
done
