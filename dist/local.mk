# what is installed beside the programs, and how Debian packages are made of it

# The unit gets the paths of this installation when it is built, since $(sbindir) is known only to make.
systemdsystemunitdir = @systemdsystemunitdir@
systemdsystemunit_DATA = %D%/kprofs.service
%D%/kprofs.service: %D%/kprofs.service.in Makefile
	@$(MKDIR_P) %D%
	$(AM_V_GEN)sed 's|@sbindir[@]|$(sbindir)|' $(srcdir)/%D%/kprofs.service.in >$@.tmp && mv $@.tmp $@
CLEANFILES += %D%/kprofs.service

dist_doc_DATA = README NEWS

EXTRA_DIST += %D%/kprofs.service.in %D%/packages %D%/check-packages %D%/try-installed \
	%D%/debian/changelog.in %D%/debian/control.in %D%/debian/copyright %D%/debian/rules \
	%D%/debian/kprofs.install %D%/debian/libkprof0.install %D%/debian/libkprof-dev.install \
	%D%/debian/kprofs.manpages %D%/debian/libkprof-dev.manpages %D%/debian/not-installed \
	%D%/debian/source/format

# make's uninstall removes files only. These are the folders that install may have made, the inner ones
# first; of those that others use as well, the empty ones are removed.
installed_folders = $(includedir)/kprof $(libexecdir)/kprofs $(libexecdir) $(exampledir) $(docdir) \
	$(datadir)/doc $(systemdsystemunitdir) `dirname $(systemdsystemunitdir)` $(pkgconfigdir) $(man1dir) $(man3dir) \
	$(man5dir) $(man8dir) $(bashcompletiondir) $(datadir)/bash-completion $(zshcompletiondir) \
	$(datadir)/zsh $(fishcompletiondir) $(datadir)/fish
uninstall-hook:
	@for dir in $(installed_folders); do \
		if [ -d "$(DESTDIR)$$dir" ] && [ -z "`ls -A "$(DESTDIR)$$dir"`" ]; then \
			echo "rmdir $(DESTDIR)$$dir"; rmdir "$(DESTDIR)$$dir"; \
		fi; \
	done
