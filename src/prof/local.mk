# prof: everything behind kpctl and kpdata; one file a line, sorted
noinst_LIBRARIES += libprof.a
libprof_a_SOURCES = \
	%D%/budget.c \
	%D%/budget.h \
	%D%/capture.c \
	%D%/capture.h \
	%D%/capture_blocks.c \
	%D%/capture_copy.c \
	%D%/capture_disk.c \
	%D%/capture_pack.c \
	%D%/capture_read.c \
	%D%/capture_state.h \
	%D%/cursor.c \
	%D%/disk.c \
	%D%/disk.h \
	%D%/disk_index.c \
	%D%/disk_index.h \
	%D%/disk_journal.c \
	%D%/disk_journal.h \
	%D%/encoder.c \
	%D%/encoder.h \
	%D%/event_offcpu.c %D%/event_offcpu.h \
	%D%/event_parse.c \
	%D%/event_parse.h \
	%D%/events.c \
	%D%/events.h \
	%D%/offcpu.c %D%/offcpu.h \
	%D%/offcpu_code.c %D%/offcpu_code.h \
	%D%/only.c %D%/only.h \
	%D%/only_filter.c %D%/only_filter.h \
	%D%/only_points.c %D%/only_points.h \
	%D%/only_steps.c %D%/only_steps.h \
	%D%/packed.c %D%/packed.h %D%/packed_form.h \
	%D%/packer.c \
	%D%/profiler.c \
	%D%/profiler.h \
	%D%/profiler_change.c \
	%D%/profiler_disk.c \
	%D%/profiler_events.c \
	%D%/profiler_hooks.h \
	%D%/profiler_image.c \
	%D%/profiler_load.c \
	%D%/profiler_machine.c \
	%D%/profiler_owner.c \
	%D%/profiler_run.c \
	%D%/profiler_sources.c \
	%D%/profiler_state.h \
	%D%/profiler_stats.c %D%/profiler_times.c \
	%D%/readers.c \
	%D%/readers.h \
	%D%/record.c \
	%D%/record_check.c \
	%D%/record.h \
	%D%/rings.c \
	%D%/rings.h \
	%D%/sample.c %D%/sample.h \
	%D%/sample_owner.c %D%/sample_owner.h \
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
	%D%/tasks_show.c \
	%D%/tasks_state.h \
	%D%/tasks_users.c \
	%D%/tasks_walk.c \
	%D%/userwatch.c %D%/userwatch.h \
	%D%/varint.h
