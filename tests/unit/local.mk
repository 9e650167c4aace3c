# One program for each module: tests/unit/test_X.c tests X.c of a room, with these two lines: its name, and
# what it is linked with. Of the libraries of a room the linker takes what the test needs.
unit_tests =
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
EXTRA_DIST += %D%/capture_streams.h %D%/decode.h %D%/disk_fixture.h %D%/encoder_fixture.h %D%/events_fixture.h \
	%D%/leftovers.h %D%/listener_fixture.h %D%/mpstat_fixture.h %D%/perfdata_fixture.h \
	%D%/probes_fixture.h %D%/producers_fixture.h %D%/profile_fixture.h %D%/profiler_fixture.h %D%/rounds.h %D%/sym_remote_fixture.h \
	%D%/task_stream.h %D%/tasks_fixture.h %D%/tracing.h %D%/view_fixture.h

BASE_TEST_LIBS = libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) -lpthread

unit_tests += tests/unit/test_doctor
tests_unit_test_doctor_LDADD = src/cmd/doctor.$(OBJEXT) $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_stat_sum
tests_unit_test_stat_sum_LDADD = src/cmd/stat_sum.$(OBJEXT) libsys.a libbase.a $(CMOCKA_LIBS) -lm

unit_tests += tests/unit/test_bisect
tests_unit_test_bisect_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_interned
tests_unit_test_interned_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_nearest
tests_unit_test_nearest_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_ratelimit
tests_unit_test_ratelimit_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_text
tests_unit_test_text_LDADD = $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_units
tests_unit_test_units_LDADD = $(BASE_TEST_LIBS)

SYS_TEST_LIBS = libsys.a $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_bpf_code
tests_unit_test_bpf_code_LDADD = libkpbpf.a $(BASE_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_bpf
tests_unit_test_bpf_LDADD = libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_probes_gen
tests_unit_test_probes_gen_LDADD = libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_host
tests_unit_test_host_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_buildid
tests_unit_test_buildid_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_cgroup
tests_unit_test_cgroup_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_rings
tests_unit_test_rings_LDADD = libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)
tests_unit_test_rings_LDFLAGS = -Wl,--wrap=map_create,--wrap=map_mmap,--wrap=map_possible_cpus \
	-Wl,--wrap=usleep,--wrap=malloc

unit_tests += tests/unit/test_callnames
tests_unit_test_callnames_LDADD = libkernel.a $(CMOCKA_LIBS) $(GLIB_LIBS)

unit_tests += tests/unit/test_calltext
tests_unit_test_calltext_LDADD = libtrace.a libkernel.a libring.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

unit_tests += tests/unit/test_lexer
tests_unit_test_lexer_LDADD = libprobes.a $(BASE_TEST_LIBS)
unit_tests += tests/unit/test_parser
tests_unit_test_parser_LDADD = libprobes.a $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_function
tests_unit_test_function_LDADD = libtrace.a libkernel.a libprobes.a libkpbpf.a libring.a $(SYS_TEST_LIBS) \
	$(BPF_LIBS)

unit_tests += tests/unit/test_describe
tests_unit_test_describe_LDADD = libkernel.a libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)
unit_tests += tests/unit/test_rawpoint
tests_unit_test_rawpoint_LDADD = libkernel.a libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_check
tests_unit_test_check_LDADD = libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)
unit_tests += tests/unit/test_file_links
tests_unit_test_file_links_LDADD = libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)
unit_tests += tests/unit/test_attach_function
tests_unit_test_attach_function_LDADD = libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)
tests_unit_test_attach_function_LDFLAGS = -Wl,--wrap=types_function,--wrap=attach_load,--wrap=function_way_attach \
	-Wl,--wrap=program_attach_kprobe_multi
unit_tests += tests/unit/test_parameters
tests_unit_test_parameters_LDADD = libprobes.a $(BASE_TEST_LIBS)
unit_tests += tests/unit/test_targets
tests_unit_test_targets_LDADD = libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)
unit_tests += tests/unit/test_bpftrace_tools
tests_unit_test_bpftrace_tools_LDADD = libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_kernel_probes
tests_unit_test_kernel_probes_LDADD = libkernel.a libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_stepped
tests_unit_test_stepped_LDADD = libprobes.a $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_tracefilter
tests_unit_test_tracefilter_LDADD = libkernel.a libprobes.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_tracepage
tests_unit_test_tracepage_LDADD = libkernel.a $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_expr
tests_unit_test_expr_LDADD = libprobes.a $(BASE_TEST_LIBS)

unit_tests += tests/unit/test_child
tests_unit_test_child_LDADD = libsys.a libbase.a $(CMOCKA_LIBS)

unit_tests += tests/unit/test_strhash
tests_unit_test_strhash_LDADD = libbase.a $(CMOCKA_LIBS)

unit_tests += tests/unit/test_fdpass
tests_unit_test_fdpass_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_lines
tests_unit_test_lines_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_mounts
tests_unit_test_mounts_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_perf
tests_unit_test_perf_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_perf_count
tests_unit_test_perf_count_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_proc
tests_unit_test_proc_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_procstat
tests_unit_test_procstat_LDADD = $(SYS_TEST_LIBS)

unit_tests += tests/unit/test_lockdown
tests_unit_test_lockdown_LDADD = $(SYS_TEST_LIBS)
unit_tests += tests/unit/test_uevent
tests_unit_test_uevent_LDADD = $(SYS_TEST_LIBS)

ACCT_TEST_LIBS = libacct.a libkpbpf.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_mpstat
tests_unit_test_mpstat_LDADD = $(ACCT_TEST_LIBS)

unit_tests += tests/unit/test_times_code
tests_unit_test_times_code_LDADD = $(ACCT_TEST_LIBS)

unit_tests += tests/unit/test_row
tests_unit_test_row_LDADD = $(ACCT_TEST_LIBS)

unit_tests += tests/unit/test_mpstat_cpus
tests_unit_test_mpstat_cpus_LDADD = $(ACCT_TEST_LIBS)

SYMBOLIZER_TEST_LIBS = libfixtures.a libsymbolizerd.a libsymbolizer.a $(SYS_TEST_LIBS) $(DW_LIBS) $(IBERTY_LIBS)

unit_tests += tests/unit/test_sym_cache
tests_unit_test_sym_cache_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_sym_cfi
tests_unit_test_sym_cfi_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_sym_demangle
tests_unit_test_sym_demangle_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_sym_lookup
tests_unit_test_sym_lookup_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_sym_parse
tests_unit_test_sym_parse_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_sym_proto
tests_unit_test_sym_proto_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_sym_remote
tests_unit_test_sym_remote_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_sym_remote_helpers
tests_unit_test_sym_remote_helpers_LDADD = $(SYMBOLIZER_TEST_LIBS)

unit_tests += tests/unit/test_unwind
tests_unit_test_unwind_LDADD = $(SYMBOLIZER_TEST_LIBS)

PROF_TEST_LIBS = libfixtures.a libprof.a libprobes.a libsymbolizer.a libkpbpf.a $(SYS_TEST_LIBS) $(DL_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_capture
tests_unit_test_capture_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_capture_clear
tests_unit_test_capture_clear_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_capture_in_place
tests_unit_test_capture_in_place_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_disk
tests_unit_test_disk_LDADD = $(PROF_TEST_LIBS)
unit_tests += tests/unit/test_disk_damaged
tests_unit_test_disk_damaged_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_capture_copy
tests_unit_test_capture_copy_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_capture_overwrite
tests_unit_test_capture_overwrite_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_capture_random
tests_unit_test_capture_random_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_capture_packed
tests_unit_test_capture_packed_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_packed
tests_unit_test_packed_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_encoder
tests_unit_test_encoder_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_encoder_copies
tests_unit_test_encoder_copies_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_encoder_offcpu
tests_unit_test_encoder_offcpu_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_encoder_runs
tests_unit_test_encoder_runs_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_events
tests_unit_test_events_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_budget
tests_unit_test_budget_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_only
tests_unit_test_only_LDADD = $(PROF_TEST_LIBS)
tests_unit_test_only_LDFLAGS = -Wl,--wrap=map_update

unit_tests += tests/unit/test_profiler
tests_unit_test_profiler_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_profiler_commands
tests_unit_test_profiler_commands_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_profiler_life
tests_unit_test_profiler_life_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_record
tests_unit_test_record_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_tally
tests_unit_test_tally_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_taskevents
tests_unit_test_taskevents_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_tasks
tests_unit_test_tasks_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_tasks_kept
tests_unit_test_tasks_kept_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_tasks_users
tests_unit_test_tasks_users_LDADD = libcapture.a $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_userwatch
tests_unit_test_userwatch_LDADD = libcapture.a $(PROF_TEST_LIBS)
tests_unit_test_userwatch_LDFLAGS = -Wl,--wrap=user_events_open,--wrap=user_events_listen,--wrap=user_events_read \
	-Wl,--wrap=helpers_read,--wrap=proc_in_first_pid_namespace,--wrap=proc_in_first_user_namespace

unit_tests += tests/unit/test_user_events
tests_unit_test_user_events_LDADD = libsys.a libbase.a $(CMOCKA_LIBS)
tests_unit_test_user_events_LDFLAGS = -Wl,--wrap=recvfrom

unit_tests += tests/unit/test_tasks_shown
tests_unit_test_tasks_shown_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_tasks_random
tests_unit_test_tasks_random_LDADD = $(PROF_TEST_LIBS)

unit_tests += tests/unit/test_tracefs
tests_unit_test_tracefs_LDADD = $(PROF_TEST_LIBS)

VIEW_TEST_LIBS = libfixtures.a libformats.a libcapture.a libsymbolizer.a $(SYS_TEST_LIBS) $(Z_LIBS)

unit_tests += tests/unit/test_breakdown
tests_unit_test_breakdown_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_decode
tests_unit_test_decode_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_stackmap
tests_unit_test_stackmap_LDADD = $(VIEW_TEST_LIBS)
unit_tests += tests/unit/test_flame
tests_unit_test_flame_LDADD = $(VIEW_TEST_LIBS)
unit_tests += tests/unit/test_html
tests_unit_test_html_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_flat
tests_unit_test_flat_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_folded
tests_unit_test_folded_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_functions
tests_unit_test_functions_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_mapindex
tests_unit_test_mapindex_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_perfdata
tests_unit_test_perfdata_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_perfdata_file
tests_unit_test_perfdata_file_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_pprof
tests_unit_test_pprof_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_cputimes
tests_unit_test_cputimes_LDADD = $(VIEW_TEST_LIBS)
unit_tests += tests/unit/test_process_filter
tests_unit_test_process_filter_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_profile
tests_unit_test_profile_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_profile_addresses
tests_unit_test_profile_addresses_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_boots
tests_unit_test_boots_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_difference
tests_unit_test_difference_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_tree
tests_unit_test_tree_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_unwinding
tests_unit_test_unwinding_LDADD = $(VIEW_TEST_LIBS)

# with writers of their own, so with the whole ring
TRACE_TEST_LIBS = libtrace.a libkernel.a libprobes.a libkpbpf.a libproducers.a libring_testing.a $(SYS_TEST_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_acceptor
tests_unit_test_acceptor_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_admission
tests_unit_test_admission_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_catalog
tests_unit_test_catalog_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_clock_map
tests_unit_test_clock_map_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_ctf
tests_unit_test_ctf_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_endpoint
tests_unit_test_endpoint_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_follow
tests_unit_test_follow_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_listener
tests_unit_test_listener_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_listener_bad_input
tests_unit_test_listener_bad_input_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_listener_limits
tests_unit_test_listener_limits_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_listener_marks
tests_unit_test_listener_marks_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_number_length
tests_unit_test_number_length_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_producers
tests_unit_test_producers_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_producers_limits
tests_unit_test_producers_limits_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_ring
tests_unit_test_ring_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_measure
tests_unit_test_measure_LDADD = $(TRACE_TEST_LIBS)
tests_unit_test_measure_LDFLAGS = -Wl,--wrap=pthread_create
unit_tests += tests/unit/test_snapshot
tests_unit_test_snapshot_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_sync_rounds
tests_unit_test_sync_rounds_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_trace
tests_unit_test_trace_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_trace_annotations
tests_unit_test_trace_annotations_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_trace_text
tests_unit_test_trace_text_LDADD = $(TRACE_TEST_LIBS)

unit_tests += tests/unit/test_user_turns
tests_unit_test_user_turns_LDADD = $(TRACE_TEST_LIBS)

FS_TEST_LIBS = libfixtures.a libfs.a libviews.a libprof.a libtrace.a libkernel.a libprobes.a libproducers.a libring.a libacct.a libkpbpf.a libformats.a \
	libcapture.a libsymbolizer.a $(SYS_TEST_LIBS) $(Z_LIBS) $(FUSE_LIBS) $(DL_LIBS) $(BPF_LIBS)

unit_tests += tests/unit/test_ctl_words
tests_unit_test_ctl_words_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_dirtab
tests_unit_test_dirtab_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_kperr
tests_unit_test_kperr_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_lazy
tests_unit_test_lazy_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_metrics
tests_unit_test_metrics_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_options
tests_unit_test_options_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_parked
tests_unit_test_parked_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_pipes
tests_unit_test_pipes_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_intervals
tests_unit_test_intervals_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_query
tests_unit_test_query_LDADD = $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_quota
tests_unit_test_quota_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_session
tests_unit_test_session_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_turns
tests_unit_test_turns_LDADD = $(FS_TEST_LIBS)

unit_tests += tests/unit/test_viewmodel
tests_unit_test_viewmodel_LDADD = $(FS_TEST_LIBS)

TUI_TEST_LIBS = libtui.a $(VIEW_TEST_LIBS)

unit_tests += tests/unit/test_tui_fit
tests_unit_test_tui_fit_LDADD = $(TUI_TEST_LIBS)

unit_tests += tests/unit/test_tui_rows
tests_unit_test_tui_rows_LDADD = $(TUI_TEST_LIBS)
