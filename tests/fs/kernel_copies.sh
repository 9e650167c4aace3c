#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_copies: copies of cpu/N/trace show the kernel's events as kptrace does, also if records of one event have
# different formats: a system call that fails and one that does not, of the same process.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

serve
# those of this script: programs of other tests may overwrite them
put events/kernel/pids "$$" 2>/dev/null
put events/kernel/syscalls 1 2>/dev/null || {
	echo "no system calls can be recorded here: $(tail -n 1 "$MNT/kperr")"
	exit 77
}
# one process: openat fails, and does not fail, and fails again
cat "$WORK/none" /etc/passwd "$WORK/none" >/dev/null 2>&1
put events/kernel/syscalls 0
cat "$MNT/kptrace" >"$WORK/trace"
for cpu in "$MNT"/cpu/*; do
	cat "$cpu/trace" >"$WORK/copy.${cpu##*/}" || fail "$cpu/trace"
	same "size of $cpu/trace" "$(stat -c %s "$WORK/copy.${cpu##*/}")" "$(wc -c <"$cpu/trace")"
done
"$PWD/kprof" trace "$WORK"/copy.* >"$WORK/copied" || fail "kprof trace of copies"
check "a call failed" grep -q 'openat: .*none" .* = -1 ENOENT' "$WORK/trace"
check "and one did not" grep -q 'openat: .*"/etc/passwd" .* = [0-9]' "$WORK/trace"
same "the lines of the copies" "$(sort "$WORK/trace")" "$(sort "$WORK/copied")"
serve_end
