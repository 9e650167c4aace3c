#!/bin/bash
# SPDX-License-Identifier: MIT
# hosts: a capture names its machine; captures of several machines are merged and divided again.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

kprof=$PWD/kprof
# shellcheck source=tests/fs/hosts_lib.sh
. "${srcdir:-.}/tests/fs/hosts_lib.sh"
make_capture one alpha $A web=30 db=10
make_capture two beta $B web=50
make_capture again alpha $A web=5
make_capture twin alpha $B web=7
make_capture old - - web=3
make_capture headless alpha $A none web=3

# table FIELDS ARGUMENT...: the rows of a report as VALUE[,VALUE...]=SAMPLES, sorted
table() {
	local fields=$1
	shift
	"$kprof" report --by "$fields" --json "$@" 2>"$WORK/said" |
		python3 -c 'import json, sys
names = sys.argv[1].split(",")
report = json.load(sys.stdin)
print(*sorted(",".join(row[n] for n in names) + "=" + str(row["counts"][0]["samples"]) for row in report["rows"]))' "$fields"
}

# ---- files ----------------------------------------------------------------------------------------

same "one file" "alpha=40" "$(table host "$WORK/one")"
same "two machines" "alpha=40 beta=50" "$(table host "$WORK/one" "$WORK/two")"
same "processes of two machines" "web=80 db=10" "$(table process "$WORK/one" "$WORK/two" | tr ' ' '\n' | sort -r | xargs)"
same "CPUs of two machines" "on 3 CPUs" "$("$kprof" report --stdio "$WORK/one" "$WORK/two" "$WORK/again" 2>&1 |
	grep -o 'on [0-9]* CPUs*')"
same "two fields" "alpha,db=10 alpha,web=30 beta,web=50" "$(table host,process "$WORK/one" "$WORK/two")"
same "a machine twice" "alpha=45 beta=50" "$(table host "$WORK/one" "$WORK/two" "$WORK/again")"
same "two machines of one name" "alpha $B=7 alpha=40" "$(table host "$WORK/one" "$WORK/twin")"
same "a capture without a host" "-=3 alpha=40" "$(table host "$WORK/old" "$WORK/one")"
same "--host" "beta=50" "$(table host --host beta "$WORK/one" "$WORK/two")"
same "--host by its machine-id" "alpha $B=7" "$(table host --host $B "$WORK/one" "$WORK/twin" | sed "s/^alpha=/alpha $B=/")"
same "script" 90 "$("$kprof" script -G -F comm,time "$WORK/one" "$WORK/two" | grep -c .)"
same "convert" "db=10 web=80" "$("$kprof" convert -t folded "$WORK/one" "$WORK/two" |
	awk '{ split($1, name, ";"); n[name[1]] += $NF } END { for (i in n) print i "=" n[i] }' | sort | xargs)"
same "standard input" "alpha=40 beta=50" "$(table host - "$WORK/two" <"$WORK/one")"
fails_with "no sample is there with host gamma" "$kprof" report --stdio --host gamma "$WORK/one" "$WORK/two"
fails_with "does not begin with a CLOCK record" "$kprof" report --stdio "$WORK/one" "$WORK/headless"
fails_with "No such file or directory" "$kprof" report --stdio "$WORK/one" "$WORK/missing"
fails_with "give FILEs or --mount" "$kprof" report -m "$MNT" "$WORK/one" "$WORK/two"

# with a time axis: processes of several machines are told apart, and times are those of their wall clocks
make_capture later beta $B from=5000+1 web=50
"$kprof" convert -t trace.json -o "$WORK/trace.json" "$WORK/one" "$WORK/later" || fail "convert -t trace.json"
cat >"$WORK/axis.py" <<-'END'
	import collections, json, sys
	events = json.load(open(sys.argv[1]))["traceEvents"]
	names = {(e["pid"], e["name"]): e["args"]["name"] for e in events if e["ph"] == "M"}
	times = collections.defaultdict(list)
	for e in events:
	    if e["ph"] == "i":
	        times[e["pid"]].append(e["ts"])
	begin = min(min(t) for t in times.values())
	for pid in sorted(times):
	    print(names[pid, "process_name"], pid, len(times[pid]), round(min(times[pid]) - begin), end=";")
END
# alpha's and beta's pids 100; the second machine's is 2 to the 22nd higher, and a second later
same "trace.json of two machines" "web (alpha) 100 30 0;db (alpha) 101 10 0;web (beta) 4194404 50 1000000;" \
	"$(python3 "$WORK/axis.py" "$WORK/trace.json")"
"$kprof" convert -t trace.json -o "$WORK/trace.json" "$WORK/later" "$WORK/one" || fail "convert -t trace.json"
same "in the other order" "web (beta) 100 50 1000000;web (alpha) 4194404 30 0;db (alpha) 4194405 10 0;" \
	"$(python3 "$WORK/axis.py" "$WORK/trace.json")"
"$kprof" convert -t trace.json -o "$WORK/trace.json" "$WORK/one" || fail "convert -t trace.json"
same "of one machine" "web 100 30 0;db 101 10 0;" "$(python3 "$WORK/axis.py" "$WORK/trace.json")"
"$kprof" convert -t firefox.json -o "$WORK/firefox.json" "$WORK/one" "$WORK/later" || fail "convert -t firefox.json"
same "firefox.json of two machines" "db (alpha) 101 0.0;web (alpha) 100 0.0;web (beta) 100.1 1000.0;" "$(python3 -c 'import json, sys
for t in sorted(json.load(open(sys.argv[1]))["threads"], key=lambda t: (t["processName"], t["pid"])):
    print(t["processName"], t["pid"], float(t["samples"]["time"][0]), end=";")' "$WORK/firefox.json")"
same "script has one axis" 1.000 "$("$kprof" script -G -F comm,time "$WORK/one" "$WORK/later" | awk '{ sub(":", "", $2) }
	NR == 1 { first = $2 } $2 > last { last = $2 } END { printf "%.3f\n", last - first - 0.049 }')"
if command -v go >/dev/null; then
	"$kprof" convert -t pprof -o "$WORK/pb" "$WORK/one" "$WORK/later" || fail "convert -t pprof"
	same "pprof divides by machine" "alpha 40 beta 50" "$(HOME=$WORK go tool pprof -tags "$WORK/pb" 2>"$WORK/said" |
		awk '/^ *host:/ { on = 1; next } /^ *[a-z]+:/ { on = 0 } on && NF >= 3 { sub("[.].*", "", $1); print $NF, $1 }' | sort | xargs)"
fi

# as one file, and a part of it
"$kprof" convert -t kpdata -o "$WORK/all" "$WORK/one" "$WORK/two" || fail "convert -t kpdata"
same "the records of both" "$(cat "$WORK/one" "$WORK/two" | cksum)" "$(cksum <"$WORK/all")"
"$kprof" convert -t kpdata -o "$WORK/part" --host alpha --comm db "$WORK/all" || fail "convert -t kpdata of a part"
same "a part as a file" "alpha,db=10" "$(table host,process "$WORK/part")"

# a file that was cut: what it has counts, the next one is whole, and the status says it
head -c -5 "$WORK/one" >"$WORK/cut"
"$kprof" report --by host --json "$WORK/cut" "$WORK/two" >"$WORK/rows" 2>"$WORK/said"
same "the status with a cut file" 1 $?
check "which file is cut" grep -q "$WORK/cut: offset .*: cut: " "$WORK/said"
same "the rest is counted" "alpha=39 beta=50" "$(table host "$WORK/cut" "$WORK/two")"

# ---- this machine ---------------------------------------------------------------------------------

serve
put kpctl "event cpu-clock:freq=1999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
has_samples() {
	local i
	for ((i = 0; i < 20000; i++)); do :; done
	[ "$(stat_of samples.received)" -gt 20 ]
}
wait_for has_samples
put kpctl stop
cat "$MNT/kpdata" >"$WORK/here" || fail "kpdata can't be read"
id=$(tr -d '\n' </etc/machine-id 2>/dev/null)
expected="machine=${id:-00000000000000000000000000000000} boot=$(tr -d '\n-' </proc/sys/kernel/random/boot_id) name=\"$(uname -n)\""
same "the HOST record" "$expected" "$("$kprof" dump "$WORK/here" | sed -n 's/^[0-9]* host //p')"
same "by/host lists this machine" "$(uname -n)" "$(ls "$MNT/views/by/host")"
same "a view of this machine has all samples" "$(cat "$MNT/views/folded")" "$(cat "$MNT/views/by/host/$(uname -n)/folded")"
same "views/kpdata has the samples" "$("$kprof" script "$WORK/here" | cksum)" "$("$kprof" script "$MNT/views/kpdata" | cksum)"
same "views/kpdata of a part" "$("$kprof" script --cpu 0 "$WORK/here" | cksum)" \
	"$("$kprof" script "$MNT/views/by/cpu/0/kpdata" | cksum)"
same "-m before the command" "$("$kprof" script -m "$MNT" 2>"$WORK/said" | cksum)" "$("$kprof" -m "$MNT" script 2>"$WORK/said" | cksum)"
fails_with "No data available" cat "$MNT/views/by/host/elsewhere/folded"
fails_with "No such file or directory" ls "$MNT/views/by/host/a/by/host"
check "merged with another" grep -q "alpha=40" <(table host "$WORK/one" "$WORK/here")

serve_end
