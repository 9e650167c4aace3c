# SPDX-License-Identifier: MIT
# hosts_lib.sh: captures of two machines, for scripts that source lib.sh before.

# machine-ids
A=0123456789abcdef0123456789abcdef
B=fedcba9876543210fedcba9876543210

# make_capture FILE HOST MACHINE PROCESS=COUNT...
make_capture() {
	local file=$1
	shift
	python3 "${srcdir:-.}/tests/fs/hosts.py" "$WORK/$file" "$@" || fail "hosts.py $*"
}
