# what this folder adds to the one Makefile
# trace: everything behind kptrace, kptrace_ctl and kprintx
noinst_LIBRARIES += libtrace.a
libtrace_a_SOURCES = \
	%D%/arguments.h \
	%D%/conversion.h \
	%D%/escape.h \
	%D%/follow.c \
	%D%/follow.h \
	%D%/follow_kernel.c \
	%D%/follow_kernel.h \
	%D%/format_plan.c \
	%D%/format_plan.h \
	%D%/trace_records.c \
	%D%/trace_records.h \
	%D%/trace_metrics.c \
	%D%/trace_metrics.h \
	%D%/trace_spans.c \
	%D%/trace_spans.h \
	%D%/trace_text.c \
	%D%/trace_text.h \
	%D%/trace_annotations.c \
	%D%/trace_annotations.h \
	%D%/merge.c \
	%D%/merge.h \
	%D%/merge_kernel.c \
	%D%/merge_state.h \
	%D%/number.c \
	%D%/number.h \
	%D%/number_length.c \
	%D%/number_length.h \
	%D%/text_event.h \
	%D%/text_length.c \
	%D%/text_length.h \
	%D%/reading.c \
	%D%/reading.h \
	%D%/measure.c \
	%D%/measure.h \
	%D%/snapshot.c \
	%D%/snapshot.h \
	%D%/snapshot_budget.c \
	%D%/snapshot_budget.h \
	%D%/snapshot_take.c \
	%D%/clock_map.c \
	%D%/clock_map.h \
	%D%/messages.c \
	%D%/messages.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/tracefile.c \
	%D%/tracefile.h \
	%D%/ctf/ctf.c %D%/ctf/ctf.h \
	%D%/ctf/ctf_class.c %D%/ctf/ctf_class.h \
	%D%/ctf/ctf_packet.c %D%/ctf/ctf_packet.h
