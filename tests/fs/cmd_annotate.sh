#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_annotate: kprof annotate shows the samples of a capture with known addresses beside the instructions
# that objdump prints for these addresses.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

mkcapture=$PWD/tests/fixtures/mkcapture
victim=$PWD/tests/fixtures/victim

# annotate STATUS ARGUMENTS...
annotate() {
	kprof_ends "$1" annotate "${@:2}"
}

offset() {
	objdump -d -F "$victim" | sed -n "s/.*<$1> (File Offset: \(0x[0-9a-f]*\)).*/\1/p" | head -n 1
}

# address FUNCTION: as the file has it
address() {
	objdump -d "$victim" | sed -n "s/^0*\([0-9a-f]*\) <$1>:$/\1/p"
}

# the first instruction at or before an address, by objdump itself
instruction_at() {
	objdump -d --no-show-raw-insn "$victim" | sed -n 's/^ *\([0-9a-f]*\):\t/\1\t/p' |
		awk -F '\t' -v at="$1" '$1 == at { print $2 " " $3 }' | sed 's/  */ /g; s/ $//'
}

command -v objdump >/dev/null && command -v readelf >/dev/null || { echo "no binutils"; exit 77; }
one=$(offset victim_one)
two=$(offset victim_two)
id=$(readelf -n "$victim" 2>/dev/null | sed -n 's/.*Build ID: //p')
cp "$victim" "$tmp/victim"
"$mkcapture" "$tmp/victim" "$id" "$one" "$two" >"$tmp/kpdata" || exit 1

annotate 0 victim_one "$tmp/kpdata"
same "the function and its file" "# victim_one  $tmp/victim" "$(sed -n 1p "$tmp/out")"
same "its samples" "# 700 samples of cpu-clock:freq=1000, 70.00% of all" "$(sed -n 2p "$tmp/out")"
same "the shares add up" "100 700" \
	"$(awk '$1 ~ /%$/ { share += $1; n += $2 } END { print share + 0, n + 0 }' "$tmp/out")"

# each line with samples has the instruction that objdump has there
grep -E '^ *[0-9.]+%' "$tmp/out" >"$tmp/hot"
[ -s "$tmp/hot" ] || fail "no line has samples"
while read -r _ _ at code; do
	same "the instruction at $at" "$(instruction_at "$at")" "$(echo "$code" | sed 's/  */ /g')"
	((0x$at >= 0x$(address victim_one))) || fail "$at is before the function"
done <"$tmp/hot"

# beside an earlier capture, where the two functions had each other's samples
"$mkcapture" "$tmp/victim" "$id" "$two" "$one" >"$tmp/before" || exit 1
annotate 0 --versus "$tmp/before" victim_one "$tmp/kpdata"
same "the earlier samples" "$(annotate 0 victim_one "$tmp/before" && sed -n 2p "$tmp/out")" \
	"$(annotate 0 --versus "$tmp/before" victim_one "$tmp/kpdata" && sed -n 4p "$tmp/out" |
		sed "s/before: //; s/ samples, / samples of cpu-clock:freq=1000, /")"
annotate 0 --versus "$tmp/before" --json victim_one "$tmp/kpdata"
# of each line: the share of before is what an annotation of that capture alone has
python3 - "$tmp/out" >"$tmp/shares" <<'EOF' || fail "the JSON of --versus"
import json, sys
for line in json.load(open(sys.argv[1]))["lines"]:
    if line.get("samples_before"):
        print(line["address"], line["samples_before"], line["share_before"])
EOF
annotate 0 --json victim_one "$tmp/before"
same "the shares of before" "$(python3 -c 'import json, sys
for line in json.load(open(sys.argv[1]))["lines"]:
    if line.get("samples"):
        print(line["address"], line["samples"], line["share"])' "$tmp/out")" "$(cat "$tmp/shares")"
[ -s "$tmp/shares" ] || fail "no line has a share of before"
annotate 0 --versus "$tmp/kpdata" victim_one "$tmp/kpdata"
same "no change against itself" "+0.00" "$(awk '$1 ~ /%$/ { print $4 }' "$tmp/out" | sort -u)"
# another program's function of the name does not count, though it has more samples; another frequency does
cp "$victim" "$tmp/another"
"$mkcapture" "$tmp/another" - "$one" "$two" >"$tmp/more" || exit 1
cat "$tmp/before" "$tmp/more" >"$tmp/two"
annotate 0 --versus "$tmp/two" victim_one "$tmp/kpdata"
same "of the same file" 300 "$(sed -n 's/^# before: \([0-9]*\) samples.*/\1/p' "$tmp/out")"
check "its lines" grep -q "before  change" "$tmp/out"
sed 's/cpu-clock:freq=1000/cpu-clock:freq=2000/' "$tmp/before" >"$tmp/faster"
annotate 0 --versus "$tmp/faster" victim_one "$tmp/kpdata"
same "another frequency" "# before: 300 samples, 30.00% of all" "$(sed -n 4p "$tmp/out")"
# a build that is not there has no functions
"$mkcapture" "$tmp/victim" "$(echo "$id" | tr 0-9 1-90)" "$two" "$one" >"$tmp/other" || exit 1
annotate 0 --versus "$tmp/other" victim_one "$tmp/kpdata"
same "of another build" "# before: 0 samples, 0.00% of all" "$(sed -n 4p "$tmp/out")"
annotate 1 --versus "$tmp/missing" victim_one "$tmp/kpdata"

# the whole function, and no part of the next one
annotate 0 --no-source victim_one "$tmp/kpdata"
size=$(readelf -sW "$victim" | awk '$8 == "victim_one" { print $3; exit }')
same "its instructions" \
	"$(objdump -d --no-show-raw-insn "$victim" | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p' |
		while read -r at; do
			((0x$at >= 0x$(address victim_one) && 0x$at < 0x$(address victim_one) + size)) &&
				echo "$at"
		done | paste -sd ' ')" \
	"$(sed 's/^ *[0-9.]*%  *[0-9]* / /' "$tmp/out" | awk 'NR > 3 && $1 ~ /^[0-9a-f]+$/ && !/<.*>:$/ { print $1 }' |
		paste -sd ' ')"

# a pattern: the hotter of the two
annotate 0 'victim_*' "$tmp/kpdata"
same "of several the hottest" "# victim_one  $tmp/victim" "$(sed -n 1p "$tmp/out")"
annotate 0 'victim_tw?' "$tmp/kpdata"
same "the other" "# 300 samples of cpu-clock:freq=1000, 30.00% of all" "$(sed -n 2p "$tmp/out")"

annotate 0 --json victim_two "$tmp/kpdata"
python3 - "$tmp/out" <<'END' || fail "not the JSON that the page tells of: $(cat "$tmp/out")"
import json, sys
o = json.load(open(sys.argv[1]))
assert o["function"] == "victim_two" and o["samples"] == 300 and o["share"] == 30
assert sum(l.get("samples", 0) for l in o["lines"]) == 300
assert abs(sum(l.get("share", 0) for l in o["lines"]) - 100) < 0.01
assert all("text" in l for l in o["lines"])
END

# without objdump: the addresses, and why
PATH=$tmp annotate 0 victim_one "$tmp/kpdata"
grep -q "the code can't be shown: .*objdump" "$tmp/err" || fail "why: $(cat "$tmp/err")"
same "the samples nevertheless" 700 "$(awk '$1 ~ /%$/ { n += $2 } END { print n }' "$tmp/out")"

annotate 1 no_such_function "$tmp/kpdata"
grep -q 'no samples in a function no_such_function' "$tmp/err" || fail "what is missing: $(cat "$tmp/err")"
annotate 1 victim_tow "$tmp/kpdata"
grep -q 'no samples in a function victim_tow; nearest: victim_two' "$tmp/err" || fail "the nearest: $(cat "$tmp/err")"
annotate 1 -e nonsense victim_one "$tmp/kpdata"
annotate 0 -e cpu-clock:freq=1000 victim_one "$tmp/kpdata"
annotate 2
annotate 1 victim_one "$tmp/kpdata" "$tmp/none"
[ "$failures" = 0 ]
