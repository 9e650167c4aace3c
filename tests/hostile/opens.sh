#!/bin/bash
# SPDX-License-Identifier: MIT
# opens: a user who may read the tree opens each file 20,000 times and keeps the descriptors, and those of as
# many folders of views. Meanwhile root starts and stops a run, and opens kpdata, a view and a pipe; after the
# close the memory is back.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

OPENS=20000
PROCESSES=4
# what may stay: closed files are given back 4 MiB at a time (fs/openfile.c), the rest is of the threads
# that were needed, and of libfuse
STAYS_KB=$((12 * 1024))

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null || ! command -v python3 >/dev/null; then
	echo "not tried: only root can become another user; setpriv and python3 are needed"
	exit 77
fi
chmod 711 "$WORK"

# open_as UID PATH: in the background, OPENS times in all; what the processes got goes to $WORK/got.N
attackers=()
open_as() {
	local i
	attackers=()
	rm -f "$WORK"/got.* "$WORK/end"
	mkfifo "$WORK/end"
	for i in $(seq $PROCESSES); do
		python3 "${srcdir:-.}/tests/hostile/opener.py" "$1" $((OPENS / PROCESSES)) "$MNT/$2" \
			<"$WORK/end" >"$WORK/got.$i" &
		attackers+=($!)
	done
	exec 9>"$WORK/end"
}

all_tried() {
	[ "$(cat "$WORK"/got.* | wc -l)" = "$PROCESSES" ]
}

# sum of the first words: what was granted
granted() {
	awk '{ n += $1 } END { print n + 0 }' "$WORK"/got.*
}

all_closed() {
	[ "$(stat_of fs.open_files)" -le 1 ]
}

close_all() {
	exec 9>&-
	wait "${attackers[@]}"
	WAIT=60 wait_for all_closed
}

# a sanitizer keeps what was freed
memory_is_back() {
	grep -q 'lib[at]san' "/proc/$SERVER/maps" || [ "$(resident_kb)" -le $((before + STAYS_KB)) ]
}

# what root does meanwhile
root_works() {
	local what=$1 got
	put kpctl start || fail "$what: start: $(tail -n 1 "$MNT/kperr")"
	put kpctl stop || fail "$what: stop"
	exec 8<"$MNT/kpdata" || fail "$what: kpdata can't be opened by root"
	[ "$(head -c 16 <&8 | wc -c)" = 16 ] || fail "$what: kpdata can't be read by root"
	exec 8<&-
	exec 8<"$MNT/kptrace_pipe" || fail "$what: kptrace_pipe can't be opened by root"
	exec 8<&-
	timeout 60 cat "$MNT/views/flat" >"$WORK/view" || fail "$what: views/flat for root"
	timeout 60 cat "$MNT/views/ctf/metadata" >"$WORK/view" || fail "$what: views/ctf for root"
	got=$(timeout 60 cat "$MNT/kptrace") || fail "$what: kptrace for root"
	same "$what: kptrace" hello "${got##*: }"
}

serve -o allow_other,gid=65534,mode=0640
put kptrace hello
if ! put kpctl start; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
wait_for eval '[ "$(stat_of samples.received)" -gt 0 ]'
put kpctl stop
root_works "before"

# a user's bounds: fs/quota.c
descriptors=$(sed -n 's/^Max open files *\([0-9]*\) .*/\1/p' "/proc/$SERVER/limits")
views=$((descriptors / 16 / 4))
[ "$views" -le 1024 ] || views=1024
pipes=$((64 + 2 * $(find "$MNT/cpu" -mindepth 1 -maxdepth 1 | wc -l)))
for row in "views/ctf/metadata 1024" "kptrace_pipe $pipes" "kpdata 16" "kpstat 1024" "events 1024" \
	"views/flat $views"; do
	read -r path most <<<"$row"
	before=$(resident_kb)
	open_as 65534 "$path"
	WAIT=120 wait_for all_tried
	held=$(resident_kb)
	check "opens of $path that were granted: $(granted)" [ "$(granted)" -le "$most" ]
	check "some were" [ "$(granted)" -gt 0 ]
	check "$path: too many open files: $(cat "$WORK"/got.*)" grep -q EMFILE "$WORK"/got.*
	root_works "$path is held"
	setpriv --reuid=65533 --regid=65534 --clear-groups timeout 60 cat "$MNT/kpstat" >"$WORK/view" ||
		fail "$path: a third user can't read kpstat"
	check "root sees why" grep -q "uid 65534 .*a user may have" "$MNT/kperr"
	close_all
	wait_for memory_is_back
	echo "$path: $(granted) of $OPENS; memory before, held, after: $before $held $(resident_kb) KiB"
done

# ---- folders of views, by their names only ----------------------------------------------------------

folder_of() {
	setpriv --reuid="$1" --regid=65534 --clear-groups test -d "$MNT/views/by/exe/$2"
}
before=$(resident_kb)
open_as 65534 'views/by/exe/*'
WAIT=120 wait_for all_tried
held=$(resident_kb)
# with views/by and views/by/exe, of which one or both may be another user's
check "folders of views that one user holds: $(granted)" [ "$(granted)" -ge 4094 -a "$(granted)" -le 4096 ]
check "too many: $(cat "$WORK"/got.*)" grep -q EMFILE "$WORK"/got.*
root_works "folders are held"
check "a folder for root" test -d "$MNT/views/by/exe/of-root"
check "a folder for another user" folder_of 65533 of-another
check "no further folder" eval '! folder_of 65534 one-more'
check "root sees why" grep -q "uid 65534 .*a user may have 4096 folders of views in use" "$MNT/kperr"
close_all
wait_for folder_of 65534 one-more
wait_for memory_is_back
echo "views/by/exe/*: $(granted) of $OPENS; memory before, held, after: $before $held $(resident_kb) KiB"

check "refusals are counted" [ "$(stat_of fs.quota_refused)" -gt "$OPENS" ]
