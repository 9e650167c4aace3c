# symbolizerd: the program kprof-symbols, started by kprofs and kprof: opens and parses files that any user may
# have written, in a sandbox. The parsers are a library, for the tests.
noinst_LIBRARIES += libsymbolizerd.a
libsymbolizerd_a_SOURCES = \
	%D%/cfi.c %D%/cfi.h \
	%D%/demangle.c %D%/demangle.h \
	%D%/dwarflines.c %D%/dwarflines.h \
	%D%/elfsyms.c %D%/elfsyms.h \
	%D%/staticprobes.c \
	%D%/functions.c %D%/functions.h %D%/staticprobes.c \
	%D%/image.c %D%/image.h \
	%D%/jitdump.c %D%/jitdump.h \
	%D%/local.c %D%/local.h \
	%D%/addr_match.c %D%/addr_match.h \
	%D%/parse.c %D%/parse.h \
	%D%/plt.c %D%/plt.h \
	%D%/textsyms.c %D%/textsyms.h
libsymbolizerd_a_CFLAGS = $(AM_CFLAGS) $(DW_CFLAGS)

helperdir = $(libexecdir)/kprofs
helper_PROGRAMS = kprof-symbols
kprof_symbols_SOURCES = \
	%D%/fetcher.c \
	%D%/helper.h \
	%D%/main.c \
	%D%/opener.c \
	%D%/parser.c \
	%D%/reader.c
kprof_symbols_LDADD = libsymbolizerd.a libsymbolizer.a libsys.a libbase.a \
	$(DW_LIBS) $(GLIB_LIBS) $(SECCOMP_LIBS) $(CAP_LIBS) $(IBERTY_LIBS) -ldl
