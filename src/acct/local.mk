# what this folder adds to the one Makefile
# acct: everything behind mpstat and mpstat-raw
noinst_LIBRARIES += libacct.a
libacct_a_SOURCES = \
	%D%/accounting.c \
	%D%/accounting.h \
	%D%/attach.c \
	%D%/attach.h \
	%D%/cell_code.c \
	%D%/cell_code.h \
	%D%/cells.c \
	%D%/cells.h \
	%D%/exact.c \
	%D%/exact.h \
	%D%/exact_times.h \
	%D%/row.c \
	%D%/row.h \
	%D%/sched.c \
	%D%/sched.h \
	%D%/source.h \
	%D%/source_none.c \
	%D%/source_procstat.c \
	%D%/task_code.c \
	%D%/task_code.h \
	%D%/times_code.c \
	%D%/times_code.h \
	%D%/times_env.c \
	%D%/times_env.h
