# fish looks for the completions of kprofs under this name
source (status dirname)/kprof.fish
