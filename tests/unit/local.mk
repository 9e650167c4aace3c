# one program a module: tests/unit/test_X.c tests src/*/X.c. Add both lines for a new one.
check_PROGRAMS += tests/unit/test_units
TESTS += tests/unit/test_units
tests_unit_test_units_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_units_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_units_LDADD = libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_ratelimit
TESTS += tests/unit/test_ratelimit
tests_unit_test_ratelimit_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_ratelimit_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ratelimit_LDADD = libbase.a $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_mpstat
TESTS += tests/unit/test_mpstat
tests_unit_test_mpstat_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_mpstat_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_mpstat_LDADD = libacct.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_procstat
TESTS += tests/unit/test_procstat
tests_unit_test_procstat_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_procstat_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_procstat_LDADD = libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_trace
TESTS += tests/unit/test_trace
tests_unit_test_trace_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_trace_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_trace_LDADD = libtrace.a libring.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)
check_PROGRAMS += tests/unit/test_decode
TESTS += tests/unit/test_decode
tests_unit_test_decode_SOURCES = tests/unit/test_decode.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_decode_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_decode_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_decode_LDADD = libview.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/unit/test_mapindex
TESTS += tests/unit/test_mapindex
tests_unit_test_mapindex_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_mapindex_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_mapindex_LDADD = libview.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/unit/test_profile
TESTS += tests/unit/test_profile
tests_unit_test_profile_SOURCES = tests/unit/test_profile.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_profile_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_profile_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_profile_LDADD = libview.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/unit/test_perf
TESTS += tests/unit/test_perf
tests_unit_test_perf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_perf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_perf_LDADD = libsys.a libbase.a $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_events
TESTS += tests/unit/test_events
tests_unit_test_events_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_events_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_events_LDADD = libprof.a libsys.a libbase.a $(PFM_LIBS) $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_proc
TESTS += tests/unit/test_proc
tests_unit_test_proc_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_proc_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_proc_LDADD = libsys.a libbase.a $(CMOCKA_LIBS) -lpthread

EXTRA_DIST += %D%/capture_streams.h %D%/decode.h %D%/leftovers.h %D%/told.h

check_PROGRAMS += tests/unit/test_record
TESTS += tests/unit/test_record
tests_unit_test_record_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_record_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_record_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(PFM_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_tally
TESTS += tests/unit/test_tally
tests_unit_test_tally_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tally_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_tally_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(PFM_LIBS) $(GLIB_LIBS)
check_PROGRAMS += tests/unit/test_flat
TESTS += tests/unit/test_flat
tests_unit_test_flat_SOURCES = tests/unit/test_flat.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_flat_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_flat_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_flat_LDADD = libview.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

SYM_FIXTURE = tests/unit/symfixture.c tests/unit/symfixture.h
SYM_PARSE_LIBS = libsymparse.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(DW_LIBS) \
	$(IBERTY_LIBS)

check_PROGRAMS += tests/unit/test_sym_cache
TESTS += tests/unit/test_sym_cache
tests_unit_test_sym_cache_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sym_cache_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sym_cache_LDADD = libsym.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_sym_demangle
TESTS += tests/unit/test_sym_demangle
tests_unit_test_sym_demangle_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sym_demangle_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sym_demangle_LDADD = $(SYM_PARSE_LIBS)

check_PROGRAMS += tests/unit/test_sym_lookup
TESTS += tests/unit/test_sym_lookup
tests_unit_test_sym_lookup_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sym_lookup_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sym_lookup_LDADD = $(SYM_PARSE_LIBS)

check_PROGRAMS += tests/unit/test_sym_parse
TESTS += tests/unit/test_sym_parse
tests_unit_test_sym_parse_SOURCES = tests/unit/test_sym_parse.c $(SYM_FIXTURE)
tests_unit_test_sym_parse_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sym_parse_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sym_parse_LDADD = $(SYM_PARSE_LIBS)

check_PROGRAMS += tests/unit/test_sym_proto
TESTS += tests/unit/test_sym_proto
tests_unit_test_sym_proto_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sym_proto_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sym_proto_LDADD = libsym.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_sym_remote
TESTS += tests/unit/test_sym_remote
tests_unit_test_sym_remote_SOURCES = tests/unit/test_sym_remote.c $(SYM_FIXTURE)
tests_unit_test_sym_remote_CPPFLAGS = $(UNIT_CPPFLAGS) -DTOP_BUILDDIR='"$(abs_top_builddir)"'
tests_unit_test_sym_remote_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sym_remote_LDADD = $(SYM_PARSE_LIBS) -lpthread

check_PROGRAMS += tests/unit/test_capture
TESTS += tests/unit/test_capture
tests_unit_test_capture_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_capture_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_capture_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_encoder
TESTS += tests/unit/test_encoder
tests_unit_test_encoder_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_encoder_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_encoder_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_capture_random
TESTS += tests/unit/test_capture_random
tests_unit_test_capture_random_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_capture_random_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_capture_random_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_tasks
TESTS += tests/unit/test_tasks
tests_unit_test_tasks_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tasks_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_tasks_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)
# views, through view_fixture.h
VIEW_TEST_LDADD = libview.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)
EXTRA_DIST += %D%/view_fixture.h

check_PROGRAMS += tests/unit/test_tree
TESTS += tests/unit/test_tree
tests_unit_test_tree_SOURCES = tests/unit/test_tree.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_tree_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tree_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_tree_LDADD = $(VIEW_TEST_LDADD)

check_PROGRAMS += tests/unit/test_folded
TESTS += tests/unit/test_folded
tests_unit_test_folded_SOURCES = tests/unit/test_folded.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_folded_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_folded_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_folded_LDADD = $(VIEW_TEST_LDADD)
FS_UNIT_LIBS = libfs.a libprof.a libtrace.a libring.a libacct.a libview.a libsym.a libsys.a libbase.a \
	$(CMOCKA_LIBS) $(Z_LIBS) $(FUSE_LIBS) $(PFM_LIBS) $(GLIB_LIBS) -lpthread

check_PROGRAMS += tests/unit/test_ctl
TESTS += tests/unit/test_ctl
tests_unit_test_ctl_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_ctl_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ctl_LDADD = $(FS_UNIT_LIBS)

check_PROGRAMS += tests/unit/test_dirtab
TESTS += tests/unit/test_dirtab
tests_unit_test_dirtab_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_dirtab_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_dirtab_LDADD = $(FS_UNIT_LIBS)

check_PROGRAMS += tests/unit/test_kperr
TESTS += tests/unit/test_kperr
tests_unit_test_kperr_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_kperr_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_kperr_LDADD = $(FS_UNIT_LIBS)

check_PROGRAMS += tests/unit/test_mounts
TESTS += tests/unit/test_mounts
tests_unit_test_mounts_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_mounts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_mounts_LDADD = libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_options
TESTS += tests/unit/test_options
tests_unit_test_options_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_options_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_options_LDADD = $(FS_UNIT_LIBS)

check_PROGRAMS += tests/unit/test_tasks_random
TESTS += tests/unit/test_tasks_random
tests_unit_test_tasks_random_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tasks_random_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_tasks_random_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_flame
TESTS += tests/unit/test_flame
tests_unit_test_flame_SOURCES = tests/unit/test_flame.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_flame_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_flame_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_flame_LDADD = $(VIEW_TEST_LDADD)
check_PROGRAMS += tests/unit/test_taskevents
TESTS += tests/unit/test_taskevents
tests_unit_test_taskevents_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_taskevents_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_taskevents_LDADD = libprof.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_profiler
TESTS += tests/unit/test_profiler
tests_unit_test_profiler_CPPFLAGS = $(UNIT_CPPFLAGS) -DTOP_BUILDDIR='"$(abs_top_builddir)"'
tests_unit_test_profiler_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_profiler_LDADD = libprof.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(PFM_LIBS) $(GLIB_LIBS)
check_PROGRAMS += tests/unit/test_profiler_life
TESTS += tests/unit/test_profiler_life
tests_unit_test_profiler_life_CPPFLAGS = $(UNIT_CPPFLAGS) -DTOP_BUILDDIR='"$(abs_top_builddir)"'
tests_unit_test_profiler_life_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_profiler_life_LDADD = libprof.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(PFM_LIBS) $(GLIB_LIBS)
VIEWING = tests/fixtures/viewing.c tests/fixtures/viewing.h tests/fixtures/gen.c tests/fixtures/gen.h
check_PROGRAMS += tests/unit/test_perfdata
TESTS += tests/unit/test_perfdata
tests_unit_test_perfdata_SOURCES = tests/unit/test_perfdata.c $(VIEWING)
tests_unit_test_perfdata_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_perfdata_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_perfdata_LDADD = libview.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/unit/test_text
TESTS += tests/unit/test_text
tests_unit_test_text_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_text_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_text_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ring
TESTS += tests/unit/test_ring
tests_unit_test_ring_SOURCES = tests/unit/test_ring.c tests/race/fixture.h
tests_unit_test_ring_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_ring_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ring_LDADD = libring_testing.a $(CMOCKA_LIBS) -lpthread

check_PROGRAMS += tests/unit/test_breakdown
TESTS += tests/unit/test_breakdown
tests_unit_test_breakdown_SOURCES = tests/unit/test_breakdown.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_breakdown_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_breakdown_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_breakdown_LDADD = $(VIEW_TEST_LDADD)
check_PROGRAMS += tests/unit/test_pprof
TESTS += tests/unit/test_pprof
tests_unit_test_pprof_SOURCES = tests/unit/test_pprof.c $(VIEWING)
tests_unit_test_pprof_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pprof_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pprof_LDADD = libview.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/unit/test_subset
TESTS += tests/unit/test_subset
tests_unit_test_subset_SOURCES = tests/unit/test_subset.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_subset_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_subset_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_subset_LDADD = libview.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/unit/test_doctor
TESTS += tests/unit/test_doctor
tests_unit_test_doctor_SOURCES = tests/unit/test_doctor.c src/cmd/doctor.c src/cmd/doctor.h
tests_unit_test_doctor_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_doctor_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_doctor_LDADD = $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_perf_count
TESTS += tests/unit/test_perf_count
tests_unit_test_perf_count_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_perf_count_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_perf_count_LDADD = libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)
check_PROGRAMS += tests/unit/test_metrics
TESTS += tests/unit/test_metrics
tests_unit_test_metrics_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_metrics_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_metrics_LDADD = $(VIEW_TEST_LDADD)

check_PROGRAMS += tests/unit/test_names
TESTS += tests/unit/test_names
tests_unit_test_names_SOURCES = tests/unit/test_names.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_names_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_names_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_names_LDADD = $(VIEW_TEST_LDADD)
# the programs that are attached; with writers of their own, so the whole ring
TRACE_TEST_LDADD = libtrace.a libring_testing.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) -lpthread
check_PROGRAMS += tests/unit/test_stamps
TESTS += tests/unit/test_stamps
tests_unit_test_stamps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_stamps_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_stamps_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_line
TESTS += tests/unit/test_line
tests_unit_test_line_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_line_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_line_LDADD = $(TRACE_TEST_LDADD)

EXTRA_DIST += tests/unit/tracing.h
check_PROGRAMS += tests/unit/test_snapshot
TESTS += tests/unit/test_snapshot
tests_unit_test_snapshot_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_snapshot_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_snapshot_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_ctf
TESTS += tests/unit/test_ctf
tests_unit_test_ctf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_ctf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ctf_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_marks
TESTS += tests/unit/test_marks
tests_unit_test_marks_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_marks_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_marks_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_lazy
TESTS += tests/unit/test_lazy
tests_unit_test_lazy_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_lazy_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lazy_LDADD = libfs.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) -lpthread
# the programs that are attached; with writers of their own, so the whole ring
check_PROGRAMS += tests/unit/test_catalog
TESTS += tests/unit/test_catalog
tests_unit_test_catalog_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_catalog_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_catalog_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_producers
TESTS += tests/unit/test_producers
tests_unit_test_producers_SOURCES = tests/unit/test_producers.c tests/race/fixture.h
tests_unit_test_producers_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_producers_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_producers_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_places
TESTS += tests/unit/test_places
tests_unit_test_places_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_places_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_places_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_sync_rounds
TESTS += tests/unit/test_sync_rounds
tests_unit_test_sync_rounds_SOURCES = tests/unit/test_sync_rounds.c tests/race/fixture.h
tests_unit_test_sync_rounds_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sync_rounds_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sync_rounds_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_listener
TESTS += tests/unit/test_listener
tests_unit_test_listener_SOURCES = tests/unit/test_listener.c tests/race/fixture.h
tests_unit_test_listener_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_listener_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_listener_LDADD = $(TRACE_TEST_LDADD)
check_PROGRAMS += tests/unit/test_follow
TESTS += tests/unit/test_follow
tests_unit_test_follow_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_follow_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_follow_LDADD = $(TRACE_TEST_LDADD)

check_PROGRAMS += tests/unit/test_viewmodel
TESTS += tests/unit/test_viewmodel
tests_unit_test_viewmodel_SOURCES = tests/unit/test_viewmodel.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_viewmodel_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_viewmodel_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_viewmodel_LDADD = libfs.a libview.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) \
	$(GLIB_LIBS) $(Z_LIBS) -lpthread

check_PROGRAMS += tests/unit/test_pipes
TESTS += tests/unit/test_pipes
tests_unit_test_pipes_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pipes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pipes_LDADD = libfs.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) -lpthread

check_PROGRAMS += tests/unit/test_unwind
TESTS += tests/unit/test_unwind
tests_unit_test_unwind_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_unwind_CFLAGS = $(UNIT_CFLAGS) $(DW_CFLAGS)
tests_unit_test_unwind_LDADD = libsym.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS)

check_PROGRAMS += tests/unit/test_sym_cfi
TESTS += tests/unit/test_sym_cfi
tests_unit_test_sym_cfi_SOURCES = tests/unit/test_sym_cfi.c $(SYM_FIXTURE)
tests_unit_test_sym_cfi_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sym_cfi_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sym_cfi_LDADD = $(SYM_PARSE_LIBS)

check_PROGRAMS += tests/unit/test_unwinding
TESTS += tests/unit/test_unwinding
tests_unit_test_unwinding_SOURCES = tests/unit/test_unwinding.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_unit_test_unwinding_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_unwinding_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_unwinding_LDADD = libview.a libsym.a libsys.a libbase.a $(CMOCKA_LIBS) $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/unit/test_quota tests/unit/test_turns
TESTS += tests/unit/test_quota tests/unit/test_turns
tests_unit_test_quota_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_quota_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_quota_LDADD = $(FS_UNIT_LIBS)
tests_unit_test_turns_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_turns_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_turns_LDADD = $(FS_UNIT_LIBS)

check_PROGRAMS += tests/unit/test_buildid
TESTS += tests/unit/test_buildid
tests_unit_test_buildid_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_buildid_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_buildid_LDADD = libsys.a libbase.a $(CMOCKA_LIBS)
