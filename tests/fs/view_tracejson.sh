#!/bin/bash
# SPDX-License-Identifier: MIT
# view_tracejson: The time line has the Trace Event Format and the content of a known capture.
# shellcheck source=tests/fs/view_lib.sh
. "${srcdir:-.}/tests/fs/view_lib.sh"

need python3
convert trace.json "$tmp/trace.json"
python3 "${srcdir:-.}/tests/fs/tracejson.py" "$tmp/trace.json" >"$tmp/found" || fail "trace.json"
cat >"$tmp/expected" <<END
other capture 1250 samples of 2 events in 0.979 s on 2 CPUs
other event 1 cycles:freq=1000: 1200 samples, 150 of them idle, 41 lost (3.30%: 41 in a full ring), throttled 1 time for 0.004 s
other event 2 page-faults:period=7: 50 samples, 0 of them idle, 42 lost (45.65%: 42 in a full queue)
process 10 prog
thread 10 10 prog
thread 10 11 worker
process 20 child
thread 20 20 child
process 4294967294 [gone]
thread 4294967294 4294967294 [gone]
sample 10 10 cycles:freq=1000 0 1000 $tmp/victim victim_two;victim_one 600 20000.000
sample 10 10 page-faults:period=7 0 7 $tmp/victim victim_two 50 620000.000
sample 10 11 cycles:freq=1000 0 1000 $tmp/victim victim_two 300 700000.000
sample 20 20 cycles:freq=1000 1 1000 $tmp/victim victim_one 100 40000.000
sample 4294967294 4294967294 cycles:freq=1000 1 1000 [kernel.kallsyms] 0xffffffff81000010 50 300000.000
END
diff "$tmp/expected" "$tmp/found" || fail "what is in it"

exit $failed
