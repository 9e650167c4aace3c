# helper: the program kprof-symbols, which kprofs and kprof start
helperdir = $(libexecdir)/kprofs
helper_PROGRAMS = kprof-symbols
kprof_symbols_SOURCES = \
	%D%/fetcher.c \
	%D%/helper.h \
	%D%/main.c \
	%D%/opener.c \
	%D%/parser.c \
	%D%/reader.c
kprof_symbols_LDADD = libsymparse.a libsym.a libsys.a libbase.a \
	$(DW_LIBS) $(GLIB_LIBS) $(SECCOMP_LIBS) $(CAP_LIBS) $(IBERTY_LIBS) -ldl
