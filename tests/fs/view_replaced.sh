#!/bin/bash
# SPDX-License-Identifier: MIT
# view_replaced: A program without a build-id has names as long as the file is the mapped one. If the file
# was replaced or written into, its addresses are shown as [replaced].
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

command -v objcopy >/dev/null || { echo "objcopy is missing"; exit 77; }

CPU_MS=300

# make NAME: split without a build-id, which is an hour old
make() {
	objcopy --remove-section .note.gnu.build-id "$FIXTURES/split" "$WORK/$1" ||
		fail "objcopy"
	touch -d '1 hour ago' "$WORK/$1"
}

# rows FILE OUT: the rows of the program of this name
rows() {
	"$KPROF" report -n --addresses --by function,file "$WORK/kpdata" 2>"$WORK/err" |
		awk -v file="$WORK/$1" '$NF == file' >"$WORK/rows"
	[ -s "$WORK/rows" ] || fail "$1 is not in the report: $(cat "$WORK/err")"
}

is_named() {
	rows "$1"
	grep -q ' burn_seventy ' "$WORK/rows" || fail "$1, $2: no names: $(head -n 3 "$WORK/rows")"
	grep -q 'replaced' "$WORK/rows" && fail "$1, $2: said to be replaced"
}

is_replaced() {
	rows "$1"
	grep -q "  $1+0x[0-9a-f]* \[replaced\] " "$WORK/rows" ||
		fail "$1, $2: not said to be replaced: $(head -n 3 "$WORK/rows")"
	grep -qE ' (burn|call)_' "$WORK/rows" && fail "$1, $2: names of another file"
}

serve
need_machine
for name in renamed written moved; do
	make $name
done
cp "$FIXTURES/split" "$WORK/known"
ctl 'event cpu-clock:freq=2000' clear start
for name in renamed written moved known; do
	timeout 120 "$WORK/$name" $CPU_MS >/dev/null || fail "$name does not run"
done
ctl stop
copy_to "$WORK/kpdata"
"$KPROF" dump "$WORK/kpdata" >"$WORK/dump" || fail "kprof dump"
# with the bytes that another tool prints
file_id=$(grep " file_id .* inode=$(stat -c %i "$WORK/renamed") " "$WORK/dump" | head -n 1)
[ -n "$file_id" ] || fail "no record with the file's inode"
for name in renamed written moved; do
	grep -q " file_id .* inode=$(stat -c %i "$WORK/$name") .* size=$(stat -c %s "$WORK/$name") mtime=$(date -r "$WORK/$name" +%s%N)" \
		"$WORK/dump" || fail "no record with the size and time of $name"
done

for name in renamed written moved; do
	is_named $name "as it was"
done

# the functions of another program lie elsewhere; its time of modification is older than the run
objcopy --remove-section .note.gnu.build-id "$FIXTURES/pingpong" "$WORK/other" || fail "objcopy"
touch -d '1 hour ago' "$WORK/other"
cp -p "$WORK/other" "$WORK/new"
mv "$WORK/new" "$WORK/renamed"
is_replaced renamed "another file under its name"

# nor code
function=$(awk 'NR == 1 { print $4 " " $5 }' "$WORK/rows")
"$KPROF" annotate "$function" "$WORK/kpdata" >"$WORK/code" 2>"$WORK/err"
check "annotate" grep -q "can't be shown: the file is not the one that was mapped" "$WORK/err"
grep -q 'mov' "$WORK/code" && fail "code of another file: $(head -n 5 "$WORK/code")"

cat "$WORK/other" >"$WORK/written"
is_replaced written "other contents"
touch -d '2 hours ago' "$WORK/written"
is_replaced written "other contents with an old time"

# the same file under another name and back, and one that was only looked at
mv "$WORK/moved" "$WORK/aside"
mv "$WORK/aside" "$WORK/moved"
cat "$WORK/moved" >/dev/null
is_named moved "moved away and back"

# with a build-id, where it was recorded, it does not matter which file has it
id=$(readelf -n "$WORK/known" 2>/dev/null | sed -n 's/.*Build ID: //p')
if [ -n "$id" ] && grep -q " build_id .* id=$id\$" "$WORK/dump"; then
	cp "$WORK/known" "$WORK/copy"
	mv "$WORK/copy" "$WORK/known"
	is_named known "a copy of it"
fi

serve_end
