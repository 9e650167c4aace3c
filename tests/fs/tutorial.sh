#!/bin/bash
# SPDX-License-Identifier: MIT
# tutorial: Every command of docs/tutorial succeeds unchanged on an installed kprofs, and prints what the
# text says.
# shellcheck source=tests/fs/install_lib.sh
. "${srcdir:-.}/tests/fs/install_lib.sh"

command -v objdump >/dev/null || { echo "no objdump"; exit 77; }
if ! [ -w /dev/fuse ]; then
	echo "no FUSE here: /dev/fuse is missing"
	exit 77
fi
text=$(realpath "${srcdir:-.}/docs/tutorial")
docdir=$(setting docdir)

# the server's socket and the mount point are this test's
mkdir -p /mnt
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /mnt || fail "/run and /mnt"
end_mount() {
	if grep -q ' /mnt/kprof fuse' /proc/self/mounts; then umount -l /mnt/kprof; fi
	install_clean_up
}
trap end_mount EXIT

# the reader of the tutorial has this mount only; the machine may have others
export KPROF_MOUNT=/mnt/kprof

mkdir "$INSTALL_TMP/work"
cd "$INSTALL_TMP/work" || exit 1
sed -n 's/^    # //p' "$text" | sed "s|/usr/local/share/doc/kprofs|$docdir|" >commands
[ "$(wc -l <commands)" -ge 25 ] || fail "there are only $(wc -l <commands) commands in $text"

if ! kprof record -q -P -o "$INSTALL_TMP/data" -- true 2>"$INSTALL_TMP/said"; then
	echo "no sampling here: $(tail -n 1 "$INSTALL_TMP/said")"
	exit 77
fi

# Each command as a user types it; its output goes to a file with its number.
number=0
while read -r command; do
	number=$((number + 1))
	eval "$command" >"$number.out" 2>"$number.err" </dev/null ||
		fail "line $number, '$command': status $?: $(cat "$number.out" "$number.err")"
done <commands

# shows COMMAND PATTERN...: the outputs of the command, in order, have a line that matches
shows() {
	local command=$1 found
	shift
	for found in $(grep -nxF -- "$command" commands | cut -d: -f1); do
		[ $# != 0 ] || fail "'$command' is there once more"
		grep -q -- "$1" "$found.out" || fail "'$command': no line has '$1': $(cat "$found.out")"
		shift
	done
	[ $# = 0 ] || fail "'$command' is missing"
}

shows 'ls /mnt/kprof' '^kpctl$'
shows 'cat /mnt/kprof/mpstat' '^ *0: .*%'
shows 'grep lookup /mnt/kprof/views/flat | head -n 8' 'same_name'
shows 'grep same_name /mnt/kprof/views/tree | head -n 8' 'same_name'
# the first function is the one that the text names
first=$(grep -m 1 '^ *[0-9.]*%' "$(grep -nxF 'kprof report | head -n 12' commands | cut -d: -f1).out")
[[ $first == *" same_name "* ]] || fail "the hottest function is not same_name: $first"
shows 'kprof report -c | head -n 12' '<-.*find_customer'
shows 'kprof annotate find_customer | head -n 40' 'int i = 0;'
shows 'kprof report -b function -d slow.data | head -n 12' '---.*same_name'
shows 'grep same_name /mnt/kprof/views/versus/slow/flat | head -n 4' '---.*same_name'
shows 'grep same_name /mnt/kprof/sessions/old/views/flat | head -n 4' 'lookup *same_name'
shows 'head -n 4 /mnt/kprof/kptrace' 'lookup:order: order 0 is of customer 0$'
grep -q '<svg' flame.svg || fail "flame.svg is no picture"
grep -q ' /mnt/kprof ' /proc/self/mounts && fail "the tree is still mounted"
exit 0
