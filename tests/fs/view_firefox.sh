#!/bin/bash
# SPDX-License-Identifier: MIT
# view_firefox: The profile for the Firefox Profiler has the documented form and the content of a known
# capture.
# shellcheck source=tests/fs/view_lib.sh
. "${srcdir:-.}/tests/fs/view_lib.sh"

need python3 addr2line nm
convert firefox.json "$tmp/firefox.json"
python3 "${srcdir:-.}/tests/fs/firefox.py" "$tmp/firefox.json" >"$tmp/found" || fail "firefox.json"
# line FUNCTION OFFSET: `(FILE:LINE)` of its OFFSETth byte, by another tool; nothing without lines
line() {
	local address
	address=$((0x$(nm "$victim" | sed -n "s/ [Tt] $1$//p") + $2))
	addr2line -e "$victim" "$(printf '%x' $address)" |
		sed -n 's/^\([^?].*\/\)\{0,1\}\([^/?]*\):\([1-9][0-9]*\).*/(\2:\3)/p'
}
one="victim_one$(line victim_one 0)"
two="victim_two$(line victim_two 0)"
calls="victim_two$(line victim_two 3)" # a return address is that of the byte behind the call

# the first sample was taken 19 ms after the moment of which the wall clock is known; the weights are
# the periods, 1000 and 7; the idle task's 150 samples are not there
cat >"$tmp/expected" <<END
start 1700000000019.0
interval 1.0
extra Samples 1250 samples of 2 events in 0.979 s on 2 CPUs
extra Event 1 cycles:freq=1000: 1200 samples, 150 of them idle, 41 lost (3.30%: 41 in a full ring), throttled 1 time for 0.004 s
extra Event 2 page-faults:period=7: 50 samples, 0 of them idle, 42 lost (45.65%: 42 in a full queue)
thread prog (cycles:freq=1000) 10 10 True samples 600
  self victim_one 600 600000
  stack $calls;$one 600
  total victim_one 600
  total victim_two 600
thread prog (page-faults:period=7) 10 10 True samples 50
  self victim_two 50 350
  stack $two 50
  total victim_two 50
thread worker (cycles:freq=1000) 10 11 False samples 300
  self victim_two 300 300000
  stack $two 300
  total victim_two 300
thread child (cycles:freq=1000) 20 20 True samples 100
  self victim_one 100 100000
  stack $one 100
  total victim_one 100
thread [gone] (cycles:freq=1000) gone 0 True samples 50
  self 0xffffffff81000010 50 50000
  stack 0xffffffff81000010 50
  total 0xffffffff81000010 50
END
diff "$tmp/expected" "$tmp/found" || fail "what is in it"
grep -q "\"codeId\":\"$id\"" "$tmp/firefox.json" || fail "the build-id $id"

# 1,000 samples of a clock, each for a millisecond: a second of CPU time
"$PWD/tests/fixtures/mkcapture" "$tmp/victim" "$id" 0x1000 0x1010 >"$tmp/clock" || fail mkcapture
convert firefox.json "$tmp/clock.json" "$tmp/clock"
python3 "${srcdir:-.}/tests/fs/firefox.py" "$tmp/clock.json" >/dev/null || fail "firefox.json of a clock"
same "CPU time of the thread, in ns" 1000000000 "$(python3 -c '
import json, sys
threads = json.load(open(sys.argv[1]))["threads"]
print(*[sum(t["samples"]["threadCPUDelta"]) for t in threads if t["name"] == "prog"])' "$tmp/clock.json")"

exit $failed
