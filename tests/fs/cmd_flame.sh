#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_flame: kprof flame draws maps with stacks as keys, whose frames have names, of a mount and of a copy.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof

# titles FILE: "NAME VALUE" of each frame of a graph
titles() {
	python3 - "$1" <<'END'
import sys, xml.dom.minidom
for title in xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("title"):
    lines = title.firstChild.data.split("\n")
    if len(lines) > 1:
        print(lines[0], lines[1].split(",")[0])
END
}

# other tests run the program too
cp "$PWD/tests/fs/probes_user" "$WORK/probes_user"
serve
need_probe stacks 'u:'"$WORK"'/probes_user:twice { @[ustack, comm] = count(); @n = count(); }'
mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$WORK/probes_user" 100 wait <"$WORK/in" 5>&- &
USER_PID=$!
echo >&5
wait_for grep -q '^@n: 100$' "$MNT/probes/stacks"
check "the answer has names" grep -q '^    twice+0$' "$MNT/probes/stacks"
"$KPROF" flame -m "$MNT" -o "$WORK/a.svg" probes/stacks || fail "flame of a mount"
cp "$MNT/probes/stacks" "$WORK/copy"
"$KPROF" flame - <"$WORK/copy" >"$WORK/b.svg" || fail "flame of a copy"
check "both are the same" cmp -s "$WORK/a.svg" "$WORK/b.svg"
titles "$WORK/a.svg" >"$WORK/titles"
check "the function has all calls" grep -qx 'twice 100' "$WORK/titles"
check "below the other key" grep -qx 'probes_user 100' "$WORK/titles"
(cd "$MNT" && "$KPROF" flame probes/stacks) >"$WORK/c.svg" || fail "flame in the mount"
check "a file of the working folder" grep -qx 'twice 100' <(titles "$WORK/c.svg")
echo >&5
exec 5>&-
wait "$USER_PID" || fail "the program failed with $?"

# what can't be drawn says so
put probes/none 'syscall:getppid:entry { @ = count(); }'
fails_with "no map has a stack as a key" "$KPROF" flame -m "$MNT" -o "$WORK/none.svg" probes/none
check "nothing was written" [ ! -e "$WORK/none.svg" ]
fails_with "No such file" "$KPROF" flame -m "$MNT" probes/absent
fails_with "one FILE is needed" "$KPROF" flame
head -c 100 /dev/zero >"$WORK/zeros"
fails_with "is no text" "$KPROF" flame "$WORK/zeros"
