#!/bin/bash
# SPDX-License-Identifier: MIT
# web: examples/nginx.conf serves views/: go tool pprof gets the seconds that it asks for, Prometheus the
# metrics, and no other file is served.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

for tool in nginx curl; do
	command -v $tool >/dev/null || [ -x /usr/sbin/$tool ] || { echo "$tool is missing"; exit 77; }
done
PATH=$PATH:/usr/sbin

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# nginx as it runs on Debian: workers are www-data, if this user may change to it
options=
user=
if [ "$(id -u)" = 0 ]; then
	getent passwd www-data >/dev/null || { echo "there is no user www-data"; exit 77; }
	options=allow_other,gid=$(id -g www-data),mode=0440
	user="user www-data;"
	chmod 711 "$WORK"
fi
# shellcheck disable=SC2086 # no word, or two
serve ${options:+-o $options}
WEB=127.0.0.1:$(free_port)
sed -e "s|127.0.0.1:80;|$WEB;|; s|/mnt/kprof|$MNT|" "${srcdir:-.}/examples/nginx.conf" >"$WORK/kprof.conf"
cat >"$WORK/nginx.conf" <<END
$user
pid $WORK/nginx.pid;
error_log $WORK/nginx.log;
daemon off;
events { }
http {
	access_log off;
	sendfile on;
	client_body_temp_path $WORK/body; proxy_temp_path $WORK/proxy; fastcgi_temp_path $WORK/fastcgi;
	uwsgi_temp_path $WORK/uwsgi; scgi_temp_path $WORK/scgi;
	include $WORK/kprof.conf;
}
END
nginx -c "$WORK/nginx.conf" -e "$WORK/nginx.log" &
NGINX=$!
answers() {
	curl -s -o /dev/null "http://$WEB/metrics"
}
wait_for answers || { cat "$WORK/nginx.log"; exit 1; }

# status PATH: of HTTP
status() {
	curl -s -o "$WORK/answer" -w '%{http_code}' "http://$WEB$1"
}

# ---- nothing captured, and nothing else ---------------------------------------------------------

same "metrics without samples" 200 "$(status /metrics)"
check "they end as OpenMetrics do" [ "$(tail -n 1 "$WORK/answer")" = "# EOF" ]
same "the type of metrics" "application/openmetrics-text; version=1.0.0; charset=utf-8" \
	"$(curl -s -o /dev/null -w '%{content_type}' "http://$WEB/metrics")"
for path in / /kpctl /kpdata /kptrace /kpstat /sessions/ /views/../kpdata /debug/pprof/heap; do
	same "$path" 404 "$(status $path)"
done
same "views as a list" 200 "$(status /views/)"
check "it names them" grep -q 'href="flame.svg"' "$WORK/answer"

# ---- samples --------------------------------------------------------------------------------------

if ! put kpctl "event cpu-clock:freq=999" 2>/dev/null || ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
"$PWD/tests/fixtures/split" 60000 >/dev/null &
BUSY=$!
has_run() {
	[ "$(stat_of profiler.runs_ns)" -gt 2500000000 ] && [ "$(stat_of samples.received)" -gt 100 ]
}
wait_for has_run
same "a profile of a profiler that runs" 200 "$(status "/debug/pprof/profile?seconds=1")"
check "it is compressed, as pprof has it" gzip -t <"$WORK/answer"
kill $BUSY
put kpctl stop

# the same samples as the file, and those of a second only
all=$("$PWD/kprof" script -G -F comm,time "$MNT/kpdata" | grep -c .)
second=$("$PWD/kprof" script -G -F comm,time --last 1s "$MNT/kpdata" | grep -c .)
check "a second is a part of the run" [ "$second" -lt "$all" ]
for seconds in "?seconds=1" "?seconds=30" "" "?seconds=0" "?seconds=x" "?seconds=1%2F..%2F.."; do
	case $seconds in
	"?seconds=1") file=$MNT/views/last/1s/pprof ;;
	*) file=$MNT/views/last/30s/pprof ;; # the default of what is no number
	esac
	same "profile$seconds" 200 "$(status "/debug/pprof/profile$seconds")"
	same "the profile of profile$seconds" "$(zcat <"$file" | wc -c)" "$(zcat <"$WORK/answer" | wc -c)"
done
for view in flame.svg:image/svg+xml report.html:text/html folded:text/plain \
	perf.data:application/octet-stream firefox.json:application/json by/cpu/0/pprof:application/octet-stream; do
	same "views/${view%%:*}" "200 ${view#*:}" "$(curl -s -o "$WORK/answer" -w '%{http_code} %{content_type}' "http://$WEB/views/${view%%:*}")"
done
curl -s "http://$WEB/views/folded" | cmp - "$MNT/views/folded" || fail "folded by nginx is not the file"

if go tool pprof -h >/dev/null 2>&1 || [ $? -le 2 ]; then
	export HOME=$WORK PPROF_TMPDIR=$WORK GOFLAGS='' GOTOOLCHAIN=local
	# pprof URL-OR-FILE: the table, without the head, which has the time of the copy
	pprof() {
		go tool pprof -top -nodecount=100000 "$1" 2>"$WORK/pprof.err" | sed -n '/flat%/,$p'
	}
	pprof "http://$WEB/debug/pprof/profile?seconds=1" >"$WORK/by_web"
	pprof "$MNT/views/last/1s/pprof" >"$WORK/by_file"
	check "go tool pprof has rows" [ "$(wc -l <"$WORK/by_web")" -gt 1 ]
	diff "$WORK/by_file" "$WORK/by_web" || fail "go tool pprof by the web: $(cat "$WORK/pprof.err")"
	# from the first sample to the last: a second, or less if nothing ran at its ends
	go tool pprof -top "http://$WEB/debug/pprof/profile?seconds=1" 2>/dev/null | sed -n 's/^Duration: //p' >"$WORK/duration"
	check "the profile is of one second" grep -qE '^(1s|[0-9.]+ms),' "$WORK/duration"
else
	echo "go tool pprof does not run here"
fi

# ---- Prometheus -----------------------------------------------------------------------------------

if command -v prometheus >/dev/null; then
	PROMETHEUS=127.0.0.1:$(free_port)
	cat >"$WORK/prometheus.yml" <<-END
		global: { scrape_interval: 1s }
		scrape_configs:
		  - job_name: kprof
		    static_configs: [ { targets: [ "$WEB" ] } ]
	END
	prometheus --config.file="$WORK/prometheus.yml" --storage.tsdb.path="$WORK/prometheus" \
		--web.listen-address="$PROMETHEUS" >"$WORK/prometheus.log" 2>&1 &
	# value QUERY: of the first result
	value() {
		curl -s "http://$PROMETHEUS/api/v1/query" --data-urlencode "query=$1" |
			python3 -c 'import json, sys
result = json.load(sys.stdin)["data"]["result"]
print(result[0]["value"][1] if result else "")' 2>/dev/null
	}
	is_scraped() {
		[ -n "$(value kprofs_samples_received)" ]
	}
	WAIT=60 wait_for is_scraped || tail -n 5 "$WORK/prometheus.log"
	same "the target is up" 1 "$(value up)"
	same "what Prometheus has of a counter" "$(stat_of samples.received)" "$(value kprofs_samples_received)"
	kill %%
else
	echo "prometheus is missing"
fi

kill $NGINX
wait_for has_ended $NGINX
serve_end
