# symbolizer: sends requests for names to kprof-symbols, caches the results, unwinds copied stacks
noinst_LIBRARIES += libsymbolizer.a
libsymbolizer_a_SOURCES = \
	%D%/result_wire.c %D%/result_wire.h \
	%D%/cache.c %D%/cache.h \
	%D%/file_functions.c %D%/file_functions.h \
	%D%/helpers.c %D%/helpers.h \
	%D%/proto.c %D%/proto.h \
	%D%/remote.c %D%/remote.h \
	%D%/remote_find.c \
	%D%/remote_state.h \
	%D%/remote_parser.c \
	%D%/unwind_row.h \
	%D%/unwind_table.c %D%/unwind_table.h \
	%D%/symbols.c %D%/symbols.h \
	%D%/symbols_arena.c %D%/symbols_arena.h \
	%D%/unwind.c %D%/unwind.h
libsymbolizer_a_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS)
libsymbolizer_a_CPPFLAGS = $(AM_CPPFLAGS) -DKPROFS_LIBEXECDIR='"$(libexecdir)/kprofs"'
