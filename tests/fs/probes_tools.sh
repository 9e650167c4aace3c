#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_tools: the tools that the package bpftrace installs, those of them that bpftrace can run on this machine, in
# bpftrace and in probes/ at the same time on known work: what they print of it, their counts and rows of histograms
# are equal.
#
# of programs and libraries   what works here (Debian 12)
#   bashreadline, gethostlatency
#   ssllatency, sslsnoop      with the functions of libssl; those of libcrypto that are not exported are left out by
#                             both, since Debian's has no symbols of them
#   threadsnoop               in probes/ alone: it names pthread_create in libpthread, which glibc 2.34 has made a
#                             part of libc; bpftrace attaches to a file in which nothing calls it
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

TOOLS=${TOOLS:-/usr/sbin}
DISK=$PWD/probes_tools.$$
NAMES=${NAMES:-"bitesize cpuwalk execsnoop killsnoop naptime opensnoop pidpersec setuids statsnoop syncsnoop syscount
	writeback"}
# of programs and libraries
FILES=${FILES-"bashreadline gethostlatency ssllatency sslsnoop threadsnoop"}

if ! command -v bpftrace >"$WORK/which" || ! [ -e "$TOOLS/opensnoop.bt" ] || [ "$(id -u)" != 0 ]; then
	echo "needs root, bpftrace and its tools"
	exit 77
fi
serve -o trace_size=16384
need_probe first 'syscall:getppid:entry { @ = count(); }'
rm "$MNT/probes/first"
# While bpftrace attaches uprobes, the kernel waits for each process that maps the library and is held, and the machine
# for the kernel (src/sys/held.h): bpftrace does not look for such a process before, a program of probes/ does.
if put probes/first "uprobe:$BASH:readline { @ = count(); }"; then
	rm "$MNT/probes/first"
	if ! command -v openssl >"$WORK/which"; then
		echo "not tried: those of openssl, which is not installed"
		FILES=${FILES/ssllatency/}
		FILES=${FILES/sslsnoop/}
	fi
	NAMES="$NAMES $FILES"
else
	echo "not tried: $FILES: $(tail -n 1 "$MNT/kperr")"
fi
cat "$MNT/kptrace_pipe" >"$WORK/printed" &
mkdir "$DISK" "$WORK/theirs" "$WORK/ours"
finish() {
	local status=$?
	rm -rf "$DISK"
	(exit "$status")
	clean_up
}
trap finish EXIT

if [[ $NAMES == *ssl* ]]; then
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/key" -out "$WORK/certificate" -days 2 -subj /CN=kprofs \
		2>"$WORK/tls.log" || fail "no certificate: $(cat "$WORK/tls.log")"
fi

# ---- both run

# bpftrace starts this when it has attached, and prints its maps when it ends; the folder goes when the test ends
cat >"$WORK/gate" <<'END'
: >"$1.ready"
until [ -e "$2" ] || ! [ -d "${2%/*}" ]; do
	read -rt 0.05 <> <(:)
done
END
tracers=() run=() refused=()
for name in $NAMES; do
	run_bpftrace -c "/bin/bash $WORK/gate $WORK/theirs/$name $WORK/go" "$TOOLS/$name.bt" >"$WORK/theirs/$name" \
		2>"$WORK/theirs/$name.log" &
	tracers+=($!)
done
i=0
for name in $NAMES; do
	is_ready() {
		[ -e "$WORK/theirs/$name.ready" ] || has_ended "${tracers[i]}"
	}
	WAIT=120 wait_for is_ready
	if [ -e "$WORK/theirs/$name.ready" ]; then
		run+=("$name")
		cp "$TOOLS/$name.bt" "$MNT/probes/$name" || fail "$name is refused: $(tail -n 3 "$MNT/kperr")"
	else
		refused+=("$name")
	fi
	i=$((i + 1))
done
echo "bpftrace does not run here: ${refused[*]:-none}"
[ "${#run[@]}" != 0 ] || exit 77

timeout 60 "$PWD/tests/fs/probes_tools" "$DISK" || fail "the work failed"

# runs NAME: in bpftrace and here
runs() {
	[[ " ${run[*]} " == *" $1 "* ]]
}

# lines that a person types
if runs bashreadline; then
	timeout 60 python3 -c 'import os, pty
pid, terminal = pty.fork()
if not pid:
    os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-i"])
os.write(terminal, b"".join(b"true kp_line_%d\n" % i for i in range(20)) + b"exit\n")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
os.waitpid(pid, 0)' || fail "the shell failed"
fi

# it lives until what it has called is printed, with names of its functions
if runs gethostlatency || runs threadsnoop; then
	mkfifo "$WORK/library"
	exec 7<>"$WORK/library"
	"$PWD/tests/fs/probes_tools" library <"$WORK/library" >"$WORK/library.said" 7>&- &
	wait_for test -s "$WORK/library.said"
fi

# a server of TLS and its clients: it lives until what it has called is printed, too
has_port() {
	grep -q '^ACCEPT ' "$WORK/tls.log"
}
if runs sslsnoop || runs ssllatency; then
	mkfifo "$WORK/tls"
	exec 8<>"$WORK/tls"
	openssl s_server -accept 127.0.0.1:0 -key "$WORK/key" -cert "$WORK/certificate" <"$WORK/tls" >"$WORK/tls.log" 2>&1 \
		7>&- 8>&- &
	wait_for has_port
	for _ in 1 2 3; do
		echo Q | timeout 60 openssl s_client -connect "$(sed -n 's/^ACCEPT //p' "$WORK/tls.log" | head -n 1)" \
			>"$WORK/client.log" 2>&1 7>&- 8>&- || fail "the client: $(cat "$WORK/client.log")"
	done
fi

# The first line of a message has the program's name, each one the time; behind + a line goes on in the next one.
printed_by() {
	awk -v label="probe:$1" '{ sub(/^.*\]:cpu[0-9]+: /, ""); at = index($0, "probe:"); end = "\n" }
		at { ours = match($0, label "[+]?: ") }
		at && ours { if (substr($0, ours + length(label), 1) == "+") end = ""; $0 = substr($0, ours + RLENGTH) }
		ours { printf "%s%s", $0, end }' "$WORK/printed"
}

# has_prints COUNT: pidpersec, which prints once a second and forgets what it counted at its end
has_prints() {
	[ "$(printed_by pidpersec | grep -c 'PIDs/sec')" -ge "$1" ]
}
if runs pidpersec; then
	# a whole second passes between two: bpftrace's prints once as well
	wait_for has_prints $(($(printed_by pidpersec | grep -c 'PIDs/sec') + 2))
fi

for name in "${run[@]}"; do
	put "probes/$name" off
done
: >"$WORK/go"
WAIT=60 wait_for has_ended "${tracers[-1]}"
wait "${tracers[@]}" 2>/dev/null
for name in "${run[@]}"; do
	cat "$MNT/probes/$name" >"$WORK/ours/$name.maps"
done
put kptrace "kp_end"
WAIT=60 wait_for grep -q kp_end "$WORK/printed"
for name in "${run[@]}"; do
	{ printed_by "$name"; grep -v '^#' "$WORK/ours/$name.maps"; } >"$WORK/ours/$name"
done
# the programs that have waited for this end
exec 7>&- 8>&-
serve_end

# ---- what they print of the work

# The lines of the work, with a word for the time of day in front. bpftrace cuts texts after 63 characters.
lines_of() {
	sed -E 's/^[0-9]{2}:[0-9]{2}:[0-9]{2} /TIME /' "$1" | grep -E 'probes_tools |kp_|uid=4242 ' |
		sed -E 's/([^ ]{63})[^ ]*/\1/g'
}

# a histogram of a key, or of a map
rows_of() {
	awk -v map="$2" '$1 == map { on = 1; next } on && !/^[[(]/ { on = 0 } on { print $1, $2, $3 }' "$1" | tr -d '|@'
}

# functions: the last three digits of their addresses, which are those in each process, and their names
functions_of_tls() {
	ldd "$(command -v openssl)" | awk '$1 ~ /^lib(ssl|crypto)\./ { print $3 }' | xargs nm -D --defined-only |
		awk '$3 ~ /^(SSL_(read|write|do_handshake)|RSA_(sign|verify))@/ {
			sub(/@.*/, "", $3); print substr($1, length($1) - 2), $3 }'
}
# both print addresses if they have not found the name before the process has ended
name_functions() {
	awk 'NR == FNR { names[$1] = $2; next }
		$NF ~ /^0x/ { digits = substr($NF, length($NF) - 2); if (digits in names) $NF = names[digits] } { print }' \
		<(functions_of_tls) -
}

# about FILE NAME: what is compared. Lines of several processes, or of one that another CPU may go on with, are sorted:
# bpftrace prints what two CPUs recorded in no order of time.
about() {
	case $2 in
	bitesize) rows_of "$1" "@[probes_tools]:" ;;
	cpuwalk) rows_of "$1" "@cpu:" | cut -d ' ' -f 1,2 ;;
	execsnoop) sed -n 's/^.*\(true kp_exec_.*\)/\1/p' "$1" ;;
	pidpersec) awk '/PIDs\/sec/ { for (i = 1; i < NF; i++) if ($i == "@:") n += $(i + 1) } /^@: / { n += $2 }
		END { print (n >= 40 ? "at least those of the work" : n) }' "$1" ;;
	bashreadline) sed -n 's/^.*\(true kp_line_[0-9]*\)$/\1/p' "$1" | sort ;;
	# not the time that it took
	gethostlatency) grep ' 127\.42\.42\.' "$1" | sed -E 's/^[0-9:]{8} *//' | awk '{ print $1, $2, $4 }' |
		sort ;;
	sslsnoop) awk '$3 == "openssl" { print $2, $5, $6 }' "$1" | name_functions | sort ;;
	ssllatency) sed -n 's/^@\(statF*\)\[\(.*\)\]: count \([0-9]*\),.*/\1 \3 \2/p' "$1" | name_functions |
		awk '{ n[$1 " " $3] += $2 } END { for (key in n) print key, n[key] }' | sort ;;
	threadsnoop) awk '$3 == "probes_tools" { print $3, $4 }' "$1" | sort ;;
	syscount) grep -E '^@process\[probes_tools\]|^@syscall\[(140|141)\]' "$1" ;;
	writeback) grep -w sync "$1" | sed -E 's/^[0-9:]{8} *//' | awk '{ print $1, $2, $3 }' ;;
	*) lines_of "$1" ;;
	esac
}

if runs sslsnoop; then
	same "functions of a process that goes on have names" 3 "$(grep -c ' 1 SSL_do_handshake$' "$WORK/ours/sslsnoop")"
fi
for name in "${run[@]}"; do
	about "$WORK/theirs/$name" "$name" >"$WORK/theirs/$name.about"
	about "$WORK/ours/$name" "$name" >"$WORK/ours/$name.about"
	# in bpftrace it attaches to nothing that is called, or is refused, see above
	if [ "$name" = threadsnoop ] && ! [ -s "$WORK/theirs/$name.about" ]; then
		same "threadsnoop: the threads of the work" 20 "$(grep -cx 'probes_tools kp_thread' "$WORK/ours/$name.about")"
		continue
	fi
	if ! [ -s "$WORK/theirs/$name.about" ]; then
		fail "$name: bpftrace shows nothing of the work"
	elif [ "$name" = writeback ]; then
		# bpftrace was there first, and other processes cause some as well
		same "writeback in probes/ only" "" "$(comm -13 <(sort "$WORK/theirs/$name.about") <(sort "$WORK/ours/$name.about"))"
	elif diff -u "$WORK/theirs/$name.about" "$WORK/ours/$name.about" >"$WORK/diff"; then
		echo "$name: equal, $(wc -l <"$WORK/theirs/$name.about") lines"
	else
		fail "$name: $(head -n 40 "$WORK/diff")"
	fi
	[ -z "${KEEP-}" ] || cp -r "$WORK/theirs" "$WORK/ours" "$KEEP"
done
