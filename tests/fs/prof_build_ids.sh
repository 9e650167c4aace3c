#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_build_ids: kpdata has the build-id of a program that begins and ends during a run, equal to that of
# readelf; also with another form of build-id, without one, and for a file that was changed afterwards.
# shellcheck source-path=SCRIPTDIR
. "${srcdir:-.}/tests/fs/lib.sh"
. "${srcdir:-.}/tests/fs/prof_lib.sh"

for tool in gcc readelf; do
	command -v "$tool" >/dev/null || { echo "no $tool here"; exit 77; }
done
take_machine
serve
need_machine

cat >"$WORK/short.c" <<'EOF'
#include <unistd.h>
int main(void) { return getpid() == 1; }
EOF
# build NAME FLAGS...
build() {
	local name=$1
	shift
	gcc -O1 "$@" -o "$WORK/$name" "$WORK/short.c" >"$WORK/gcc" 2>&1 ||
		{ echo "no program can be built here: $*"; cat "$WORK/gcc"; exit 77; }
}
build pie -Wl,--build-id
build nopie -no-pie -Wl,--build-id=0x0102030405
build md5 -Wl,--build-id=md5
build none -Wl,--build-id=none
build changed -Wl,--build-id
cp "$WORK/pie" "$WORK/na me"

build_id() { readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'; }

# id_of NAME: the build-id that kpdata has for the mapping of that program
id_of() {
	awk -v path="path=\"$WORK/$1\"" '
	function field(name, text) {
		text = $0
		sub(".* " name "=", "", text); sub(/ .*/, "", text)
		return text
	}
	$2 == "mmap" && index($0, path) { wanted = field("pid") " " field("addr") }
	$2 == "build_id" && wanted == field("pid") " " field("addr") { id = field("id") }
	END { print id }' "$WORK/text"
}

has_mapping() { grep -q "mmap .*path=\"$WORK/$1\"" "$WORK/text"; }

ctl 'event cpu-clock' start
"$WORK/pie"
"$WORK/nopie"
"$WORK/md5"
"$WORK/none"
"$WORK/na me"
ctl stop
copy_to "$WORK/copy"
"$KPROF" dump "$WORK/copy" >"$WORK/text"
same "a short one" 0102030405 "$(id_of nopie)" # readelf does not show those of odd lengths
for name in pie md5 "na me"; do
	same "the build-id of $name" "$(build_id "$WORK/$name")" "$(id_of "$name")"
done
same "one that has none" "" "$(id_of none)"
check "its mapping is there" has_mapping none
same "none was missing" 0 "$(stat_of tasks.build_ids_missing)"

later_than() { [ "${EPOCHREALTIME/./}" -gt "$1" ]; }

# written in place: the same inode with other content; the reader of build-ids is held up until then
ctl clear
ctl start
reader=$(pgrep -P "$SERVER" -f '^kprof-symbols reader' | head -n 1)
kill -STOP "$reader"
"$WORK/changed"
# the times of files have the steps of the kernel's tick, 10 ms at most
begin=${EPOCHREALTIME/./}
wait_for later_than "$((begin + 20000))"
cat "$WORK/md5" >"$WORK/changed"
kill -CONT "$reader"
ctl stop
copy_to "$WORK/copy"
"$KPROF" dump "$WORK/copy" >"$WORK/text"
check "the mapping of a changed file is there" has_mapping changed
same "its build-id is not the new one's" "" "$(id_of changed)"
same "and is counted as missing" 1 "$(stat_of tasks.build_ids_missing)"
