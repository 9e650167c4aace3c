# cmd: the program kprof, one file for each subcommand
bin_PROGRAMS += kprof
kprof_SOURCES = \
	%D%/annotate.c %D%/annotate.h \
	%D%/cmd.c %D%/cmd.h \
	%D%/cmd_annotate.c \
	%D%/cmd_convert.c \
	%D%/cmd_ctl.c \
	%D%/cmd_doctor.c \
	%D%/cmd_dump.c \
	%D%/cmd_flame.c \
	%D%/cmd_list.c \
	%D%/cmd_mark.c \
	%D%/cmd_probe.c \
	%D%/cmd_record.c \
	%D%/cmd_report.c \
	%D%/cmd_script.c \
	%D%/cmd_stat.c \
	%D%/cmd_top.c \
	%D%/cmd_trace.c \
	%D%/call_summary.c %D%/call_summary.h \
	%D%/commands.h \
	%D%/counters.c %D%/counters.h \
	%D%/disasm.c %D%/disasm.h \
	%D%/completions.c %D%/completions.h %D%/completion_values.c %D%/completion_values.h \
	%D%/completion_ctl.c %D%/completion_ctl.h %D%/completion_offer.c %D%/completion_offer.h \
	%D%/convert.c %D%/convert.h \
	%D%/kpctl_client.c %D%/kpctl_client.h \
	%D%/doctor.c %D%/doctor.h %D%/doctor_look.c \
	%D%/eventlist.c %D%/eventlist.h \
	%D%/kpdata_copy.c %D%/kpdata_copy.h \
	%D%/input.c %D%/input_merge.c %D%/input_merge.h %D%/input.h %D%/input_source.c %D%/input_source.h \
	%D%/perf_options.c %D%/perf_options.h \
	%D%/live_pipe.c %D%/live_pipe.h \
	%D%/live_probe.c %D%/live_probe.h \
	%D%/live_trace.c %D%/live_trace.h \
	%D%/pager.c %D%/pager.h \
	%D%/private_server.c %D%/private_server.h \
	%D%/server_notes.c %D%/server_notes.h \
	%D%/launch.c %D%/launch.h \
	%D%/rate.c %D%/rate.h \
	%D%/recent_samples.c %D%/recent_samples.h \
	%D%/report_browser.c %D%/report_browser.h \
	%D%/part.c %D%/part.h \
	%D%/report_input.c %D%/report_input.h \
	%D%/main.c \
	%D%/stat_print.c %D%/stat_print.h %D%/stat_sum.c %D%/stat_sum.h \
	%D%/mount_choice.c %D%/mount_choice.h \
	%D%/progress.c %D%/progress.h \
	%D%/sampling.c %D%/sampling.h \
	%D%/record_output.c %D%/record_output.h %D%/record_target.c %D%/record_target.h \
	%D%/report.c %D%/report.h %D%/report_json.c \
	%D%/top_filter.c %D%/top_filter.h %D%/top_text.c %D%/top_text.h \
	%D%/trace_names.c %D%/trace_names.h \
	%D%/tracecopies.c %D%/tracecopies.h \
	%D%/tracectf.c %D%/tracectf.h
kprof_LDADD = libtui.a libformats.a libcapture.a libtrace.a libkernel.a libprobes.a libkpbpf.a libproducers.a libring.a libsymbolizer.a libprof.a libprobes.a libkpbpf.a libsys.a libbase.a $(GLIB_LIBS) \
	$(DL_LIBS) $(Z_LIBS) $(NCURSES_LIBS) -lm $(BPF_LIBS)

CLEANFILES += %D%/perf_options_page.h
%D%/perf_options.$(OBJEXT): %D%/perf_options_page.h
%D%/perf_options_page.h: docs/perf-options
	$(make_string)
