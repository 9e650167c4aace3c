# what this folder adds to the one Makefile
# trace: everything behind kptrace, kptrace_ctl and kprintx
noinst_LIBRARIES += libtrace.a
libtrace_a_SOURCES = \
	%D%/arguments.h \
	%D%/catalog.c \
	%D%/catalog.h \
	%D%/ctf.c \
	%D%/ctf.h \
	%D%/ctf_class.c \
	%D%/ctf_class.h \
	%D%/ctf_packet.c \
	%D%/ctf_packet.h \
	%D%/discard.c \
	%D%/discard.h \
	%D%/endpoint.c \
	%D%/endpoint.h \
	%D%/follow.c \
	%D%/follow.h \
	%D%/form.c \
	%D%/form.h \
	%D%/line.c \
	%D%/line.h \
	%D%/hangup.c \
	%D%/hangup.h \
	%D%/listener.c \
	%D%/listener.h \
	%D%/marks.c \
	%D%/marks.h \
	%D%/merge.c \
	%D%/merge.h \
	%D%/number.c \
	%D%/number.h \
	%D%/producers.c \
	%D%/producers.h \
	%D%/reading.c \
	%D%/reading.h \
	%D%/producers_books.c \
	%D%/producers_events.c \
	%D%/producers_state.h \
	%D%/receive.c \
	%D%/receive.h \
	%D%/reports.c \
	%D%/reports.h \
	%D%/session.c \
	%D%/session.h \
	%D%/shares.c \
	%D%/shares.h \
	%D%/snapshot.c \
	%D%/snapshot.h \
	%D%/stamps.c \
	%D%/stamps.h \
	%D%/textring.c \
	%D%/textring.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/tracefile.c \
	%D%/tracefile.h
