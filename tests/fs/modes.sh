#!/bin/bash
# SPDX-License-Identifier: MIT
# modes: Each user can do what the mode of a file allows. No user, root included, can create or link
# files.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# the files of kprofs(4), in the order of the listing
files='help kpctl kpdata load kptrace kptrace_ctl kprintx mpstat mpstat-raw kpstat kperr'
read_only='help kptrace_pipe kpstat kperr'

# the files at the top, folders left out
list_files() {
	find "$MNT" -maxdepth 1 -type f -printf '%f\n' | sort
}

mode_of() {
	stat -c %A "$MNT/$1"
}

# raw NAME FLAGS: open(2) with these flags, nothing else
raw() {
	python3 -c '
import os, sys
fd = os.open(sys.argv[1], eval(sys.argv[2], vars(os)))
os.close(fd)' "$MNT/$1" "$2"
}

# without_rights COMMAND...: as a user without any right of root
without_rights() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

can_read() { without_rights head -c 1 "$MNT/$1" >"$WORK/got" 2>&1; }
can_write() { without_rights dd if=/dev/null "of=$MNT/$1" conv=notrunc status=none 2>"$WORK/got"; }

# ---- the default ---------------------------------------------------------------------------------

serve
same "the listing" "$(printf '%s\n' $files | sort)" "$(list_files)"
same "mode of the top" dr-xr-x--- "$(mode_of .)"
for name in $files; do
	case " $read_only " in
	*" $name "*) same "mode of $name" -r-------- "$(mode_of "$name")" ;;
	*) same "mode of $name" -rw------- "$(mode_of "$name")" ;;
	esac
	same "owner of $name" "$(id -u):$(id -g)" "$(stat -c %u:%g "$MNT/$name")"
	ino=$(stat -c %i "$MNT/$name")
	same "inode number of $name" "$ino" "$(stat -c %i "$MNT/$name")"
	same "inode number of $name in the listing" "$ino" \
		"$(ls -i "$MNT" | awk -v n="$name" '$2 == n { print $1 }')"
done
same "mode of kptrace_pipe, which is not listed" -r-------- "$(mode_of kptrace_pipe)"
same "no number is another one's" "" "$(ls -i "$MNT" | awk '{ print $1 }' | sort | uniq -d)"

# help names every file, but those of each CPU and event, and every word
for name in $(cd "$MNT" && find . -type f ! -path './cpu/*' ! -path './views/ctf/*' \
	! -path './events/kernel/*:*' ! -path './events/kernel/syscalls' -printf '%P\n') kptrace_pipe; do
	check "help of $name" grep -q "^$name  *[A-Za-z]" "$MNT/help"
done
while IFS=$'\t' read -r name word _; do
	check "help has $word of $name" grep -qE "^    ([A-Za-z]+[|])*$word[| ]" "$MNT/help"
done < <("$KPROFS" --dump-words)

# what can't be created, by which name it is looked for
for name in kpctrl views/flatt cpu/x; do
	fails_with "Operation not permitted" raw "$name" "O_WRONLY | O_CREAT"
	check "kperr says it of $name" grep -q "'${name##*/}' is not there and can't be created" "$MNT/kperr"
done
check "with the folder and the nearest name" grep -q "views: 'flatt' .* created; nearest: flat\$" \
	"$MNT/kperr"
fails_with "Operation not permitted" mkdir "$MNT/kpstats"
check "a folder" grep -q "/: 'kpstats' .* created; nearest: kpstat" "$MNT/kperr"
for make in "mkdir" "ln -s x" "mkfifo"; do
	# shellcheck disable=SC2086 # words
	fails_with "Operation not permitted" $make "$MNT/probes/made_by_${make%% *}"
	check "$make says why" grep -q "probes: 'made_by_${make%% *}' can't be created: only files can, by writing them\$" \
		"$MNT/kperr"
done
put events/test:step 1
fails_with "Operation not permitted" put events/step 1
check "the form of an event's name" grep -q \
	"events: 'step' is not there .*: a name is PROVIDER:EVENT, .*; nearest: test:step\$" "$MNT/kperr"
fails_with "Permission denied" cat "$MNT/events/reset"
check "the whole path" grep -q "events/reset: it can't be read; usage: " "$MNT/kperr"

# no callback: EACCES for every user, root too
for name in $read_only; do
	for flags in O_WRONLY O_RDWR 'O_WRONLY | O_TRUNC' 'O_WRONLY | O_APPEND'; do
		fails_with "PermissionError: [Errno 13]" raw "$name" "$flags"
	done
	fails_with "Permission denied" truncate -s 0 "$MNT/$name"
	same "why" "$name: it can't be written to" \
		"$(tail -n 1 "$MNT/kperr" | cut -d ' ' -f 6-)"
done

# what a shell does to write works
check "ways to open" python3 -c '
import os, sys
for flags in ("O_WRONLY", "O_RDWR", "O_WRONLY | O_CREAT | O_TRUNC", "O_RDWR | O_TRUNC",
              "O_WRONLY | O_APPEND", "O_WRONLY | O_NONBLOCK", "O_RDONLY | O_NONBLOCK",
              "O_RDONLY | O_CREAT"):
    for name in sys.argv[1:]:
        os.close(os.open(name, eval(flags, vars(os))))
' "$MNT"/{kpctl,kprintx,kptrace,kptrace_ctl,mpstat,mpstat-raw,kpdata}
echo on >>"$MNT/kprintx"
same "appending is writing" on "$(cat "$MNT/kprintx")"
check "truncation to nothing is nothing" truncate -s 0 "$MNT/kprintx"
same "kprintx after it" on "$(cat "$MNT/kprintx")"

# refused to every user
not_permitted="Operation not permitted"
for name in kprintx kpstat; do
	fails_with "$not_permitted" chmod 0644 "$MNT/$name"
	fails_with "$not_permitted" chown 1 "$MNT/$name"
	fails_with "$not_permitted" rm -f "$MNT/$name"
	fails_with "$not_permitted" mv "$MNT/$name" "$MNT/other"
	check "kperr has why" grep -q "/: '$name' can't be renamed\$" "$MNT/kperr"
	fails_with "$not_permitted" ln "$MNT/$name" "$MNT/other"
	check "kperr has why" grep -q " $name: it can't have another name\$" "$MNT/kperr"
	fails_with "$not_permitted" python3 -c 'import os, sys; os.utime(sys.argv[1], (0, 0))' "$MNT/$name"
done
fails_with "$not_permitted" mv -T "$MNT/kprintx" "$MNT/kptrace"
fails_with "$not_permitted" truncate -s 1 "$MNT/kprintx"
fails_with "$not_permitted" truncate -s 1000000 "$MNT/kptrace"
fails_with "$not_permitted" chmod 0777 "$MNT"
fails_with "$not_permitted" mkdir "$MNT/sub"
fails_with "$not_permitted" mkfifo "$MNT/fifo"
fails_with "$not_permitted" ln -s kprintx "$MNT/symlink"
fails_with "$not_permitted" raw newfile 'O_WRONLY | O_CREAT'
fails_with "FileExistsError" raw kprintx 'O_WRONLY | O_CREAT | O_EXCL'
fails_with "No such file" cat "$MNT/newfile"
fails_with "No such file" cat "$MNT/events/none"
fails_with "IsADirectoryError" raw . O_WRONLY
fails_with "Not a directory" ls "$MNT/kprintx/"
fails_with "Operation not supported" python3 -c \
	'import os, sys; os.setxattr(sys.argv[1], "user.a", b"b")' "$MNT/kprintx"
same "nothing has changed" "$(printf '%s\n' $files | sort)" "$(list_files)"

# without allow_other no other user gets in
fails_with "Permission denied" without_rights ls "$MNT"
serve_end

# ---- other users ---------------------------------------------------------------------------------

if [ "$(id -u)" != 0 ]; then
	echo "not tried: other users (only root can become one)"
	exit 0
fi
chmod 711 "$WORK" # so that only our modes count

serve -o allow_other
fails_with "Permission denied" without_rights ls "$MNT"
fails_with "Permission denied" without_rights cat "$MNT/kprintx"
check "0600 is not writable for others" eval '! can_write kprintx'
serve_end

serve -o allow_other,uid=65534,gid=65533
same "the owner" 65534:65533 "$(stat -c %u:%g "$MNT/kpctl")"
same "of the top too" 65534:65533 "$(stat -c %u:%g "$MNT")"
check "the owner lists" without_rights ls "$MNT" >"$WORK/got"
check "the owner reads" can_read kpctl
check "the owner writes" can_write kpctl
check "but not what is read only" eval '! can_write kpstat'
serve_end

serve -o allow_other,mode=0644
same "the top" dr-xr-xr-x "$(mode_of .)"
same "a file" -rw-r--r-- "$(mode_of kptrace)"
same "a read-only file" -r--r--r-- "$(mode_of kpstat)"
check "others read" can_read mpstat
check "others don't write" eval '! can_write mpstat'
serve_end

serve -o allow_other,mode=666
same "the top" dr-xr-xr-x "$(mode_of .)"
same "a file" -rw-rw-rw- "$(mode_of kpdata)"
same "a read-only file never gets w" -r--r--r-- "$(mode_of kperr)"
check "others write" can_write kprintx
check "not to what is read only" eval '! can_write kperr'
without_rights sh -c 'echo bogus >"$1"' - "$MNT/kprintx" 2>"$WORK/got"
same "kperr says who" "uid 65534 kprintx line 1: 'bogus': unknown word; usage: on|off|toggle|NUMBER" \
	"$(tail -n 1 "$MNT/kperr" | sed 's/.* uid/uid/')"

# how often each user was refused: "N UID" a line
refusals_of() {
	sed 's/.* uid \([0-9]*\) .*/\1/' | sort | uniq -c | sed 's/^ *//'
}

put kprintx wrong 2>"$WORK/got"
without_rights sh -c 'i=0; while [ $i -lt 40 ]; do echo bogus >"$1"; i=$((i + 1)); done' - "$MNT/kprintx" \
	2>"$WORK/got"
same "root sees its own refusal behind 40 of another user" "$(printf '1 0\n16 65534')" \
	"$(refusals_of <"$MNT/kperr")"
check "as the first line" eval 'head -n 1 "$MNT/kperr" | grep -q "uid 0 kprintx line 1: .wrong"'
without_rights cat "$MNT/kperr" >"$WORK/got"
same "another user sees the own ones" "16 65534" "$(refusals_of <"$WORK/got")"
same "and their size" "$(wc -c <"$WORK/got")" "$(without_rights stat -c %s "$MNT/kperr")"
serve_end

serve -o mode=0400
same "the top" dr-x------ "$(mode_of .)"
same "a file" -r-------- "$(mode_of kpctl)"
serve_end

serve -o mode=0
same "the top" d--------- "$(mode_of .)"
serve_end
