#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_options: the mount options probe_keys, probe_strlen, probe_format and probe_pid.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# other tests have programs of the usual names too
NAME=options$$
CALLS=$WORK/$NAME
cp "$PWD/tests/fs/kernel_calls" "$CALLS"
LONG=0123456789abcdefghijklmnopqrstuvwxyz

for option in probe_keys=0 probe_keys=1048577 probe_keys=x probe_strlen=15 probe_strlen=4097 probe_format=xml \
	probe_pid=-1 probe_pid=4294967296; do
	fails_with "'$option'" "$KPROFS" -o $option "$WORK"
done

serve -o probe_keys=3,probe_strlen=16
need_probe keys 'BEGIN { @x[1] = 1; @x[2] = 2; @x[3] = 3; @x[4] = 4; }'
same "so many keys" "@x[1]: 1 @x[2]: 2 @x[3]: 3" "$(grep '^@x' "$MNT/probes/keys" | paste -sd ' ')"
check "the fourth is counted" grep -q ' 1 keys dropped$' "$MNT/probes/keys"
put probes/text 'tracepoint:syscalls:sys_enter_openat /comm == "opens"/ { printf("%s.\n", str(args.filename)); }'
# a length that is known only when the program runs, and one that is longer than a string may be
put probes/part 'tracepoint:syscalls:sys_enter_openat /comm == "opens"/ { $n = tid == 0 ? 1 : 4;
	printf("%s.\n", str(args.filename, $n)); printf("all %s.\n", str(args.filename, 0 - $n)); }'
(exec -a opens bash -c 'printf opens >/proc/$$/comm; : <"/'$LONG'"' 2>"$WORK/err")
check "a string is cut" grep -q 'probe:text: /0123456789abcd\.$' "$MNT/kptrace"
check "at the length of that moment" grep -q 'probe:part: /012\.$' "$MNT/kptrace"
check "but no longer" grep -q 'probe:part: all /0123456789abcd\.$' "$MNT/kptrace"
# what END asks for is done also where the program is removed
put probes/ended 'BEGIN { @n = 7; } END { print(@n); printf("over\n"); }'
rm "$MNT/probes/ended"
wait_for grep -q 'probe:ended: over$' "$MNT/kptrace"
wait_for grep -q 'probe:ended: @n: 7$' "$MNT/kptrace"
serve_end

# JSON: each line is read by another program, and has what the text has
serve -o probe_format=json
put probes/json 'BEGIN { @n = 5; @k["a", -1] = sum(2); @h = hist(3); @h = hist(-7); @l = lhist(5, 0, 10, 2);
	@l = lhist(99, 0, 10, 2); @s = stats(4); @s = stats(6); @t = (1, "x"); @text = "a\"b\\c\nd";
	printf("%d \"%s\"\n", 7, "q"); print(5); print((1, "y")); print(@k); time("%%\n"); mark("m"); @a = avg(5); @none[1] = 1;
	clear(@none); cat("/proc/sys/kernel/ostype"); }'
wait_for grep -q '"cat"' "$MNT/kptrace"
python3 - "$MNT/probes/json" "$MNT/kptrace" <<'END' || fail "JSON"
import json, re, sys

def same(what, expected, found):
    if expected != found:
        sys.exit(f"{what}: expected {expected}, found {found}")

answer = [json.loads(line) for line in open(sys.argv[1])]
maps = {name: (row["type"], value) for row in answer for name, value in row["data"].items()}
same("a number", ("map", 5), maps["@n"])
same("keys", ("map", {"a,-1": 2}), maps["@k"])
same("a histogram", ("hist", [{"max": -1, "count": 1}] + [{"min": n, "max": n, "count": 0} for n in (0, 1)] +
    [{"min": 2, "max": 3, "count": 1}]), maps["@h"])
same("a linear one", ("hist", [{"min": 4, "max": 5, "count": 1}, {"min": 6, "max": 7, "count": 0},
    {"min": 8, "max": 9, "count": 0}, {"min": 10, "count": 1}]), maps["@l"])
same("statistics", ("stats", {"count": 2, "average": 5, "total": 10}), maps["@s"])
same("an average", ("stats", 5), maps["@a"])
same("a tuple", ("map", [1, "x"]), maps["@t"])
same("a text", ("map", 'a"b\\c\nd'), maps["@text"])
same("an empty map", False, "@none" in maps)
same("the counts", {"type": "counts", "data": {"events": 0, "missed": 0, "filtered": 0, "keys_dropped": 0}}, answer[-1])
printed = [json.loads(re.split("probe:json: ", line, maxsplit=1)[1]) for line in open(sys.argv[2])]
for row in ({"type": "printf", "data": '7 "q"\n'}, {"type": "value", "data": 5}, {"type": "value", "data": [1, "y"]},
        {"type": "map", "data": {"@k": {"a,-1": 2}}}, {"type": "time", "data": "%\n"}, {"type": "printf", "data": "m"},
        {"type": "cat", "data": "Linux\n"}):
    if row not in printed:
        sys.exit(f"{row} is not in {printed}")
END
serve_end

# one process of two that do the same
mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$CALLS" 0 100 <"$WORK/in" >"$WORK/out" 5>&- &
SEEN=$!
serve -o probe_pid=$SEEN
put probes/one 'syscall:getppid:entry { @ = count(); @by[comm] = count(); } interval:ms:10 { @ticks = count(); }'
"$CALLS" 0 100 </dev/null >"$WORK/other" || fail "the program failed"
echo >&5
exec 5>&-
wait $SEEN || fail "the program failed"
same "only one is seen" "@: 100" "$(grep '^@: ' "$MNT/probes/one")"
wait_for grep -q '^@ticks: [1-9]' "$MNT/probes/one"
serve_end

# a map with more text than a message can have is printed whole: in several messages, in JSON as several lines
for format in text json; do
	serve -o trace_size=1024,probe_format=$format
	put probes/large "syscall:getppid:entry /comm == \"$NAME\"/ {
			@i++; @many[\"some text that makes it longer\", @i] = @i * 3; }
		END { print(@many); }"
	# the leak checker of a sanitizer calls getppid(2) in the program too
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$CALLS" 0 3000 </dev/null >"$WORK/other" || fail "the program failed"
	put probes/large off
	cp "$MNT/kptrace" "$WORK/printed"
	serve_end
	if [ $format = text ]; then
		sed -n 's/.*@many\[some text that makes it longer, \([0-9]*\)\]: \([0-9]*\)$/\1 \2/p' "$WORK/printed"
	else
		python3 -c 'import json, re, sys
for line in sys.stdin:
    for key, value in json.loads(re.split("probe:large: ", line, maxsplit=1)[1])["data"]["@many"].items():
        print(key.split(",")[1], value)' <"$WORK/printed"
	fi >"$WORK/pairs"
	same "all keys in $format" "$(seq 3000 | awk '{ print $1, $1 * 3 }')" "$(sort -n "$WORK/pairs")"
done

# a line that is longer than a message goes on in the next one; kprof probe joins them
serve -o trace_size=1024,probe_format=json
put probes/wide 'BEGIN { @h = hist(1, 5); @h = hist(1 << 62, 5); print(@h); cat("/proc/kallsyms"); }'
is_printed() {
	grep -q 'probe:wide: ' "$MNT/kptrace" && [ "$(grep -c 'probe:wide: ' "$MNT/kptrace")" = 2 ]
}
wait_for is_printed
python3 - "$MNT/kptrace" "$MNT/probes/wide" /proc/kallsyms <<'END' || fail "long lines"
import json, re, sys

part, printed = "", []
for line in open(sys.argv[1]):
    more, text = re.search(r"probe:wide(\+?): (.*)$", line).groups()
    part += text
    if not more:
        printed.append(json.loads(part))
        part = ""
answer = json.loads(open(sys.argv[2]).readline())
if part or printed[0] != answer or len(json.dumps(answer)) < 66000:
    sys.exit("the map is not whole")
if printed[1]["data"] != open(sys.argv[3]).read(65000):
    sys.exit("the file is not whole")
END
serve_end
if "$PWD/kprof" probe -f json 'BEGIN { @h = hist(1, 5); @h = hist(1 << 62, 5); print(@h); exit(); }' >"$WORK/lines"; then
	same "the map as printed, and at the end" 1 "$(tail -n +2 "$WORK/lines" | sort -u | wc -l)"
	check "both are whole" python3 -c 'import json, sys
lines = [json.loads(line) for line in sys.stdin]
sys.exit(len(lines) != 3 or len(lines[1]["data"]["@h"]) < 1800)' <"$WORK/lines"
else
	fail "kprof probe: $?"
fi
