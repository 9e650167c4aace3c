# tui: the browser of samples on a terminal
noinst_LIBRARIES += libtui.a
libtui_a_CPPFLAGS = $(AM_CPPFLAGS) $(NCURSES_CFLAGS)
libtui_a_SOURCES = \
	%D%/before.c %D%/before.h \
	%D%/browser.c %D%/browser.h %D%/browser_state.h \
	%D%/browser_draw.c %D%/browser_keys.c %D%/browser_live.c %D%/browser_pages.c \
	%D%/fit.c %D%/fit.h \
	%D%/rows.c %D%/rows.h %D%/rows_state.h \
	%D%/rows_make.c \
	%D%/screen.c %D%/screen.h \
	%D%/selection.c %D%/selection.h
