# SPDX-License-Identifier: MIT
# offcpu: by how much `event offcpu` and `event wall` slow tbench, and two threads that pass a byte through
# pipes as those of `perf bench sched pipe` do, on all CPUs and on one.

command -v tbench >/dev/null || fail "needs tbench (Debian: dbench)"
# shellcheck source=bench/slots.bash
. "$bench/slots.bash"

begin_run() { control start; }
end_run() { control stop clear; }

start_server
for words in 'event offcpu' 'event offcpu:min=0' 'event wall'; do
	control "$words"
	key=${words#event }
	key=${key//[:=]/_}
	tbench_limit=- pipe_limit=-
	if [ "$key" = offcpu ]; then
		tbench_limit='<= 8'
		pipe_limit='<= 12'
	fi
	compare_slots "tbench.$key" "$tbench_limit" begin_run end_run tbench 2
	compare_slots "pipe.$key" "$pipe_limit" begin_run end_run pipe
	compare_slots "pipe_one_cpu.$key" "$pipe_limit" begin_run end_run pipe 0
done
