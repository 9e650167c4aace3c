# the server on a mount of its own; kprofs_canned is kprofs with a profiler of canned bytes
FS_TESTS = \
	%D%/control.sh \
	%D%/copies.sh \
	%D%/ctlwords.sh \
	%D%/event_words.sh \
	%D%/idle.sh \
	%D%/modes.sh \
	%D%/mount.sh \
	%D%/readers.sh \
	%D%/stream.sh \
	%D%/threads.sh
TESTS += $(FS_TESTS)
EXTRA_DIST += %D%/lib.sh %D%/ctlwords.py %D%/stream.py $(FS_TESTS)

check_PROGRAMS += tests/fs/kprofs_canned
tests_fs_kprofs_canned_SOURCES = fs/main.c %D%/canned_profiler.c
tests_fs_kprofs_canned_LDADD = libfixtures.a libfs.a libviews.a libprof.a libtrace.a libkernel.a libprobes.a libproducers.a libring.a libacct.a libkpbpf.a libformats.a libcapture.a libsymbolizer.a libsys.a libbase.a \
	$(Z_LIBS) \
	$(FUSE_LIBS) $(GLIB_LIBS) -lpthread $(BPF_LIBS)

# what kpdata, kpstat and mpstat say is true: programs of tests/fixtures, seen through the mount
TRUTH_TESTS = \
	%D%/prof_beside_perf.sh \
	%D%/prof_build_ids.sh \
	%D%/prof_split.sh \
	%D%/prof_exact.sh \
	%D%/prof_queue.sh \
	%D%/prof_copies.sh \
	%D%/akaros.sh \
	%D%/kpdata_readers.sh \
	%D%/kpdata_size.sh \
	%D%/kpdata_write.sh \
	%D%/prof_hotplug.sh \
	%D%/mpstat_hotplug.sh \
	%D%/prof_scopes.sh \
	%D%/prof_latency.sh \
	%D%/prof_offcpu.sh \
	%D%/prof_offcpu_hotplug.sh \
	%D%/only.sh \
	%D%/only_hotplug.sh \
	%D%/prof_many.sh \
	%D%/sessions.sh %D%/own.sh \
	%D%/sessions_offcpu.sh \
	%D%/snapshots.sh \
	%D%/state.sh \
	%D%/stack_dwarf.sh \
	%D%/cpu_times.sh %D%/mpstat_exact.sh %D%/mpstat_interrupts.sh %D%/mpstat_times.sh
check_PROGRAMS += tests/fs/between tests/fs/packets
tests_fs_between_SOURCES = %D%/between.c
tests_fs_packets_SOURCES = %D%/packets.c
TESTS += $(TRUTH_TESTS)
EXTRA_DIST += %D%/prof_lib.sh %D%/only_lib.sh %D%/akaros.py %D%/mpstat_exact.py $(TRUTH_TESTS)
CLEANFILES += %D%/machine.lock

# the capture in other forms
TESTS += %D%/views.sh %D%/view_parts.sh %D%/view_users.sh %D%/view_versus.sh %D%/hosts.sh %D%/load.sh %D%/sshfs.sh %D%/web.sh
EXTRA_DIST += %D%/hosts.py %D%/hosts_lib.sh %D%/hosts.sh %D%/load.sh %D%/sshfs.sh %D%/web.sh %D%/views.sh %D%/view_parts.sh %D%/view_users.sh %D%/view_versus.sh

# the trace of programs: tell writes events that can be checked
check_PROGRAMS += tests/fs/tell
tests_fs_tell_SOURCES = %D%/tell.c %D%/telling.h
tests_fs_tell_LDADD = libkprof.la -lpthread
tests_fs_tell_LDFLAGS = -static
TESTS += %D%/trace_read.sh %D%/trace_pipe.sh
EXTRA_DIST += %D%/trace_lib.sh %D%/trace_pipe.py %D%/trace_read.sh %D%/trace_pipe.sh
# programs that attach
TESTS += %D%/trace_acceptor.sh %D%/trace_events.sh
EXTRA_DIST += %D%/trace_acceptor.sh %D%/trace_events.sh
# events without macros, and from other languages
check_PROGRAMS += tests/fs/typed
tests_fs_typed_SOURCES = %D%/typed.c
tests_fs_typed_LDADD = libkprof.la
tests_fs_typed_LINK = $(LIBTOOL_LINK)
TESTS += %D%/typed_events.sh
EXTRA_DIST += %D%/typed_events.sh
# switches that programs obey when the write returns
check_PROGRAMS += tests/fs/switched
tests_fs_switched_SOURCES = %D%/switched.c
tests_fs_switched_LDADD = libkprof.la -lpthread
tests_fs_switched_LDFLAGS = -static
TESTS += %D%/trace_spans.sh %D%/trace_metrics.sh %D%/view_spans.sh %D%/trace_switches.sh
EXTRA_DIST += %D%/metrics_lib.sh %D%/trace_spans.sh %D%/trace_metrics.sh %D%/view_spans.sh %D%/trace_switches.sh
# the commands that run others
CMD_TESTS = %D%/cmd_annotate.sh %D%/cmd_input.sh %D%/cmd_part.sh %D%/cmd_completions.sh %D%/cmd_ctl.sh %D%/cmd_doctor.sh %D%/cmd_flame.sh %D%/cmd_list.sh %D%/cmd_mark.sh %D%/cmd_probe.sh %D%/cmd_probe_lines.sh %D%/cmd_record.sh %D%/cmd_script.sh %D%/cmd_perf_options.sh %D%/cmd_stat.sh %D%/cmd_streams.sh %D%/cmd_record_select.sh %D%/cmd_stat_select.sh %D%/cmd_trace.sh \
	%D%/cmd_top.sh
EXTRA_DIST += %D%/cmd_lib.sh %D%/cmd_terminal.py
# the browser on a terminal
CMD_TESTS += %D%/report_browser.sh %D%/top_browser.sh %D%/completions.sh
EXTRA_DIST += %D%/tui_lib.sh
TESTS += $(CMD_TESTS)
EXTRA_DIST += $(CMD_TESTS)
# the same, by the tools that read them
TESTS += %D%/view_live.sh
TESTS += %D%/report_html.sh
EXTRA_DIST += %D%/report_html.sh %D%/report_html.py %D%/chromium.py
TESTS += %D%/view_firefox.sh %D%/view_tracejson.sh %D%/view_calls.sh
EXTRA_DIST += %D%/view_live.sh %D%/view_firefox.sh %D%/view_tracejson.sh %D%/view_calls.sh %D%/firefox.py %D%/tracejson.py %D%/openmetrics.py

# a view's memory is bounded
TESTS += %D%/view_bounds.sh %D%/view_memory.sh %D%/memory_limit.sh
EXTRA_DIST += %D%/view_bounds.sh %D%/view_memory.sh %D%/memory_limit.sh

# who waits for a view can be ended
TESTS += %D%/view_interrupt.sh
EXTRA_DIST += %D%/view_interrupt.sh

# names that only debuginfod knows
TESTS += %D%/view_debuginfod.sh
EXTRA_DIST += %D%/view_debuginfod.sh %D%/debuginfod.py

# a program with every kind of call, in all views and in perf's report
TESTS += %D%/view_agree.sh
EXTRA_DIST += %D%/view_agree.sh tests/fixtures/calls.cc tests/fixtures/calls_library.c
# what many starts and stops cost
TESTS += %D%/prof_cycles.sh
EXTRA_DIST += %D%/prof_cycles.sh

# lines that take long to make
TESTS += %D%/trace_wide.sh
EXTRA_DIST += %D%/trace_wide.sh

# spans and counters, in C and in C++
check_PROGRAMS += tests/fs/spanning tests/fs/spanning_cxx
tests_fs_spanning_SOURCES = %D%/spanning.c
tests_fs_spanning_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls
tests_fs_spanning_LDADD = libkprof.la
tests_fs_spanning_cxx_SOURCES = %D%/spanning_cxx.cc
tests_fs_spanning_cxx_CXXFLAGS = -std=c++11 -Wall -Wextra $(SAN_FLAGS)
tests_fs_spanning_cxx_LDADD = libkprof.la

# the trace as CTF, by babeltrace2, and on a time line: ctf_tell writes events of every kind
check_PROGRAMS += tests/fs/ctf_tell
tests_fs_ctf_tell_SOURCES = %D%/ctf_tell.c %D%/telling.h
tests_fs_ctf_tell_LDADD = libkprof.la -lpthread
tests_fs_ctf_tell_LDFLAGS = -static
TESTS += %D%/view_ctf.sh %D%/view_marks.sh
EXTRA_DIST += %D%/view_ctf.sh %D%/view_marks.sh %D%/ctf.py

# names of kernel addresses, and perf's
TESTS += %D%/view_kernel_names.sh
EXTRA_DIST += %D%/view_kernel_names.sh %D%/kernel_names.py
# names of the addresses of kprof_backtrace; frame pointers for it
check_PROGRAMS += tests/fs/backtracing
tests_fs_backtracing_SOURCES = %D%/backtracing.c
tests_fs_backtracing_CFLAGS = $(AM_CFLAGS) -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-inline -fno-pie
tests_fs_backtracing_LDADD = libkprof.la -lpthread
tests_fs_backtracing_LDFLAGS = -static -no-pie
TESTS += %D%/trace_names.sh
EXTRA_DIST += %D%/trace_names.sh
# names of functions that are compiled at run time
check_PROGRAMS += tests/fs/jitting
tests_fs_jitting_SOURCES = %D%/jitting.c
TESTS += %D%/view_jit.sh
EXTRA_DIST += %D%/view_jit.sh
# files that were replaced since they were mapped
TESTS += %D%/view_replaced.sh
EXTRA_DIST += %D%/view_replaced.sh
# addresses as other tools take them
TESTS += %D%/report_addresses.sh
# an installed libkprof
TESTS += %D%/container.sh %D%/install_libkprof.sh %D%/install_readme.sh %D%/tutorial.sh
EXTRA_DIST += %D%/container.sh %D%/install_lib.sh %D%/install_libkprof.sh %D%/install_readme.sh %D%/tutorial.sh
EXTRA_DIST += %D%/report_addresses.sh

# the names of system calls, against headers and strace
check_PROGRAMS += tests/fixtures/callargs_text
tests_fixtures_callargs_text_LDADD = libkernel.a $(GLIB_LIBS)
TESTS += %D%/call_names.sh
EXTRA_DIST += %D%/call_names.sh %D%/call_names.py

# of two processes whose numbers are at a distance
check_PROGRAMS += tests/fs/kernel_slots tests/fs/waiting
tests_fs_waiting_SOURCES = %D%/waiting.c
tests_fs_kernel_slots_SOURCES = %D%/kernel_slots.c
TESTS += %D%/kernel_slots.sh %D%/kernel_flood.sh %D%/kernel_memory.sh %D%/kernel_changes.sh
EXTRA_DIST += %D%/kernel_slots.sh %D%/kernel_flood.sh %D%/kernel_memory.sh %D%/kernel_changes.sh

# events of the kernel: kernel_calls makes a known number of system calls
check_PROGRAMS += tests/fs/kernel_calls
tests_fs_kernel_calls_SOURCES = %D%/kernel_calls.c %D%/on_cpu.h
check_PROGRAMS += tests/fs/kernel_addresses tests/fs/kernel_turns
tests_fs_kernel_addresses_SOURCES = %D%/kernel_addresses.c
tests_fs_kernel_turns_SOURCES = %D%/kernel_turns.c
TESTS += %D%/kernel_addresses.sh %D%/kernel_order.sh
EXTRA_DIST += %D%/kernel_addresses.sh %D%/kernel_order.sh
TESTS += %D%/kernel_events.sh %D%/probes.sh %D%/kernel_underway.sh %D%/kernel_pids.sh %D%/kernel_keep.sh
EXTRA_DIST += %D%/kernel_events.sh %D%/probes.sh %D%/kernel_underway.sh %D%/kernel_pids.sh %D%/kernel_keep.sh
# programs of probes/ at functions of a program: probes_user calls one a known number of times
check_PROGRAMS += tests/fs/probes_work
tests_fs_probes_work_SOURCES = %D%/probes_work.c
# its stacks are walked by frame pointers
tests_fs_probes_work_CFLAGS = $(AM_CFLAGS) -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
tests_fs_probes_work_LDADD = -lpthread
check_PROGRAMS += tests/fs/probes_user
tests_fs_probes_user_SOURCES = %D%/probes_user.c
tests_fs_probes_user_LDFLAGS = -rdynamic
check_PROGRAMS += tests/fs/probes_static
tests_fs_probes_static_SOURCES = %D%/probes_static.c
# the same program with libkprof in it, and with the library
check_PROGRAMS += tests/fs/probes_event tests/fs/probes_event_shared
tests_fs_probes_event_SOURCES = %D%/probes_event.c
tests_fs_probes_event_LDADD = libkprof.la -lpthread
tests_fs_probes_event_LDFLAGS = -static
tests_fs_probes_event_shared_SOURCES = %D%/probes_event.c
tests_fs_probes_event_shared_LDADD = libkprof.la
tests_fs_probes_event_shared_LINK = $(LIBTOOL_LINK)
TESTS += %D%/probes_event.sh
EXTRA_DIST += %D%/event_lib.sh %D%/probes_event.sh

# the tools of bpftrace, beside it
check_PROGRAMS += tests/fs/probes_tools
tests_fs_probes_tools_SOURCES = %D%/probes_tools.c
tests_fs_probes_tools_LDADD = -lpthread
TESTS += %D%/probes_tools.sh
EXTRA_DIST += %D%/probes_tools.sh
check_PROGRAMS += tests/fs/compat_calls
tests_fs_compat_calls_SOURCES = %D%/compat_calls.c
check_PROGRAMS += tests/fs/probes_keys
tests_fs_probes_keys_SOURCES = %D%/probes_keys.c %D%/on_cpu.h
TESTS += %D%/probes_keys.sh
EXTRA_DIST += %D%/probes_keys.sh
check_PROGRAMS += tests/fs/probes_preempted
tests_fs_probes_preempted_SOURCES = %D%/probes_preempted.c
tests_fs_probes_preempted_LDADD = -lpthread
TESTS += %D%/probes_preempted.sh
EXTRA_DIST += %D%/probes_preempted.sh
TESTS += %D%/probes_user.sh %D%/probes_metrics.sh %D%/probes_sample.sh %D%/probes_snapshot.sh %D%/probes_leaks.sh %D%/probes_options.sh %D%/probes_examples.sh %D%/probes_static.sh
EXTRA_DIST += %D%/probes_user.sh %D%/probes_metrics.sh %D%/probes_sample.sh %D%/probes_snapshot.sh %D%/probes_leaks.sh %D%/probes_options.sh %D%/probes_examples.sh %D%/probes_static.sh
TESTS += %D%/probes_bpftrace.sh
EXTRA_DIST += %D%/probes_bpftrace.sh
# their stacks: stacked calls a system call from known functions
check_PROGRAMS += tests/fs/stacked
tests_fs_stacked_SOURCES = %D%/stacked.c
tests_fs_stacked_CFLAGS = $(AM_CFLAGS) -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-inline -fno-pie
tests_fs_stacked_LDFLAGS = -static -no-pie
TESTS += %D%/kernel_copies.sh %D%/kernel_stacks.sh %D%/kernel_states.sh %D%/kernel_tracefs.sh
EXTRA_DIST += %D%/kernel_copies.sh %D%/kernel_stacks.sh %D%/kernel_states.sh %D%/kernel_tracefs.sh
