#!/bin/bash
# SPDX-License-Identifier: MIT
# threads: 60 processes of one user read a view repeatedly, which needs more threads than there are.
# Another user who reads the same view waits for few of them, and root for fewer: users are served in turn.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

READERS=60
# what is finished of the first user's while another one waits, and while the other one's is made: of as
# long views two, since the first user has all threads but one; and those whose answers were on their way
MOST=20

if [ "$(id -u)" != 0 ] || ! command -v python3 >/dev/null; then
	echo "not tried: only root can become another user; python3 is needed"
	exit 77
fi
chmod 711 "$WORK"

serve -o allow_other,gid=65534,mode=0640
put kpctl 'event cpu-clock:freq=4000'
if ! put kpctl start; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
has_samples() {
	[ "$(stat_of samples.received)" -gt 1000 ]
}
wait_for has_samples
put kpctl stop

for other in 65533 0; do
	timeout 120 python3 "${srcdir:-.}/tests/hostile/viewer.py" 65534 $READERS $other "$MNT/views/perf.data" 9 \
		>"$WORK/turns" || fail "the view for uid $other: status $?"
	same "turns of uid $other" 9 "$(wc -l <"$WORK/turns")"
	# the middle one: a machine that is busy otherwise may disturb some
	median=$(sort -n "$WORK/turns" | sed -n '5s/ .*//p')
	check "views of uid 65534 while uid $other waited for one: $median" [ "${median:-99}" -le $MOST ]
	echo "uid $other: others' views meanwhile, ms: $(sort -n "$WORK/turns" | tr '\n' ',')"
done
