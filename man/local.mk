# a page for the server, one for its files, one for the library, and one for each command that has
# much to say; a check keeps them complete. Each is named once: make would install it twice.
dist_man_MANS += \
	%D%/kprof.1 %D%/kprof.5 %D%/kprofs.8 %D%/libkprof.3 \
	%D%/kprof-annotate.1 %D%/kprof-convert.1 %D%/kprof-ctl.1 %D%/kprof-doctor.1 %D%/kprof-flame.1 %D%/kprof-list.1 %D%/kprof-mark.1 \
	%D%/kprof-probe.1 \
	%D%/kprof-record.1 %D%/kprof-report.1 %D%/kprof-script.1 %D%/kprof-stat.1 %D%/kprof-top.1 %D%/kprof-trace.1
