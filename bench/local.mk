# the programs of bench/run; `make check` builds them too, so that they stay compilable
bench_tools = %D%/bare_event %D%/busy %D%/cpu_of %D%/faulting %D%/kernel_programs %D%/many %D%/reading %D%/samples %D%/slots %D%/ticking
check_PROGRAMS += $(bench_tools)
EXTRA_DIST += %D%/README %D%/run %D%/compare %D%/slots.bash %D%/capture.sh \
	%D%/event.sh %D%/html.sh %D%/html_paint.py %D%/idle.sh %D%/kernel.sh %D%/kpdata.sh %D%/mark.sh %D%/mpstat.sh \
	%D%/offcpu.sh %D%/only.sh %D%/own.sh %D%/probes.sh %D%/query.sh %D%/sampling.sh %D%/sessions.sh %D%/start.sh \
	%D%/state.sh %D%/threads.sh %D%/trace-idle.sh %D%/trace-open.sh %D%/trace-read.sh %D%/unwind.sh \
	%D%/views.sh

%C%_bare_event_SOURCES = %D%/bare_event.c
%C%_bare_event_LDADD = libkpbpf.a libsys.a libbase.a $(GLIB_LIBS) $(BPF_LIBS) -lpthread
%C%_busy_SOURCES = %D%/busy.c
# stacks need frame pointers, and each call a frame
%C%_busy_CFLAGS = $(AM_CFLAGS) -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls
%C%_busy_LDADD = -lpthread
%C%_cpu_of_SOURCES = %D%/cpu_of.c
%C%_faulting_SOURCES = %D%/faulting.c
%C%_kernel_programs_SOURCES = %D%/kernel_programs.c %D%/timing.h
%C%_kernel_programs_LDADD = libkernel.a libprobes.a libkpbpf.a libsys.a libbase.a $(GLIB_LIBS) $(BPF_LIBS) -lpthread
%C%_many_SOURCES = %D%/many.c
%C%_reading_SOURCES = %D%/reading.c
%C%_samples_SOURCES = %D%/samples.c
%C%_samples_LDADD = libfixtures.a $(GLIB_LIBS)
%C%_slots_SOURCES = %D%/slots.c
%C%_slots_LDADD = -lpthread
%C%_ticking_SOURCES = %D%/ticking.c
%C%_ticking_LDADD = libkprof.la
%C%_ticking_LINK = $(LIBTOOL_LINK)

# events with libkprof, and the same with LTTng-UST if its headers are installed
bench_tools += %D%/event %D%/kinds %D%/serve
check_PROGRAMS += %D%/event %D%/kinds %D%/serve
EXTRA_DIST += %D%/timing.h %D%/lttng_event_tp.h
%C%_event_SOURCES = %D%/event.c %D%/timing.h
%C%_event_LDADD = libkprof.la -lpthread
%C%_event_LINK = $(LIBTOOL_LINK)
%C%_kinds_SOURCES = %D%/kinds.c
%C%_kinds_LDADD = libkprof.la
%C%_kinds_LINK = $(LIBTOOL_LINK)
%C%_serve_SOURCES = %D%/serve.c tests/race/peer.c tests/race/peer.h
%C%_serve_LDADD = libring.a libsys.a
if HAVE_LTTNG_UST
bench_tools += %D%/lttng_event
check_PROGRAMS += %D%/lttng_event
endif
EXTRA_PROGRAMS += %D%/lttng_event
%C%_lttng_event_SOURCES = %D%/lttng_event.c %D%/lttng_event_tp.c %D%/lttng_event_tp.h %D%/timing.h
%C%_lttng_event_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%D%
# no warnings for LTTng's headers
%C%_lttng_event_CFLAGS = -O2 -std=gnu11
%C%_lttng_event_LDADD = $(LTTNG_UST_LIBS)

bench-programs: $(bench_tools)
.PHONY: bench-programs
