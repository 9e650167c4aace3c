#!/bin/bash
# SPDX-License-Identifier: MIT
# probes: programs of probes/ at functions of the kernel: by fentry and fexit, with arguments by name, results and
# stacks; many functions by one link; exact counts on two CPUs; what is slow or too much is said.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

FILE=$WORK/file
# each function that is detached waits for the kernel
WAIT=200

# program NAME TEXT
program() {
	put "probes/$1" "$2" || fail "$1: $(tail -n 3 "$MNT/kperr")"
}

# answer NAME LINE: the answer has this line; names of addresses may come with a later reading
answer() {
	WAIT=20 wait_for grep -qxF -- "$2" "$MNT/probes/$1" || fail "$1: no line '$2' in: $(grep -v '^# [a-z]*:' "$MNT/probes/$1")"
}

# work: five calls that succeed, and one that fails
work() {
	for _ in 1 2 3 4 5; do
		fallocate -o 4096 -l 8192 "$FILE"
	done
	fallocate -l 8192 /dev/null 2>"$WORK/said"
}

is='/comm == "fallocate"/'
serve
program entry "kprobe:vfs_fallocate $is { @n = count(); @offset[arg2] = count(); @length = sum(arg3); @[func] = count();
	@three[(arg0 & 7) + 3] = count(); }"
program return "kretprobe:vfs_fallocate $is { @n = count(); @good = sum(retval == 0); @bad = sum(retval < 0); }"
program named "fentry:vfs_fallocate $is { @[args.offset, args.len] = count(); @words[arg2] = count();
	@three[(arg0 & 7) + 3] = count(); }"
program results "fexit:vfs_fallocate $is { @[args.len, retval == 0] = count(); @good = sum(retval >= 0); }"
program stack "kprobe:vfs_fallocate $is { @[kstack] = count(); }"
# more than 16
many=$(grep -x 'vfs_[a-z]*' /sys/kernel/tracing/available_filter_functions | grep -vx vfs_fallocate | head -n 17 | sed 's/^/kprobe:/')
many="kprobe:vfs_fallocate, ${many//$'\n'/, }"
program many "$many $is { @[probe] = count(); @func[func] = count(); }"
program returns "${many//kprobe:/kretprobe:} $is { @[probe] = count(); @bad[probe] = sum(retval < 0); }"
program offset "kprobe:vfs_fallocate+0 $is { @ = count(); }"
work
answer entry "@n: 6"
answer entry "@offset[4096]: 5"
answer entry "@length: 49152"
answer entry "@[vfs_fallocate]: 6"
answer entry "@three[3]: 6"
answer return "@n: 6"
answer return "@good: 5"
answer return "@bad: 1"
answer named "@[4096, 8192]: 5"
answer named "@words[4096]: 5"
answer named "@three[3]: 6"
answer results "@[8192, 1]: 5"
answer results "@[8192, 0]: 1"
answer results "@good: 5"
answer many "@[kprobe:vfs_fallocate]: 6"
answer many "@func[vfs_fallocate]: 6"
answer returns "@[kretprobe:vfs_fallocate]: 6"
answer returns "@bad[kretprobe:vfs_fallocate]: 1"
answer offset "@: 6"
# the function is the first line of its stack, its caller the next
has_stack() {
	cat "$MNT/probes/stack" >"$WORK/stack"
	grep -q '^ *vfs_fallocate+*[0-9]*$' <(sed -n 2p "$WORK/stack") && grep -q sys_fallocate <(sed -n 3,4p "$WORK/stack")
}
WAIT=20 wait_for has_stack || cat "$WORK/stack"
grep '^# [0-9]* events' "$MNT"/probes/{entry,return,many,returns}

# each call of both CPUs
CALL=$(sed -n 's/.* [tT] \(__[a-z0-9]*_sys_getppid\)$/\1/p' /proc/kallsyms | head -n 1)
is='/comm == "kernel_calls"/'
program calls "kprobe:$CALL $is { @ = count(); }
kretprobe:$CALL $is { @returns = count(); @r = sum(retval == $$); }"
program links "kprobe:$CALL, $many $is { @[probe] = count(); }"
callers=
for cpu in 0 1; do
	echo | tests/fs/kernel_calls $cpu 20000 >"$WORK/called.$cpu" &
	callers="$callers $!"
done
# shellcheck disable=SC2086 # words
wait $callers
answer calls "@: 40000"
answer calls "@returns: 40000"
answer calls "@r: 40000"
answer links "@[kprobe:$CALL]: 40000"
grep '^# [0-9]* events' "$MNT"/probes/{calls,links}

# which way is in the list, and in kperr where the better one is not there
check "fentry in the list" grep -qx 'kprobe:vfs_fallocate file \*file, .*  # fentry' "$MNT/probes/list"
check "fexit in the list" grep -qx 'kretprobe:vfs_fallocate  # fexit' "$MNT/probes/list"
if grep -q '^# many functions: ' "$MNT/probes/list"; then
	for name in many returns links; do
		same "$name: the reason is said once" 1 \
			"$(grep -c "probes/$name: [0-9]* functions of a rule are probed one by one by kprobes, .*CONFIG_FPROBE" \
				"$MNT/kperr")"
	done
else
	same "no other way is taken" 0 "$(grep -c 'one by one' "$MNT/kperr")"
fi
# too many, and none
before=$(ls "$MNT/probes")
fails_with "Argument list too long" put probes/all 'kprobe:* { @ = count(); }'
check "the bound: $(tail -n 3 "$MNT/kperr")" grep -q '[0-9]* more than are left: a program has at most 4096' <(tail -n 3 "$MNT/kperr")
same "nothing stays" "$before" "$(ls "$MNT/probes")"
fails_with "No such file" put probes/none 'kprobe:no_such_function { @ = count(); }'
serve_end
