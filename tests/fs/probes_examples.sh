#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_examples: the programs of examples/ that OpenBSD has too are loaded as they are, and show work that is known.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

EXAMPLES=$(cd "${srcdir:-.}/examples" && pwd)

serve
need_probe first 'BEGIN { @ = 1; }'
# one that spins in user space and, by its system calls, in the kernel
bash -c 'while :; do : </dev/null; done' &
SPINS=$!
cp "$EXAMPLES/kprofile.bt" "$MNT/probes/kernel" || fail "kprofile.bt: $(tail -n 5 "$MNT/kperr")"
cp "$EXAMPLES/runqlat.bt" "$MNT/probes/runqlat" || fail "runqlat.bt: $(tail -n 5 "$MNT/kperr")"
sed "s/\$1/$SPINS/" "$EXAMPLES/uprofile.bt" >"$WORK/uprofile.bt"
cp "$WORK/uprofile.bt" "$MNT/probes/user" || fail "uprofile.bt: $(tail -n 5 "$MNT/kperr")"
wait_for grep -q '^    .*+[0-9]*$' "$MNT/probes/kernel"
wait_for grep -q '^    ' "$MNT/probes/user"
wait_for grep -q '^\[[0-9].*|' "$MNT/probes/runqlat"
wait_for grep -q '^@by\[..*\]: [0-9]' "$MNT/probes/runqlat"
put probes/runqlat off
check "what was under way is not in the answer" [ "$(grep -c '^@since' "$MNT/probes/runqlat")" = 0 ]
kill "$SPINS"
wait "$SPINS" 2>/dev/null
# with its argument, as the script says
"$PWD/kprof" probe -n "$EXAMPLES/uprofile.bt" 1 || fail "uprofile.bt with an argument"
fails_with "No such file" "$PWD/kprof" probe -n "$EXAMPLES/no.bt"
