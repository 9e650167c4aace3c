#!/bin/bash
# SPDX-License-Identifier: MIT
# event_words: kpctl accepts each event that kprof list shows, also those of another processor. kpstat and
# kpdata distinguish two events whose only difference is config1. `stack` accepts its range of depths.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=${KPROF:-$PWD/kprof}

# takes_all: each event of the list is written to kpctl, with each of its unit masks. A tracepoint
# is written as its name stands there.
takes_all() {
	"$KPROF" list -j >"$WORK/list" || fail "kprof list"
	python3 - "$MNT/kpctl" "$WORK/list" <<'END' || fail "$1: kpctl refuses what kprof list shows"
import json, os, sys

specs = []
for event in json.load(open(sys.argv[2]))["events"]:
    name, masks = event["name"], event["umasks"]
    if not masks or any(mask["default"] for mask in masks):
        specs.append(name)
    specs += [f"{name}:{mask['name']}" for mask in masks]
refused = []
for spec in specs:
    kpctl = os.open(sys.argv[1], os.O_WRONLY)
    try:
        os.write(kpctl, f"event {spec}\n".encode())
    except OSError:
        refused.append(spec)
    os.close(kpctl)
print(len(specs), "events,", len(refused), "refused:", *refused[:20])
sys.exit(1 if refused or len(specs) < 20 else 0)
END
}

serve
if python3 -c '' 2>/dev/null; then
	takes_all "this machine"
fi

# `none` has no frames whose number could be limited; what is read can be written back
fails_with "Invalid argument" put kpctl 'stack none 5'
check "the reason" grep -q "'stack none 5': none records no frames: it takes no DEPTH; usage: stack " \
	"$MNT/kperr"
same "it changed nothing" "stack both" "$(sed -n 's/^\(stack [a-z]*\) .*/\1/p' "$MNT/kpctl")"
put kpctl 'stack none' || fail "stack none"
same "it reads as it is written" "stack none" "$(grep ^stack "$MNT/kpctl")"
cat "$MNT/kpctl" >"$WORK/settings"
cat "$WORK/settings" >"$MNT/kpctl" || fail "what is read is refused: $(tail -n 1 "$MNT/kperr")"
put kpctl 'stack user 5' || fail "stack user 5"
same "another mode" "stack user 5" "$(grep ^stack "$MNT/kpctl")"
serve_end

# ---- Skylake's events, on any machine -----------------------------------------------------------

export LIBPFM_FORCE_PMU=skl
serve
if python3 -c '' 2>/dev/null; then
	takes_all Skylake
fi
# libpfm4 and Intel's tables: event C6H, umask 01H, and 11H or 12H in the register that config1 stands for
put kpctl 'event FRONTEND_RETIRED:DSB_MISS,FRONTEND_RETIRED:L1I_MISS' || fail "event"
same "config" "454 454" "$(stat_of event.1.config) $(stat_of event.2.config)"
same "config1" "17 18" "$(stat_of event.1.config1) $(stat_of event.2.config1)"
same "config2" "0 0" "$(stat_of event.1.config2) $(stat_of event.2.config2)"
put kpdata 4096 || fail "an address"
"$KPROF" dump "$MNT/kpdata" >"$WORK/dump" || fail "kprof dump"
for row in 'number=1 .* text="FRONTEND_RETIRED:DSB_MISS" config1=0x11 config2=0x0' \
	'number=2 .* text="FRONTEND_RETIRED:L1I_MISS" config1=0x12 config2=0x0'; do
	check "EVENT records" grep -q "^[0-9]* event $row\$" "$WORK/dump"
done
