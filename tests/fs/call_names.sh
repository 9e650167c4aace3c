#!/bin/sh
# SPDX-License-Identifier: MIT
# The names of system calls are those of the kernel's headers, each one of them; and the names of their
# constants are those that strace writes.
set -eu
srcdir=${srcdir:-.}
text=tests/fixtures/callargs_text
cc=${CC:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	exit 1
}

# numbers HEADER: "NUMBER NAME" of the constants that the header defines
numbers() {
	# shellcheck disable=SC2086 # a compiler may come with options
	echo "#include <$1>" | $cc -E -dM -x c - 2>"$dir/why" |
		sed -n 's/^#define __NR_\([a-z_0-9]*\) \([0-9]*\)$/\2 \1/p' | sort -n
}

case $(uname -m) in
x86_64) tables="native:asm/unistd_64.h compat:asm/unistd_32.h" ;;
*) tables="native:asm/unistd.h" ;;
esac
for table in $tables; do
	numbers "${table#*:}" >"$dir/header"
	[ "$(wc -l <"$dir/header")" -gt 250 ] || fail "${table#*:} has no numbers: $(cat "$dir/why")"
	$text "${table%%:*}" | sort -n >"$dir/ours"
	diff "$dir/header" "$dir/ours" || fail "other names than in ${table#*:}"
done

command -v strace >/dev/null && command -v python3 >/dev/null || {
	echo "no strace or no python3: constants are not compared"
	exit 77
}
$text native >"$dir/native"
if ! strace -o "$dir/trace" -X verbose true 2>"$dir/why"; then
	echo "strace can't trace here: $(head -n 1 "$dir/why")"
	exit 77
fi
timeout 60 strace -o "$dir/trace" -X verbose python3 "$srcdir/tests/fs/call_names.py" <"$dir/native" ||
	fail "the calls were not made"

# One line for each argument that strace explains: CALL INDEX NUMBER NAMES. Commands of ioctl and what they and
# those of fcntl take are numbers here.
python3 - "$dir/trace" >"$dir/explained" <<'END'
import re
import sys

# a number with its explanation, of the right size, without what is within braces or quotes
for line in open(sys.argv[1]):
    match = re.match(r"(\w+)\((.*)\)\s+= ", line)
    if not match or '"' in match[2] or "{" in match[2]:
        continue
    if match[1] == "ioctl":
        continue
    for index, argument in enumerate(match[2].split(", ")):
        if match[1] == "fcntl" and index == 2:
            continue
        explained = re.fullmatch(r"(-?\w+) /\* ([A-Z_0-9|]+) \*/", argument)
        if explained:
            value = int(explained[1], 0 if not re.fullmatch("0[0-7]+", explained[1]) else 8)
            print(match[1], index, "%x" % (value % 2**64), explained[2])
END
compared=$(wc -l <"$dir/explained")
[ "$compared" -gt 150 ] || fail "only $compared arguments were explained"
cut -d ' ' -f 1-3 "$dir/explained" | $text args >"$dir/texts"
# the order of names is not compared
paste -d ' ' "$dir/explained" "$dir/texts" | awk '
function sorted(text, words, n, i, j, t) {
	n = split(text, words, "|")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && words[j - 1] > words[j]; j--) {
			t = words[j]; words[j] = words[j - 1]; words[j - 1] = t
		}
	text = ""
	for (i = 1; i <= n; i++)
		text = text "|" words[i]
	return text
}
# two names of the same constant
BEGIN { same["O_ASYNC"] = "FASYNC" }
{
	theirs = $4
	for (name in same)
		gsub(name, same[name], theirs)
	if (sorted(theirs) != sorted($5)) {
		print $1 ", argument " $2 ", 0x" $3 ": strace has " $4 ", we have " $5
		bad = 1
	}
}
END { exit bad }' || fail "other names than strace's"
echo "$compared arguments are named as by strace"
