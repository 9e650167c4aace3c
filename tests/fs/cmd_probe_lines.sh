#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_probe_lines: each one-liner of kprof-probe(1) runs, and shows the work that is done meanwhile.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

if ! "$KPROF" probe 'BEGIN { exit(); }' >"$tmp/out" 2>"$tmp/err"; then
	echo "programs can't be run here: $(cat "$tmp/err")"
	exit 77
fi

# what every one-liner sees something of: it opens, reads, writes, starts programs and waits
cat >"$tmp/work" <<'END'
end=$((SECONDS + 2))
while [ "$SECONDS" -lt "$end" ]; do
	/bin/cat /proc/self/stat /proc/no_such_file >/dev/null 2>&1
	(kill -CONT $$)
done
END

# one a line, those of several lines joined
awk '/^\.Sh ONE-LINERS/ { on = 1; next } /^\.Sh / { on = 0 }
	on && /^\.Bd/ { text = ""; next } on && /^\.Ed/ { print text; next }
	on && !/^\./ { text = text (text == "" ? "" : " ") $0 }' "${srcdir:-.}/man/kprof-probe.1" | sed 's/\\e/\\/g' >"$tmp/lines"
[ "$(wc -l <"$tmp/lines")" -ge 20 ] || fail "only $(wc -l <"$tmp/lines") one-liners"

# try NUMBER LINE
try() {
	if ! "$KPROF" probe -c "bash $tmp/work" "$2" </dev/null >"$tmp/out.$1" 2>"$tmp/err.$1"; then
		fail "'$2': $(cat "$tmp/err.$1")"
	elif ! grep -q '^[^ ].*[0-9]\|^[a-z].* ' "$tmp/out.$1"; then
		fail "'$2' shows nothing: $(cat "$tmp/out.$1" "$tmp/err.$1")"
	fi
}

# three at a time
number=0
pids=()
while IFS= read -r line; do
	number=$((number + 1))
	(try $number "$line" && [ "$failures" = 0 ]) &
	pids+=($!)
	if [ ${#pids[@]} = 3 ]; then
		wait "${pids[0]}" || failures=$((failures + 1))
		pids=("${pids[@]:1}")
	fi
done <"$tmp/lines"
for pid in "${pids[@]}"; do
	wait "$pid" || failures=$((failures + 1))
done

[ "$failures" = 0 ]
