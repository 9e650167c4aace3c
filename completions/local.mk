# what shells complete behind kprof, made by kprof itself from its tables; under the names by which the
# shells find them
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
bashcompletion_DATA = %D%/kprof
zshcompletion_DATA = %D%/_kprof
fishcompletion_DATA = %D%/kprof.fish
CLEANFILES += %D%/kprof %D%/_kprof %D%/kprof.fish

COMPLETE = $(AM_V_GEN)$(MKDIR_P) %D% && ./kprof --completions
%D%/kprof: kprof$(EXEEXT)
	$(COMPLETE) bash >$@.new && mv $@.new $@
%D%/_kprof: kprof$(EXEEXT)
	$(COMPLETE) zsh >$@.new && mv $@.new $@
%D%/kprof.fish: kprof$(EXEEXT)
	$(COMPLETE) fish >$@.new && mv $@.new $@
