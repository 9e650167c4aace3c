# sym: addresses to names. libsym asks, libsymparse reads files: in kprof-symbols and in tests only
noinst_LIBRARIES += libsym.a libsymparse.a
libsym_a_SOURCES = \
	%D%/answers.c %D%/answers.h \
	%D%/cache.c %D%/cache.h \
	%D%/helpers.c %D%/helpers.h \
	%D%/proto.c %D%/proto.h \
	%D%/remote.c %D%/remote.h %D%/remote_find.c %D%/remote_internal.h %D%/remote_talk.c \
	%D%/row.h \
	%D%/rows.c %D%/rows.h \
	%D%/symbols.c %D%/symbols.h \
	%D%/unwind.c %D%/unwind.h
libsym_a_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS)
libsym_a_CPPFLAGS = $(AM_CPPFLAGS) -DKPROFS_LIBEXECDIR='"$(libexecdir)/kprofs"'
libsymparse_a_SOURCES = \
	%D%/cfi.c %D%/cfi.h \
	%D%/demangle.c %D%/demangle.h \
	%D%/dwarflines.c %D%/dwarflines.h \
	%D%/elfsyms.c %D%/elfsyms.h \
	%D%/image.c %D%/image.h \
	%D%/local.c %D%/local.h \
	%D%/lookup.c %D%/lookup.h \
	%D%/parse.c %D%/parse.h \
	%D%/plt.c %D%/plt.h \
	%D%/textsyms.c %D%/textsyms.h
libsymparse_a_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS)
