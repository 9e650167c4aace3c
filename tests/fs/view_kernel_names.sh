#!/bin/bash
# SPDX-License-Identifier: MIT
# view_kernel_names: A kernel address with several names has the name that perf prints. The capture has a
# sample at each such address of the running kernel; perf reads it as views/perf.data.
set -u
export LC_ALL=C

names=${srcdir:-.}/tests/fs/kernel_names.py
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# perf keeps copies of files and reads settings: not those of this user
export HOME=$tmp

perf --version >/dev/null 2>&1 || { echo "perf does not run here"; exit 77; }

python3 "$names" make "$tmp/kpdata"
ret=$?
[ $ret -eq 77 ] && echo "the kernel's symbols are hidden here"
[ $ret -eq 0 ] || exit $ret
./kprof convert -t perf.data -o "$tmp/perf.data" "$tmp/kpdata" || exit 1
# and nothing else that it could find of the kernel on this machine
perf script --kallsyms /proc/kallsyms -F ip,sym -i "$tmp/perf.data" >"$tmp/perf" 2>"$tmp/perf.err" ||
	{ cat "$tmp/perf.err"; exit 1; }
./kprof report -n --by address,function "$tmp/kpdata" >"$tmp/ours" || exit 1
python3 "$names" compare "$tmp/ours" "$tmp/perf"
