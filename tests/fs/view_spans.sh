#!/bin/bash
# SPDX-License-Identifier: MIT
# view_spans: views/by/span/PROVIDER:NAME has the samples that were taken while the span was open in the thread of
# the sample, and no others.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

serve -o "socket=$KPROF_SOCKET"
put events/all 1
put kpctl "event cpu-clock:u:freq=1999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
"$PWD/tests/fs/spanning" 60 &
pid=$!
# the same functions in a program that writes no events
KPROF_SOCKET=$WORK/none "$PWD/tests/fs/spanning" 60 &
wait $pid || fail "spanning"
wait $!
put kpctl stop

# samples PATH FUNCTION: those with this function in their stack
samples() {
	cat "$MNT/views/$1/folded" 2>"$WORK/said" | awk -v f="$2" '$0 ~ f { n += $NF } END { print n + 0 }'
}

check "spans are listed" grep -qx test:half <(ls "$MNT/views/by/span")
check "those of the program are sampled" [ "$(samples "by/pid/$pid" within_span)" -gt 20 ]
check "and what is no span" [ "$(samples "by/pid/$pid" outside_span)" -gt 10 ]
same "all that is within the span" "$(samples "by/pid/$pid" within_span)" "$(samples by/span/test:half within_span)"
same "nothing else" 0 "$(samples by/span/test:half outside_span)"
nested=$(samples by/span/test:nested within_span)
check "a part of it is in the nested one" [ "$nested" -gt 5 -a "$nested" -lt "$(samples by/span/test:half within_span)" ]
same "with a query" "$(samples by/span/test:half within_span)" \
	"$(samples "by/pid/$pid/by/span/test:half" within_span)"
same "its processes" "$pid" "$(ls "$MNT/views/by/span/test:half/by/pid")"
fails_with "No data available" cat "$MNT/views/by/span/test:none/flat"
put kptrace_ctl clear
fails_with "No data available" cat "$MNT/views/by/span/test:half/flat"
serve_end
