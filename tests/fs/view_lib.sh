# SPDX-License-Identifier: MIT
# view_lib.sh: functions for scripts that give a view of a known capture to the tools that read such
# files: $tmp/kpdata, made by tests/fixtures/mkstory, whose head lists its figures. Sourced.

set -u
export LC_ALL=C

kprof=$PWD/kprof
mkstory=$PWD/tests/fixtures/mkstory
victim=$PWD/tests/fixtures/victim
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

fail() {
	echo "FAILED: $*"
	failed=1
}

# same WHAT EXPECTED FOUND: two texts
same() {
	[ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

# need TOOL...: the script is skipped without it
need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 77; }
	done
}

# offset FILE FUNCTION: where it is in the file, by another tool
offset() {
	objdump -d -F "$1" | sed -n "s/.*<$2> (File Offset: \(0x[0-9a-f]*\)).*/\1/p" | head -n 1
}

make_capture() {
	local one two
	cp "$victim" "$tmp/victim"
	one=$(offset "$victim" victim_one)
	two=$(offset "$victim" victim_two)
	id=$(readelf -n "$victim" 2>/dev/null | sed -n 's/.*Build ID: //p')
	[ -n "$one" ] && [ -n "$two" ] && [ -n "$id" ] || { fail "objdump or readelf"; exit 1; }
	"$mkstory" "$tmp/victim" "$id" "$one" "$two" >"$tmp/kpdata" || exit 1
}

# convert FORMAT FILE [INPUT]
convert() {
	"$kprof" convert -t "$1" -o "$2" "${3:-$tmp/kpdata}" 2>"$tmp/err" ||
		fail "kprof convert -t $1: $(cat "$tmp/err")"
}

need objdump readelf
make_capture
