#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_metrics: the maps of programs of probes/ in views/metrics, in a form that readers of OpenMetrics accept.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/metrics_lib.sh
. "${srcdir:-.}/tests/fs/metrics_lib.sh"

# other tests have programs of the usual names too
NAME=metrics$$
CALLS=$WORK/$NAME
cp "$PWD/tests/fs/kernel_calls" "$CALLS"
# the leak checker of a sanitizer calls getppid(2) in the program too
no_leaks=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

serve
need_probe by.name "syscall:getppid:entry /comm == \"$NAME\"/ { @ = count(); @by[comm, pid] = count(); }"
# a number from 0 on for each call: 0, 1, ... 999; and negative ones
put probes/by-name "syscall:getppid:entry /comm == \"$NAME\"/ { @n++; @h = hist(@n - 1);
	@rows[str(\"a\\\"b\\\\c\"), 1] = lhist(@n - 1, 100, 900, 300); @minus = hist(@n - 1001); @low = lhist(@n - 1, -5, 5, 5);
	@mean = avg(@n); @all = stats(-@n); @least = min(@n - 500); @who = comm; @stack[kstack] = count(); }"
ASAN_OPTIONS=$no_leaks "$CALLS" 0 1000 </dev/null >"$WORK/out" &
CALLER=$!
wait $CALLER || fail "the program failed"
same "all calls are counted" "@: 1000" "$(grep '^@: ' "$MNT/probes/by.name")"
read_metrics
same "a count" 1000 "$(metric 'kprofs_probe_value program=by.name,map=')"
same "a key has the names of what was written" 1000 \
	"$(metric "kprofs_probe_value program=by.name,map=by,comm=$NAME,pid=$CALLER")"
same "a negative value" -499 "$(metric 'kprofs_probe_value program=by-name,map=least')"
same "the sum of stats()" -500500 "$(metric 'kprofs_probe_sum_value program=by-name,map=all')"
same "the count of avg()" 1000 "$(metric 'kprofs_probe_count_value program=by-name,map=mean')"
same "a text" 1 "$(metric "kprofs_probe_text_info program=by-name,map=who,value=$NAME")"
hist='kprofs_probe_distribution'
same "the histogram's bucket of 0" 1 "$(metric "${hist}_bucket program=by-name,map=h,le=0")"
same "of 2 and 3, with those before" 4 "$(metric "${hist}_bucket program=by-name,map=h,le=3")"
same "of 512 to 1023" 1000 "$(metric "${hist}_bucket program=by-name,map=h,le=1023")"
same "its count" 1000 "$(metric "${hist}_count program=by-name,map=h")"
same "its sum" 499500 "$(metric "${hist}_sum program=by-name,map=h")"
row='program=by-name,map=rows,arg1=a\"b\\x5cc,arg2=1'
same "a linear row" 400 "$(metric "${hist}_bucket $row,le=399")"
same "the last row ends where lhist() ends" 900 "$(metric "${hist}_bucket $row,le=899")"
same "all rows" 1000 "$(metric "${hist}_bucket $row,le=+Inf")"
same "negative numbers are below 0" 1000 "$(metric "${hist}_bucket program=by-name,map=minus,le=-1")"
same "and have no sum" "" "$(metric "${hist}_sum program=by-name,map=minus")"
same "rows from below 0 on" 5 "$(metric "${hist}_bucket program=by-name,map=low,le=4")"
same "have a sum if no number was below" 499500 "$(metric "${hist}_sum program=by-name,map=low")"
check "a stack is one line" grep -q '^kprofs_probe_value program=by-name,map=stack,kstack=[^ ]* 1000$' "$WORK/metrics"
same "both programs have their counters" 2 "$(grep -c '^kprofs_probes_keys program=by.name ' "$WORK/metrics")"

# more keys than a reader can take are counted
put probes/many "BEGIN { @[1] = 1; } syscall:getppid:entry /comm == \"$NAME\"/ { @i++; @many[@i] = hist(1 << 62); }"
ASAN_OPTIONS=$no_leaks "$CALLS" 0 3000 </dev/null >"$WORK/out" || fail "the program failed"
read_metrics
# that of @[1] is another one; a new key may find no memory while many come at once
same "what is left out is counted" "$(($(stat_of probes.many.keys) - 1))" "$(($(grep -c "^${hist}_count program=many,map=many" "$WORK/metrics") +
	$(metric kprofs_probe_keys_left_out)))"
check "some are left out" [ "$(metric kprofs_probe_keys_left_out)" -gt 0 ]
