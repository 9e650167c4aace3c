#!/bin/bash
# SPDX-License-Identifier: MIT
# report_html: report.html of a known capture in Chromium: its figures, what can be selected in it, its
# keys, and that no name in it runs.
# shellcheck source=tests/fs/view_lib.sh
. "${srcdir:-.}/tests/fs/view_lib.sh"

need python3
convert report.html "$tmp/report.html"
"$kprof" report "$tmp/kpdata" >"$tmp/report" || fail "kprof report"

# a path that would end the script, if it were not escaped, with bytes that are no UTF-8
name="</script><script>document.title='run'</script><img src=x>"$'\001\377'
mkdir -p "$tmp/${name%/*}"
cp "$victim" "$tmp/$name"
"$mkstory" "$tmp/$name" "$id" "$(offset "$victim" victim_one)" "$(offset "$victim" victim_two)" \
	>"$tmp/hostile" || fail "mkstory"
convert report.html "$tmp/hostile.html" "$tmp/hostile"

python3 "${srcdir:-.}/tests/fs/report_html.py" "$tmp/report.html" "$tmp/report" "$tmp/hostile.html"
case $? in
0) ;;
77) exit 77 ;;
*) fail "report.html" ;;
esac
exit $failed
