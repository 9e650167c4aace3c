#!/bin/bash
# SPDX-License-Identifier: MIT
# load: a saved capture that is written to a session's file load is what kpdata and views of the session show;
# what is no capture is refused, and the session keeps what it had.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

kprof=$PWD/kprof
# shellcheck source=tests/fs/hosts_lib.sh
. "${srcdir:-.}/tests/fs/hosts_lib.sh"
make_capture one alpha $A web=30 db=10
make_capture two beta $B web=50
cat "$WORK/one" "$WORK/two" >"$WORK/both"
make_capture large beta $B web=60000 # 2 MiB

[ "$(id -u)" != 0 ] || chmod 711 "$WORK"
# shellcheck disable=SC2046 # no word, or two
serve $([ "$(id -u)" != 0 ] || echo -o allow_other)
WEB=$MNT/sessions/web
mkdir "$WEB" || fail "mkdir"
same "at first nothing is loaded" "" "$(cat "$WEB/load")"

# ---- what is loaded -------------------------------------------------------------------------------

# shown FILE: the session's capture is that of a file
shown() {
	cat "$WEB/kpdata" | cmp -s "$WORK/$1" - || fail "kpdata is not $1"
}
cp "$WORK/one" "$WEB/load" || fail "cp: $(tail -n 1 "$WEB/kperr")"
shown one
same "load" "$(stat -c %s "$WORK/one") bytes" "$(cat "$WEB/load")"
same "the size of kpdata" "$(stat -c %s "$WORK/one")" "$(stat -c %s "$WEB/kpdata")"
same "by/host" alpha "$(ls "$WEB/views/by/host")"
same "by/comm" "db web" "$(ls "$WEB/views/by/comm" | xargs)"
for view in flat folded tree; do
	same "$view" "$("$kprof" convert -t $view "$WORK/one" | grep -v '^#' | cksum)" "$(grep -v '^#' "$WEB/views/$view" | cksum)"
done
cat "$WORK/one" "$WORK/two" >"$WEB/load" || fail "cat of two: $(tail -n 1 "$WEB/kperr")"
shown both
same "two machines" "alpha beta" "$(ls "$WEB/views/by/host" | xargs)"
same "one of them" "$("$kprof" convert -t folded "$WORK/two")" "$(cat "$WEB/views/by/host/beta/folded")"
same "kprof report" "$("$kprof" report --by host,process -n "$WORK/one" "$WORK/two")" "$("$kprof" report --by host,process -n -m "$WEB")"
# bytes in pieces that are no records, by two programs of one open file
(head -c 100 "$WORK/both" && tail -c +101 "$WORK/both") | dd bs=7 status=none of="$WEB/load" || fail "in pieces"
shown both
cp "$WORK/two" "$WEB/load" || fail "cp of another"
shown two

# times are those of the capture: of its newest sample, and by its own clock
# the samples are one a ms from 10 s on, which are 1700000000 s since 1970
samples() {
	awk '{ n += $NF } END { print n + 0 }' "$WEB/views/$1/folded"
}
same "the last 5 ms" 6 "$(samples last/5ms)"
same "since a date" 30 "$(samples since/@1700000000.02)"
same "until" 30 "$(samples until/10.03)"
same "since and until" 10 "$(samples since/10.01/until/10.02)"
# a snapshot of it is the same capture, byte for byte
echo 'snapshot kept' >"$WEB/kpctl" || fail "snapshot: $(tail -n 1 "$WEB/kperr")"
check "a snapshot of it" cmp "$WORK/two" "$MNT/sessions/kept/kpdata"
same "its views" "$(ls "$WEB/views")" "$(ls "$MNT/sessions/kept/views")"
rmdir "$MNT/sessions/kept" || fail "rmdir of the snapshot"
mkdir "$MNT/sessions/old" && cp "$WORK/one" "$MNT/sessions/old/load" || fail "a second session"
cat "$WEB/views/versus/old/flat" >"$WORK/versus" || fail "versus: $(tail -n 1 "$WEB/kperr")"
check "the difference has both" grep -q "db" "$WORK/versus"

# kpstat counts its samples, which are of no event and CPU of this session, and those that its LOST records
# report; a file may have as many events and CPUs as records
echo 'prof_qlimit 8192' >"$WEB/kpctl"
python3 - "$WORK/one" "$WORK/many" <<'END' || fail "many events"
import struct, sys
with open(sys.argv[1], "rb") as file:
    out = bytearray(file.read())
for i in range(200000, 0, -1):
    out += bytes([2, 32]) + struct.pack("<QQIHHQ", i, 10**10, 100, i % 65536, 1, 0x1000)
for reason in (0, 1, 2, 3, 9):
    out += bytes([66, 20]) + struct.pack("<IIIQ", 0, 1, reason, 1000)
open(sys.argv[2], "wb").write(out)
END
cp "$WORK/many" "$WEB/load" || fail "many events: $(tail -n 1 "$WEB/kperr")"
shown many
cp "$WEB/kpstat" "$WORK/stat"
same "received" 200040 "$(sed -n 's/^samples.received //p' "$WORK/stat")"
same "lost in rings" 1000 "$(sed -n 's/^samples.lost_ring //p' "$WORK/stat")"
same "lost in the queue" 2000 "$(sed -n 's/^samples.lost_queue //p' "$WORK/stat")"
same "none is of an event or CPU of this machine" 0 \
	"$(grep -Ec '^event\.[0-9]+\.cpu\.|^cpu\.[0-9]+\.(samples|lost) [1-9]' "$WORK/stat")"
cp "$WORK/two" "$WEB/load" || fail "cp of another"
echo 'prof_qlimit 4096' >"$WEB/kpctl"

# ---- what is refused ------------------------------------------------------------------------------

# refused REASON FILE: an error of cp or dd, the reason in kperr, and the capture as it was
refused() {
	! cp "$WORK/$2" "$WEB/load" 2>/dev/null || fail "$2 is accepted"
	tail -n 1 "$WEB/kperr" | grep -qF -- "$1" || fail "$2: $(tail -n 1 "$WEB/kperr")"
	shown two
}
head -c 5000 /dev/urandom >"$WORK/random"
refused "this is no copy of kpdata" random
printf 'PERFILE2 and so on, for longer than a record' >"$WORK/perf"
refused "this is no copy of kpdata" perf
tail -c +40 "$WORK/one" >"$WORK/begins_later"
refused "this is no copy of kpdata" begins_later
make_capture headless alpha $A none web=3
refused "does not begin with a CLOCK record" headless
head -c -3 "$WORK/one" >"$WORK/cut"
refused "bytes of a record are left" cut
size=$(stat -c %s "$WORK/one")
{ cat "$WORK/one"; printf '\x42\x02xx'; cat "$WORK/two"; } >"$WORK/short" # a LOST of two bytes
refused "offset $size: type 66 with too few bytes" short
{ cat "$WORK/one"; printf '\x00\x00'; } >"$WORK/zero"
refused "offset $size: no record begins here" zero
{ cat "$WORK/one"; printf '\x02\xff\xff\xff\xff\x0f'; } >"$WORK/impossible"
refused "offset $size: type 2 with an impossible size" impossible
{ cat "$WORK/one"; python3 -c 'import sys; sys.stdout.buffer.write(b"\x7f\x80\x80\x08" + bytes(131072))'; } >"$WORK/wide"
refused "offset $size: a record of 131072 bytes" wide
python3 -c 'import struct, sys
payload = struct.pack(">QQI", 1, 1, 2) + b"CLOCK_MONOTONIC\0" + bytes(4)
sys.stdout.buffer.write(bytes([71, len(payload)]) + payload)' >"$WORK/other_order"
refused "the byte order of another machine" other_order
# what counts is the memory that it takes
echo "prof_qlimit 1024" >"$WEB/kpctl"
check "the file has more than prof_qlimit" test "$(stat -c %s "$WORK/large")" -gt $((1500 * 1024))
cp "$WORK/large" "$WEB/load" || fail "it fits when it is packed: $(tail -n 1 "$WEB/kperr")"
shown large
memory=$(sed -n 's/^bytes.memory //p' "$WEB/kpstat")
check "its memory: $memory" test "$memory" -le $((1024 * 1024))
cp "$WORK/two" "$WEB/load" || fail "cp of another"
python3 - "$WORK/one" "$WORK/packs_badly" <<'END' || fail "stacks by chance"
import random, struct, sys
random.seed(1)
with open(sys.argv[1], "rb") as file:
    out = bytearray(file.read())
for i in range(40000):
    out += bytes([2, 24 + 6 * 8]) + struct.pack("<QQIHH", 1, 10**10 + i, 100, 0, 6) + random.randbytes(6 * 8)
open(sys.argv[2], "wb").write(out)
END
refused "KiB do not fit into prof_qlimit (1024) when they are packed" packs_badly
for ((i = 0; i < 6; i++)); do
	cat "$WORK/large"
done >"$WORK/larger"
refused "more than 8192 KiB, 8 times prof_qlimit" larger
echo "prof_qlimit 4096" >"$WEB/kpctl"

if [ "$(id -u)" = 0 ]; then
	chmod 644 "$WORK/one"
	other() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	}
	if other mkdir "$MNT/sessions/other"; then
		fails_with "Operation not permitted" other dd if="$WORK/one" of="$MNT/sessions/other/load" status=none
		same "nothing of it is loaded" "" "$(cat "$MNT/sessions/other/kpdata")"
		other rmdir "$MNT/sessions/other"
	else
		fail "mkdir of another user"
	fi
	# also where root lets others write
	chmod 777 "$WEB"
	fails_with "Operation not permitted" other dd if="$WORK/one" of="$WEB/load" status=none
	chmod 700 "$WEB"
	shown two
fi

# ---- with a run -----------------------------------------------------------------------------------

fails_with "Device or resource busy" dd if=<(echo start) of="$WEB/kpctl" status=none
check "why" grep -q "a capture that was loaded is held: clear it first" <(tail -n 1 "$WEB/kperr")
fails_with "Device or resource busy" dd if=<(echo 0x1000) of="$WEB/kpdata" status=none
shown two
cp "$WORK/large" "$WEB/load" || fail "2 MiB: $(tail -n 1 "$WEB/kperr")"
shown large
fails_with "Device or resource busy" dd if=<(echo prof_qlimit 1024) of="$WEB/kpctl" status=none
printf 'mode overwrite\n' >"$WEB/kpctl"
fails_with "Device or resource busy" dd if=<(echo prof_qlimit 1024) of="$WEB/kpctl" status=none
shown large
exec 4<"$WEB/kpdata"
cat <&4 >/dev/null
echo clear >"$WEB/kpctl" || fail "clear"
same "nothing is left" "" "$(cat "$WEB/kpdata" "$WEB/load")"
if echo "event cpu-clock:freq=99" >"$WEB/kpctl" && echo start >"$WEB/kpctl"; then
	! cp "$WORK/one" "$WEB/load" 2>/dev/null || fail "a running profiler takes it"
	check "why it does not" grep -q "not while the profiler runs: stop it first" <(tail -n 1 "$WEB/kperr")
	echo stop >"$WEB/kpctl"
	same "who has read what was loaded gets the CLOCK of this machine" G "$(head -c 1 <&4)"
	cp "$WORK/one" "$WEB/load" || fail "after the stop: $(tail -n 1 "$WEB/kperr")"
	shown one
else
	echo "no sampling here: $(tail -n 1 "$WEB/kperr")"
fi
exec 4<&-

# ---- damaged files, and a session that ends -------------------------------------------------------

python3 - "$WORK/both" "$WEB/load" "$WEB/views/folded" "${LOAD_MUTATIONS:-300}" <<'END' || fail "damaged files"
import random, sys
path, load, view, count = sys.argv[1:]
whole = open(path, "rb").read()
random.seed(1)
taken = 0
for i in range(int(count)):
    data = bytearray(whole)
    for _ in range(random.randrange(1, 4)):
        data[random.randrange(len(data))] = random.randrange(256)
    if i % 3 == 0:
        del data[random.randrange(len(data)):]
    try:
        with open(load, "wb", buffering=0) as file:
            at = 0
            while at < len(data):
                at += file.write(data[at:at + random.randrange(1, 3000)])
        taken += 1
    except OSError:
        pass
    if i % 10 == 0:
        try:
            open(view, "rb").read()
        except OSError:
            pass
print(f"of {count} damaged files {taken} were taken")
END
check "the server goes on" kill -0 "$SERVER"
exec 3>"$WEB/load"
head -c 200 "$WORK/one" >&3 2>/dev/null # a close of its descriptor finds half a record
rmdir "$WEB" || fail "rmdir"
tail -c +201 "$WORK/one" >&3 2>/dev/null
exec 3>&- 2>/dev/null
same "the other session is as it was" "$(cksum <"$WORK/one")" "$(cksum <"$MNT/sessions/old/kpdata")"
serve_end
