# kprof(1): completions for fish. kprof itself lists the words: each line of
# `kprof --list-options` is a command or one of its options.
kprof --list-options 2>/dev/null | while read -l -d \t command short long argument choices help
	if test $long = -
		complete -c kprof -f -n __fish_use_subcommand -a $command -d $help
		test $argument = -; and complete -c kprof -f -n "__fish_seen_subcommand_from $command"
		continue
	end
	set -l value
	set -l letter
	test $short = -; or set letter -s (string sub -s 2 -- $short)
	switch $argument
		case -
		case FILE
			set value -r -F
		case DIR
			set value -x -a '(__fish_complete_directories)'
		case '*'
			set value -x
			test $choices != -; and set value -x -a $choices
	end
	complete -c kprof -n "__fish_seen_subcommand_from $command" \
		$letter -l (string sub -s 3 -- $long) $value -d $help
end
