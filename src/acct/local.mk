# what this folder adds to the one Makefile
# acct: everything behind mpstat and mpstat-raw
noinst_LIBRARIES += libacct.a
libacct_a_SOURCES = \
	%D%/accounting.c \
	%D%/accounting.h \
	%D%/source.h \
	%D%/source_none.c \
	%D%/source_procstat.c
