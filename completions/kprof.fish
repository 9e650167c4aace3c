# completions for fish of kprof(1) and kprofs(8), which list the words themselves, by
# `kprof --complete WORD...`. The first line of its output is what the shell adds: words (nothing), files,
# folders, or `command N`: the line from word N on is the one of another command. Each further line is a
# possible word, a tab, and its help.

function __kprof_complete
	set -l words (commandline -opc)
	set -l typed (commandline -ct)
	# --name= in front of a value
	set -l option (string match -r -- '^--[^=]*=' $typed; or echo)
	set -l value (string sub -s (math (string length -- "$option") + 1) -- $typed)
	set -l lines ($words[1] --complete $words[2..-1] $typed 2>/dev/null)
	set -l more (string split ' ' -- $lines[1])
	switch $more[1]
		case files
			printf '%s\n' $option(__fish_complete_path $value)
		case folders
			printf '%s\n' $option(__fish_complete_directories $value)
		case command
			set -l first (math $more[2] + 1)
			set -l rest (string escape -- $words[$first..-1])
			complete -C (string join ' ' -- $rest $typed)
	end
	set -e lines[1]
	test (count $lines) = 0; or printf '%s\n' $lines
end

complete -c kprof -f -a '(__kprof_complete)'
complete -c kprofs -f -a '(__kprof_complete)'
