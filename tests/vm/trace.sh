#!/bin/bash
# SPDX-License-Identifier: MIT
# trace: events that four threads of a program write arrive complete and in the order of each thread,
# also on a CPU that orders memory accesses weakly.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

threads=4 events=20000

serve_trace
tell_start all 65536 $threads $events
cat "$MNT/kptrace" >"$WORK/trace"
same "events" $((threads * events)) "$(events_are_right "$WORK/trace")"
same "overwritten events" 0 "$(sed -n 's/^trace\.overwritten //p' "$MNT/kpstat")"
tell_end all
