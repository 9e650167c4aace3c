#!/bin/bash
# SPDX-License-Identifier: MIT
# container: With the capabilities that kprofs(8) names for a container, and those that Docker gives to each,
# a server in another mount namespace samples the whole machine and finds the names of functions of the kernel
# and of a program outside, whose file it can't see by its path. With the mounts of examples/kubernetes.yaml
# the tree is visible outside, also after a server was killed.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

manual=$(realpath "${srcdir:-.}/man/kprofs.8")
manifest=$(realpath "${srcdir:-.}/examples/kubernetes.yaml")
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
for tool in unshare setpriv; do
	command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
unshare -m true 2>/dev/null || { echo "needs mount namespaces"; exit 77; }

# what Docker gives, and what kprofs(8) adds
given=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
added=$(grep -o 'cap-add [A-Z_]*' "$manual" | sed 's/cap-add //' | tr 'A-Z\n' 'a-z,')
[ -n "$added" ] || fail "kprofs(8) adds no capabilities"
capabilities=-all$(printf '%s' ",$given,${added%,}" | sed 's/,/,+/g')
setpriv --bounding-set "$capabilities" true || { echo "these capabilities can't be given: $capabilities"; exit 77; }

mkdir "$WORK/covered"
cp examples/wordcount "$WORK/covered/"
"$WORK/covered/wordcount" 600 >/dev/null & # ended with the script

# in_container COMMAND...: replaces this subshell; the folder of the program is another one there
cat >"$WORK/container" <<'END'
#!/bin/sh
# usage: container COVERED CAPABILITIES COMMAND...
mount -t tmpfs tmpfs "$1" && shift && capabilities=$1 && shift &&
	exec setpriv --bounding-set "$capabilities" --inh-caps=-all "$@"
END
chmod +x "$WORK/container"
in_container() {
	exec unshare -m --propagation "${PROPAGATION:-private}" "$WORK/container" "$WORK/covered" "$capabilities" "$@"
}

# ---- names ----------------------------------------------------------------------------------------

cat >"$WORK/session" <<'END'
#!/bin/bash
# usage: session KPROFS KPROF MOUNT
"$1" -f -o socket=none "$3" &
server=$!
until grep -q " $3 fuse\.kprofs" /proc/self/mounts; do
	kill -0 $server 2>/dev/null || exit 3
	read -rt 0.01 <> <(:)
done
if echo start >"$3/kpctl"; then
	SECONDS=0
	until [ "$(sed -n 's/^samples.received //p' "$3/kpstat")" -gt 1500 ] || [ $SECONDS -gt 30 ]; do
		read -rt 0.05 <> <(:)
	done
	grep '^event.1.scope' "$3/kpstat"
	echo stop >"$3/kpctl"
	"$2" report --stdio -m "$3"
else
	echo "no sampling: $(tail -n 1 "$3/kperr")"
fi
umount "$3"
wait $server
END
chmod +x "$WORK/session"
(in_container "$WORK/session" "$KPROFS" "$PWD/kprof" "$MNT") >"$WORK/report" 2>&1 || fail "the session: $(cat "$WORK/report")"
if grep -q '^no sampling' "$WORK/report"; then
	cat "$WORK/report"
	exit 77
fi
check "the scope" grep -q '^event.1.scope machine' "$WORK/report"
check "names of the program outside" grep -q 'wordcount  *find_slot  *.*/wordcount$' "$WORK/report"
check "names of the kernel" grep -q '  [a-z_]*  *\[kernel.kallsyms\]' "$WORK/report"
[ "$failures" = 0 ] || cat "$WORK/report"

# ---- mounts of the manifest -------------------------------------------------------------------------

# the manifest's volume and command, below a folder of this test
volume=$(sed -n 's/^ *mountPath: \(.*\)/\1/p' "$manifest" | head -n 1)
command=$(sed -n 's/^ *command: \["\/bin\/sh", "-c", "\(.*\)"\]$/\1/p' "$manifest")
same "a volume on the node" "$volume" "$(sed -n 's/^ *path: \(.*\)/\1/p' "$manifest" | head -n 1)"
[[ -n $volume && $command == *"$volume/"* ]] || fail "the manifest mounts '$command' in '$volume'"
node=$WORK/node
mkdir "$node"
mount -t tmpfs tmpfs "$node" && mount --make-shared "$node" || { echo "no shared mounts here"; exit 77; }
inside=$(printf '%s' "$command" | sed "s|$volume/|$node/|g; s|/usr/sbin/kprofs|$KPROFS -o socket=none|")

pod_mount() {
	awk -v node="$node/" 'index($2, node) == 1 && $3 == "fuse.kprofs" { print $2 }' /proc/self/mounts
}
pod_has_mounted() {
	[ -n "$(pod_mount)" ] && [ "$(tail -n 1 "$(pod_mount)/kpctl" 2>/dev/null)" = stop ]
}
pod_is_gone() {
	[ -z "$(pod_mount)" ]
}

for end in KILL TERM; do
	PROPAGATION=unchanged in_container sh -c "$inside" 2>"$WORK/pod.log" &
	pod=$!
	wait_for pod_has_mounted || cat "$WORK/pod.log"
	kill -"$end" $pod
	wait $pod
	status=$?
	[ $end = KILL ] || same "the end of the container" 0 $status
done
wait_for pod_is_gone
umount -l "$node"
