#!/bin/bash
# SPDX-License-Identifier: MIT
# ctlwords: bad input for every word of every control file; see ctlwords.py.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

serve 2>"$WORK/server.log"
check "bad input" timeout 300 python3 "${srcdir:-.}/tests/fs/ctlwords.py" "$KPROFS" "$MNT"
check "ls answers" timeout 5 ls -l "$MNT" >"$WORK/ls"
: >"$WORK/server.log" # refusals, as many as there were
serve_end
