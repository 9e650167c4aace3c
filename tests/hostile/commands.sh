#!/bin/bash
# SPDX-License-Identifier: MIT
# commands: a user who may write to kpctl queues 200 commands while none is carried out. 64 wait, the others
# are refused at once, and root's command waits beside them.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

if [ "$(id -u)" != 0 ] || ! command -v python3 >/dev/null; then
	echo "not tried: only root can become another user; python3 is needed"
	exit 77
fi
chmod 711 "$WORK"
serve -o allow_other,uid=65534
timeout 120 python3 "${srcdir:-.}/tests/hostile/commands.py" "$SERVER" "$MNT/kpctl" 65534 200 >"$WORK/said"
status=$?
[ "$status" != 77 ] || { cat "$WORK/said"; exit 77; }
same "the user's commands and root's" $'root: ok\nuser: EAGAIN=136 ok=64' "$(sort "$WORK/said")"
check "kperr names the limit" grep -q 'a user may have 64 commands waiting' "$MNT/kperr"
same "refusals" 136 "$(stat_of fs.quota_refused)"
