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

# folders that only this package uses; make's uninstall removes files only
uninstall-hook:
	for dir in $(includedir)/kprof $(libexecdir)/kprofs $(exampledir) $(docdir); do \
		if [ -d "$(DESTDIR)$$dir" ]; then rmdir "$(DESTDIR)$$dir"; fi; \
	done
