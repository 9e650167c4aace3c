/* SPDX-License-Identifier: MIT */
/*
 * The place that events reach when a program of probes/ wants them: a static probe as <sys/sdt.h> makes
 * them, kprof:event, which is found also in programs without symbols.
 */
#include "client/client.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The note: its place, that of .stapsdt.base, no semaphore, and where the arguments are. */
#define NOTE(ARGUMENTS) \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"?\",\"note\"\n" \
	".balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n" \
	"992: .balign 4\n" \
	"993: .8byte 990b, _.stapsdt.base, 0\n" \
	".asciz \"" KPROF_PLACE_PROVIDER "\"\n" \
	".asciz \"" KPROF_PLACE_NAME "\"\n" \
	".asciz \"" ARGUMENTS "\"\n" \
	"994: .balign 4\n" \
	".popsection\n" \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n" \
	".hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base, 1\n" \
	".popsection\n" \
	".endif\n"

__attribute__((noinline)) void probe_event(const struct registry_entry *entry, const uint64_t *values)
{
	/* always the same registers, so that one program of the kernel fits every build of the library */
	register const char *provider __asm__(KPROF_PLACE_REGISTER_0) = entry->provider;
	register const char *name __asm__(KPROF_PLACE_REGISTER_1) = entry->name;
	register const uint64_t *at __asm__(KPROF_PLACE_REGISTER_2) = values;
	register uint64_t args __asm__(KPROF_PLACE_REGISTER_3) = entry->args;
	register uint64_t hash __asm__(KPROF_PLACE_REGISTER_4) = entry->format_hash;

	__asm__ volatile(NOTE(KPROF_PLACE_ARGUMENTS(KPROF_PLACE_SIGN KPROF_PLACE_SIGN))
		:
		: "r"(provider), "r"(name), "r"(at), "r"(args), "r"(hash)
		: "memory");
}

/* ---- its file -------------------------------------------------------------------------------- */

static uint64_t read_hex(const char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value * 16 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* "55d0a000-55d0b000 r-xp 00001000 fd:00 1234    /usr/lib/libkprof.so.0" */
static size_t path_of(const char *line, char path[KPROF_FILE_MAX])
{
	const uint64_t place = (uint64_t)(uintptr_t)probe_event;
	const char *at = line, *slash = strchr(line, '/');
	uint64_t from = read_hex(&at), to;
	size_t bytes;

	if (*at++ != '-')
		return 0;
	to = read_hex(&at);
	if (place < from || place >= to || !slash)
		return 0;
	bytes = strlen(slash);
	if (bytes > KPROF_FILE_MAX || strstr(slash, " (deleted)"))
		return 0;
	memcpy(path, slash, bytes);
	return bytes;
}

size_t probe_find_file(char path[KPROF_FILE_MAX])
{
	/* room for a line with the longest path that is sent; longer lines are skipped */
	char text[2 * KPROF_FILE_MAX + 1], *end;
	size_t held = 0, found = 0;
	static const char maps[] = "/proc/self/maps";
	int fd = open(maps, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return 0;
	while (!found && (got = read(fd, text + held, sizeof(text) - 1 - held)) > 0) {
		held += (size_t)got;
		text[held] = '\0';
		for (char *line = text; !found && (end = strchr(line, '\n')); ) {
			*end = '\0';
			found = path_of(line, path);
			held -= (size_t)(end + 1 - line);
			memmove(text, end + 1, held + 1);
		}
		if (held == sizeof(text) - 1)
			held = 0;
	}
	close(fd);
	return found;
}
