/* SPDX-License-Identifier: MIT */
/*
 * kinds KIND BYTES: writes events of one kind until they have taken BYTES of the trace at least, and ends.
 *
 * A kind is what the length of a line depends on: none, integer, float, general (%g), many (arguments),
 * control (bytes that are escaped), format (kprof_printf with a format that is not a literal), cut (a
 * string with a precision), wide, stack. The event is kinds:KIND, which must be on in the server; the
 * exit status is 2 if it is not on within 10 s.
 */
#include <kprof/kprof.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The head of a record; each argument takes 8 bytes at least. */
#define HEAD_BYTES 16

static bool write_none(unsigned long i)
{
	(void)i;
	KPROF_EVENT(kinds, none, "nothing is said");
	return true;
}

static bool write_integer(unsigned long i)
{
	bool on = false;

	KPROF_EVENT(kinds, integer, "%lu", (on = true, i));
	return on;
}

static bool write_float(unsigned long i)
{
	bool on = false;

	KPROF_EVENT(kinds, float, "%f", (on = true, (double)i / 7));
	return on;
}

static bool write_general(unsigned long i)
{
	bool on = false;

	KPROF_EVENT(kinds, general, "%g", (on = true, (double)i * 1.37e-3));
	return on;
}

static bool write_many(unsigned long i)
{
	bool on = false;
	long n = (long)i;

	KPROF_EVENT(kinds, many, "%ld %lx %ld %ld %ld %ld %5ld %-5ld %ld %ld %ld %ld", (on = true, n),
		n, -n, n & 7, n % 1000, n, n & 3, n & 255, n, n, n, n);
	return on;
}

static bool write_control(unsigned long i)
{
	bool on = false;

	KPROF_EVENT(kinds, control, "%s %lu", (on = true, "a\tb\033[1mc"), i);
	return on;
}

static bool write_format(unsigned long i)
{
	static const char *volatile format = "format %lu";

	kprof_printf(format, i);
	return true;
}

static bool write_cut(unsigned long i)
{
	bool on = false;

	KPROF_EVENT(kinds, cut, "%.5s %lu", (on = true, "a string of some length"), i);
	return on;
}

static bool write_wide(unsigned long i)
{
	bool on = false;

	KPROF_EVENT(kinds, wide, "%#018lx", (on = true, i));
	return on;
}

static __attribute__((noinline)) bool write_stack(unsigned long i)
{
	kprof_backtrace("%lu", i);
	return true;
}

static const struct kind {
	const char *name;
	bool (*write)(unsigned long i);	/* false if the event is off */
	unsigned long bytes;		/* of a record, not more than it takes */
} kinds[] = {
	{ "none", write_none, HEAD_BYTES },
	{ "integer", write_integer, HEAD_BYTES + 8 },
	{ "float", write_float, HEAD_BYTES + 8 },
	{ "general", write_general, HEAD_BYTES + 8 },
	{ "many", write_many, HEAD_BYTES + 12 * 8 },
	{ "control", write_control, HEAD_BYTES + 16 + 8 },
	{ "format", write_format, HEAD_BYTES + 16 + 8 },
	{ "cut", write_cut, HEAD_BYTES + 8 + 8 },
	{ "wide", write_wide, HEAD_BYTES + 8 },
	{ "stack", write_stack, HEAD_BYTES + 8 + 8 },
};

int main(int argc, char **argv)
{
	const struct kind *kind = NULL;
	bool on = false;

	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			kind = &kinds[i];
	if (!kind) {
		fprintf(stderr, "usage: kinds KIND BYTES\n");
		return 2;
	}
	for (int i = 0; i < 1000 && !on; i++) {
		KPROF_EVENT(kinds, probe, "%d", (int)(on = true));
		if (!on)
			usleep(10000);
	}
	if (!on || !kind->write(0))
		return 2;
	for (unsigned long i = 0; i < strtoul(argv[2], NULL, 10) / kind->bytes; i++)
		kind->write(i);
	return 0;
}
