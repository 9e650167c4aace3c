#!/bin/bash
# SPDX-License-Identifier: MIT
# stream: kpdata is a stream: without a position, with a cursor for each open, and each waiting read ends.
KPROFS=${KPROFS_CANNED:-$PWD/tests/fs/kprofs_canned}
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

records() { # FIRST LAST
	seq -f 'record %08.0f' "$1" "$2"
}

waiting_reads_are() {
	[ "$(stat_of fs.waiting_reads)" = "$1" ]
}

serve
check "kpdata call by call" timeout 120 python3 "${srcdir:-.}/tests/fs/stream.py" "$MNT"
serve_end

# programs that copy files, also those that try sendfile or mmap first
serve
put kpctl 'prof_qlimit 10000'
records 1 10000 >"$WORK/want"
same "size of what is held" 160000 "$(stat -c %s "$MNT/kpdata")"
same "bytes that cat asks for at once" 524288 "$(stat -c %o "$MNT/kpdata")"
copies='cat cp dd'
command -v busybox >/dev/null && copies="$copies busybox_cat busybox_cp"
for copy in $copies python; do
	rm -f "$WORK/got"
	case $copy in
	cat) cat "$MNT/kpdata" >"$WORK/got" ;;
	cp) cp "$MNT/kpdata" "$WORK/got" ;;
	dd) dd if="$MNT/kpdata" of="$WORK/got" bs=5000 status=none ;;
	busybox_cat) busybox cat "$MNT/kpdata" >"$WORK/got" ;;
	busybox_cp) busybox cp "$MNT/kpdata" "$WORK/got" ;;
	python) python3 -c 'import shutil, sys; shutil.copyfile(*sys.argv[1:])' \
		"$MNT/kpdata" "$WORK/got" ;;
	esac || fail "$copy of kpdata"
	check "what $copy gets" cmp "$WORK/want" "$WORK/got"
done

# SIGTERM: a waiting reader gets what is held and then end of file, and the server ends
put kpctl start
cat "$MNT/kpdata" >"$WORK/got" &
reader=$!
wait_for waiting_reads_are 1
serve_end TERM
ended_well "the reader at SIGTERM" "$reader"
check "with all of it" cmp "$WORK/want" "$WORK/got"

# the same at a lazy unmount, of which the kernel notifies no process
serve
put kpctl 'prof_qlimit 10000'
put kpctl start
cat "$MNT/kpdata" >"$WORK/got" &
reader=$!
wait_for waiting_reads_are 1
umount -l "$MNT"
ended_well "the reader at umount -l" "$reader"
check "with all of it" cmp "$WORK/want" "$WORK/got"
ended_well "the server at umount -l" "$SERVER"
SERVER=
