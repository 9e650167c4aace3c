# what a user without rights, or a program that he runs, does to the server and to other users: each
# script starts a server and an attacker, and measures what others notice (the delay of an attach, of
# a switch, of a command; the end of the server)
HOSTILE_TESTS = \
	%D%/descriptors.sh

TESTS += $(HOSTILE_TESTS)
EXTRA_DIST += $(HOSTILE_TESTS)
