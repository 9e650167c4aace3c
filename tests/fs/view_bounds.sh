#!/bin/bash
# SPDX-License-Identifier: MIT
# view_bounds: Each open of a view that exceeds a limit fails with an error that names the limit, and the
# server continues.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
KPROFS=$PWD/tests/fs/kprofs_canned

# The model of a view may take 64 MiB and four times the capture. A frame that is like no other takes 8
# bytes in the capture, and in the model a place and a node with their slots in hash tables and a name:
# 20 times that at least. So 1,000 such samples (1 MiB) fit, and 10,000 (10 MiB) don't.
serve
put kpctl "stack wild 1000"
for view in flat folded tree flame.svg report.html pprof firefox.json trace.json perf.data; do
	cat "$MNT/views/$view" >"$WORK/view" || fail "$view: $(tail -n 1 "$MNT/kperr")"
	check "$view has something" [ -s "$WORK/view" ]
done
same "the samples in folded" 1000 "$(awk '{ sum += $NF } END { print sum }' "$MNT/views/folded")"

put kpctl "stack wild 9000"
for view in tree folded firefox.json; do
	fails_with "File too large" cat "$MNT/views/$view"
	check "$view: the reason" grep -q "views/$view: .*need more than 10[2-4] MiB" \
		<(tail -n 1 "$MNT/kperr")
done
check "flat needs one frame of each" grep -q '^# 10000 samples' "$MNT/views/flat"
check "perf.data needs no stacks" [ "$(wc -c <"$MNT/views/perf.data")" -gt 10000000 ]
check "the server goes on" grep -q "^event quick" "$MNT/kpctl"

# a view of a smaller capture can be made again
put kpctl clear
fails_with "No data available" cat "$MNT/views/flat"
put kpctl "stack wild 10"
check "a view of what is small" grep -q '^# 10 samples' "$MNT/views/flat"

# 70,000 samples, each of which takes 4,000 bytes: 280 MB of text, and the limit is 256 MiB
put kpctl clear
put kpctl "stack long 70000"
fails_with "File too large" cat "$MNT/views/trace.json"
check "trace.json: the reason" grep -q "views/trace.json: .*the view would have more than 256 MiB" \
	<(tail -n 1 "$MNT/kperr")
check "a view of the same" grep -q '^# 70000 samples' "$MNT/views/flat"
check "the server goes on" grep -q "^event quick" "$MNT/kpctl"
serve_end
