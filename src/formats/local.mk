# formats: one file for each output format of a capture; perfdata/ is what perf reads
noinst_LIBRARIES += libformats.a
libformats_a_SOURCES = \
	%D%/breakdown.c %D%/breakdown.h \
	%D%/breakdown_text.c %D%/breakdown_text.h \
	%D%/calltree.c %D%/calltree.h \
	%D%/difference.c %D%/difference.h \
	%D%/firefox.c %D%/firefox.h \
	%D%/firefox_tables.c %D%/firefox_tables.h \
	%D%/flame.c %D%/flame.h \
	%D%/flame_page.c %D%/flame_page.h \
	%D%/flat.c %D%/flat.h \
	%D%/flat_count.c %D%/flat_count.h \
	%D%/folded.c %D%/folded.h \
	%D%/gzip.c %D%/gzip.h \
	%D%/html.c %D%/html.h \
	%D%/html_data.c %D%/html_data.h \
	%D%/script.c %D%/script.h \
	%D%/records.c %D%/records.h \
	%D%/stackmap.c %D%/stackmap.h \
	%D%/summary.c %D%/summary.h \
	%D%/json.c %D%/json.h \
	%D%/openspans.c \
	%D%/openspans.h \
	%D%/pprof.c %D%/pprof.h \
	%D%/protobuf.h \
	%D%/timeline.c %D%/timeline.h \
	%D%/tracejson.c %D%/tracejson.h \
	%D%/tree.c %D%/tree.h \
	%D%/view.c %D%/view.h \
	%D%/view_input.h \
	%D%/perfdata/perfdata.c %D%/perfdata/perfdata.h \
	%D%/perfdata/perfdata_early.c %D%/perfdata/perfdata_early.h \
	%D%/perfdata/perfdata_features.c %D%/perfdata/perfdata_features.h \
	%D%/perfdata/perfdata_files.c %D%/perfdata/perfdata_files.h \
	%D%/perfdata/perfdata_format.h \
	%D%/perfdata/perfdata_out.h \
	%D%/perfdata/perfdata_sources.c %D%/perfdata/perfdata_sources.h \
	%D%/perfdata/perfdata_stream.c %D%/perfdata/perfdata_stream.h \
	%D%/perfdata/perfdata_survey.c %D%/perfdata/perfdata_survey.h \
	%D%/perfdata/perfdata_threads.c %D%/perfdata/perfdata_threads.h

# scripts and styles of pages, as strings of C
AM_CPPFLAGS += -I$(top_builddir)/src
report_strings = %D%/report_css.h %D%/report_data_js.h %D%/report_model_js.h %D%/report_flame_js.h \
	%D%/report_lists_js.h %D%/report_time_js.h %D%/report_page_js.h
EXTRA_DIST += %D%/flame_script.js %D%/report.css %D%/report_data.js %D%/report_model.js \
	%D%/report_flame.js %D%/report_lists.js %D%/report_time.js %D%/report_page.js
CLEANFILES += %D%/flame_script_js.h $(report_strings)
%D%/flame_page.$(OBJEXT): %D%/flame_script_js.h
%D%/html.$(OBJEXT): $(report_strings)
make_string = $(AM_V_GEN)$(MKDIR_P) %D% && sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' \
	$< >$@.new && mv $@.new $@
%D%/report_css.h: %D%/report.css
	$(make_string)
%D%/flame_script_js.h: %D%/flame_script.js
	$(make_string)
%D%/report_data_js.h: %D%/report_data.js
	$(make_string)
%D%/report_model_js.h: %D%/report_model.js
	$(make_string)
%D%/report_flame_js.h: %D%/report_flame.js
	$(make_string)
%D%/report_lists_js.h: %D%/report_lists.js
	$(make_string)
%D%/report_time_js.h: %D%/report_time.js
	$(make_string)
%D%/report_page_js.h: %D%/report_page.js
	$(make_string)
