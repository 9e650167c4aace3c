# capture: the records of a capture as a model: processes, stacks, events, names of functions
noinst_LIBRARIES += libcapture.a
libcapture_a_SOURCES = \
	%D%/backtraces.c %D%/backtraces.h \
	%D%/boots.c %D%/boots.h \
	%D%/symbolize.c %D%/symbolize.h \
	%D%/cputimes.c %D%/cputimes.h %D%/decode.c %D%/decode.h \
	%D%/dump.c %D%/dump.h \
	%D%/intervals.c %D%/intervals.h \
	%D%/mapindex.c %D%/mapindex.h \
	%D%/functions.c %D%/functions.h \
	%D%/pair_map.c %D%/pair_map.h \
	%D%/processes.c %D%/processes.h \
	%D%/processes_find.c \
	%D%/processes_state.h \
	%D%/profile.c %D%/profile.h \
	%D%/profile_frames.c %D%/profile_frames.h \
	%D%/profile_places.c %D%/profile_places.h \
	%D%/profile_wakers.c %D%/profile_wakers.h \
	%D%/stacks.c %D%/stacks.h \
	%D%/process_filter.c %D%/process_filter.h \
	%D%/query.c %D%/query.h \
	%D%/query_filter.c %D%/query_filter.h \
	%D%/table.h \
	%D%/unwinding.c %D%/unwinding.h
