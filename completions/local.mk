# completions of kprof and kprofs, under the names by which the shells find them
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_bashcompletion_DATA = %D%/kprof %D%/kprofs
dist_zshcompletion_DATA = %D%/_kprof
dist_fishcompletion_DATA = %D%/kprof.fish %D%/kprofs.fish
