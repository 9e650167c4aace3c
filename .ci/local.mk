# the checks of the source, and the targets that run the tests under a tool
SOURCE_CHECKS = \
	%D%/check-circles \
	%D%/check-globals \
	%D%/check-includes \
	%D%/check-manpages \
	%D%/check-map \
	%D%/check-source \
	%D%/check-words

TESTS += $(SOURCE_CHECKS)
EXTRA_DIST += $(SOURCE_CHECKS) %D%/packages %D%/run

# the unit tests, and those that are none
UNIT_TESTS = $(filter tests/unit/%,$(TESTS))
VALGRIND = valgrind -q --vgdb=no --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite

check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(UNIT_TESTS)'

# make check-alone runs these tests one after another: those that change the machine for all (CPUs, sysctls, processes
# that keep their memory map locked), compare short times or shares of CPUs, count all that the machine does, or need
# most of it. make -j check-beside runs the others side by side.
NOT_UNIT_TESTS = $(filter-out $(UNIT_TESTS),$(TESTS))
ALL_ALONE_TESTS = $(filter tests/fs/%_hotplug.sh tests/hostile/held_%.sh $(addprefix tests/fs/,cpu_times.sh idle.sh \
	kernel_order.sh mpstat_interrupts.sh mpstat_times.sh probes.sh probes_bpftrace.sh probes_event.sh \
	probes_preempted.sh probes_tools.sh prof_build_ids.sh prof_cycles.sh prof_exact.sh prof_latency.sh \
	prof_offcpu.sh prof_queue.sh prof_scopes.sh prof_split.sh sessions_offcpu.sh trace_switches.sh views.sh),$(NOT_UNIT_TESTS))
if SANITIZED
# The sanitizers make programs slow: those tests that use the server and libkprof in ways of their own, or with
# hostile input, and no exact times
RUN_TESTS = $(filter tests/deny/% tests/fuzz/% tests/hostile/% $(addprefix tests/fs/,cmd_flame.sh cmd_input.sh \
	cmd_part.sh control.sh ctlwords.sh event_words.sh kernel_copies.sh kernel_events.sh kernel_states.sh \
	kpdata_readers.sh kpdata_size.sh kpdata_write.sh load.sh probes.sh probes_event.sh probes_sample.sh \
	probes_user.sh prof_build_ids.sh readers.sh report.sh snapshots.sh stack_dwarf.sh state.sh stream.sh \
	threads.sh trace_acceptor.sh trace_events.sh trace_metrics.sh trace_pipe.sh trace_read.sh trace_spans.sh \
	typed_events.sh view_bounds.sh view_parts.sh view_users.sh views.sh),$(NOT_UNIT_TESTS)) \
	$(filter-out %.sh,$(filter tests/race/%,$(NOT_UNIT_TESTS)))
else
RUN_TESTS = $(NOT_UNIT_TESTS)
endif
ALONE_TESTS = $(filter $(ALL_ALONE_TESTS),$(RUN_TESTS))
# They begin first, so that none of them runs while no other one is left.
LONG_TESTS = tests/fuzz/fuzz_trace tests/fuzz/fuzz_attach tests/hostile/long_text.sh $(addprefix tests/fs/,only.sh \
	sessions.sh own.sh cmd_probe_lines.sh copies.sh install_readme.sh probes_leaks.sh prof_copies.sh modes.sh \
	probes_snapshot.sh completions.sh prof_many.sh stack_dwarf.sh)
BESIDE_TESTS = $(filter $(LONG_TESTS),$(filter-out $(ALL_ALONE_TESTS),$(RUN_TESTS))) \
	$(filter-out $(LONG_TESTS) $(ALL_ALONE_TESTS),$(RUN_TESTS))

check-alone:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(ALONE_TESTS)'

check-beside:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(BESIDE_TESTS)'

# test_profiler samples page faults: under valgrind there are more of them than the profiler can handle.
# test_profiler_life is the part of it that runs there. It does not know what bpf(2) writes into memory and what
# libbpf leaves out of the structs that it passes; nor fsopen(2), which opens a tracefs that is not mounted.
# test_file_links starts /proc/self/exe, which is valgrind there. None of the programs is a script of libtool's, whose
# shell would be examined in place of the program.
NOT_UNDER_VALGRIND = tests/unit/test_profiler tests/unit/test_profiler_commands tests/unit/test_bpf tests/unit/test_probes_gen \
	tests/unit/test_kernel_probes tests/unit/test_rawpoint tests/unit/test_times_code tests/unit/test_only \
	tests/unit/test_bpftrace_tools tests/unit/test_file_links
check-valgrind:
	$(MAKE) $(AM_MAKEFLAGS) check \
		TESTS='$(filter-out $(NOT_UNDER_VALGRIND),$(UNIT_TESTS))' \
		LOG_COMPILER='env KPROFS_TEST_SHORT=1 $(VALGRIND)'

# The unit tests with threads: nm -u of the programs of the others has no pthread_create. test_sym_remote_helpers
# is not one of them: kprof-symbols forbids system calls that the thread sanitizer makes.
TSAN_UNIT_TESTS = $(addprefix tests/unit/test_,acceptor attach_function breakdown budget capture_random ctf \
	difference dirtab disk_damaged file_links flame flat folded follow functions html kernel_probes lazy \
	listener listener_bad_input listener_limits listener_marks measure mpstat mpstat_cpus perfdata \
	perfdata_file pipes pprof probes_gen proc producers profiler profiler_commands profiler_life ring session \
	snapshot stackmap trace trace_annotations tree tui_rows unwinding userwatch viewmodel)
TSAN_TESTS = $(TSAN_UNIT_TESTS) $(filter-out %.sh,$(filter tests/race/%,$(TESTS)))

# Only these tests are built, and what they run. What they repeat at random has no threads.
check-tsan:
	$(MAKE) $(AM_MAKEFLAGS) $(TSAN_TESTS) kprof-symbols tests/race/plugin.la tests/race/roles tests/race/roles_static \
		tests/race/roles_testing
	KPROFS_TEST_SHORT=1 G_SLICE=always-malloc TSAN_OPTIONS="suppressions=$(abs_top_srcdir)/tests/tsan.supp $$TSAN_OPTIONS" \
		$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(TSAN_TESTS)'

EXTRA_DIST += tests/tsan.supp

# The programs that tests/vm copies into its guests.
check-programs: $(filter-out tests/unit/% tests/fuzz/% bench/%,$(check_PROGRAMS)) tests/unit/test_rawpoint

.PHONY: check-programs check-unit check-alone check-beside check-valgrind check-tsan

# not in EXTRA_DIST: make would take its name for the target
dist-hook:
	cp -p $(top_srcdir)/check $(distdir)/check
