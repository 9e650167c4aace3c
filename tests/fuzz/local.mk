# fuzz targets, each with the driver that needs no libFuzzer; with it: tests/fuzz/run
FUZZ_DRIVER = tests/fuzz/driver.c tests/fuzz/fuzz.h

check_PROGRAMS += tests/fuzz/fuzz_decode
TESTS += tests/fuzz/fuzz_decode
tests_fuzz_fuzz_decode_SOURCES = tests/fuzz/fuzz_decode.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_decode_LDADD = libfixtures.a libformats.a libcapture.a libsymbolizer.a libsys.a libbase.a $(GLIB_LIBS) $(Z_LIBS)

check_PROGRAMS += tests/fuzz/fuzz_ctl
TESTS += tests/fuzz/fuzz_ctl
tests_fuzz_fuzz_ctl_SOURCES = tests/fuzz/fuzz_ctl.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_ctl_LDADD = libfs.a libviews.a libprof.a libtrace.a libkernel.a libprobes.a libproducers.a libring.a libacct.a libkpbpf.a libformats.a libcapture.a libsymbolizer.a libsys.a \
	libbase.a $(Z_LIBS) $(FUSE_LIBS) $(GLIB_LIBS) $(DL_LIBS) -lpthread $(BPF_LIBS)

check_PROGRAMS += tests/fuzz/fuzz_ring
TESTS += tests/fuzz/fuzz_ring
tests_fuzz_fuzz_ring_SOURCES = tests/fuzz/fuzz_ring.c tests/fuzz/poolchanges.h tests/race/fixture.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_ring_CPPFLAGS = $(AM_CPPFLAGS) -DRING_TEST_POINTS
tests_fuzz_fuzz_ring_LDADD = libring_testing.a libsys.a $(GLIB_LIBS)

check_PROGRAMS += tests/fuzz/fuzz_trace tests/fuzz/fuzz_tracefile
TESTS += tests/fuzz/fuzz_trace tests/fuzz/fuzz_tracefile
FUZZ_TRACE_LDADD = libtrace.a libkernel.a libprobes.a libkpbpf.a libproducers.a libring_testing.a libsys.a libbase.a $(GLIB_LIBS) -lpthread $(BPF_LIBS)
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz_trace.c tests/fuzz/poolchanges.h tests/unit/tracing.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_trace_CPPFLAGS = $(AM_CPPFLAGS) -DRING_TEST_POINTS
tests_fuzz_fuzz_trace_LDADD = $(FUZZ_TRACE_LDADD)
tests_fuzz_fuzz_tracefile_SOURCES = tests/fuzz/fuzz_tracefile.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_tracefile_LDADD = $(FUZZ_TRACE_LDADD)
check_PROGRAMS += tests/fuzz/fuzz_client
TESTS += tests/fuzz/fuzz_client
tests_fuzz_fuzz_client_SOURCES = tests/fuzz/fuzz_client.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_client_CPPFLAGS = $(AM_CPPFLAGS) -DRING_TEST_POINTS
tests_fuzz_fuzz_client_LDADD = libkprof_testing.a $(GLIB_LIBS) -lpthread
check_PROGRAMS += tests/fuzz/fuzz_attach
TESTS += tests/fuzz/fuzz_attach
tests_fuzz_fuzz_attach_SOURCES = tests/fuzz/fuzz_attach.c tests/race/fixture.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_attach_LDADD = libtrace.a libkernel.a libprobes.a libkpbpf.a libproducers.a libring_testing.a libsys.a libbase.a $(GLIB_LIBS) -lpthread $(BPF_LIBS)
check_PROGRAMS += tests/fuzz/fuzz_elf
TESTS += tests/fuzz/fuzz_elf
tests_fuzz_fuzz_elf_SOURCES = tests/fuzz/fuzz_elf.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_elf_LDADD = libsymbolizerd.a libbase.a $(GLIB_LIBS) $(DW_LIBS)
# what is read off helpers, and what the parser does with names
FUZZ_SYM = tests/fuzz/fuzz_demangle tests/fuzz/fuzz_unwind tests/fuzz/fuzz_helper
check_PROGRAMS += $(FUZZ_SYM)
TESTS += $(FUZZ_SYM)
FUZZ_SYM_LDADD = libsymbolizer.a libsys.a libbase.a $(GLIB_LIBS) -lpthread
tests_fuzz_fuzz_demangle_SOURCES = tests/fuzz/fuzz_demangle.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_demangle_LDADD = libsymbolizerd.a $(FUZZ_SYM_LDADD) $(DW_LIBS) $(IBERTY_LIBS)
tests_fuzz_fuzz_unwind_SOURCES = tests/fuzz/fuzz_unwind.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_unwind_LDADD = $(FUZZ_SYM_LDADD)
tests_fuzz_fuzz_helper_SOURCES = tests/fuzz/fuzz_helper.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_helper_LDADD = $(FUZZ_SYM_LDADD)
check_PROGRAMS += tests/fuzz/fuzz_probe
TESTS += tests/fuzz/fuzz_probe
tests_fuzz_fuzz_probe_SOURCES = tests/fuzz/fuzz_probe.c tests/unit/probes_fixture.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_probe_LDADD = libprobes.a libkpbpf.a libsys.a libbase.a $(GLIB_LIBS) -lpthread $(BPF_LIBS)
EXTRA_DIST += tests/fuzz/run
