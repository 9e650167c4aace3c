# prof: everything behind kpctl and kpdata; one file a line, sorted
noinst_LIBRARIES += libprof.a
libprof_a_SOURCES = \
	%D%/capture.c \
	%D%/capture.h \
	%D%/capture_blocks.c \
	%D%/capture_read.c \
	%D%/capture_state.h \
	%D%/cursor.c \
	%D%/encoder.c \
	%D%/encoder.h \
	%D%/event_offcpu.c %D%/event_offcpu.h \
	%D%/event_parse.c \
	%D%/event_parse.h \
	%D%/events.c \
	%D%/events.h \
	%D%/offcpu.c %D%/offcpu.h \
	%D%/offcpu_code.c %D%/offcpu_code.h \
	%D%/profiler.c \
	%D%/profiler.h \
	%D%/profiler_events.c \
	%D%/profiler_hooks.h \
	%D%/profiler_machine.c \
	%D%/profiler_run.c \
	%D%/profiler_state.h \
	%D%/profiler_stats.c %D%/profiler_times.c \
	%D%/readers.c \
	%D%/readers.h \
	%D%/record.c \
	%D%/record.h \
	%D%/rings.c \
	%D%/rings.h \
	%D%/sample.c %D%/sample.h \
	%D%/sampler.c \
	%D%/sampler.h \
	%D%/sampler_drain.c \
	%D%/sampler_state.h \
	%D%/tally.c \
	%D%/tally.h \
	%D%/taskevents.c \
	%D%/taskevents.h \
	%D%/taskreader.c \
	%D%/taskreader.h \
	%D%/tasks.c \
	%D%/tasks.h \
	%D%/tasks_encode.c \
	%D%/tasks_files.c \
	%D%/tasks_mappings.c \
	%D%/tasks_reap.c \
	%D%/tasks_state.h \
	%D%/tasks_walk.c
