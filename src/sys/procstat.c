/* SPDX-License-Identifier: MIT */
/* The per-CPU lines of /proc/stat: see procstat.h. */
#include "sys/procstat.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/cpu.h"

/* enough for about 40 CPUs in one read; doubled until the CPU lines fit */
#define BUFFER_FIRST (4 * KIB)
/* all CPU_NUMBERS CPUs with ten columns of 20 digits each, and more than any kernel writes */
#define BUFFER_MAX (4 * MIB)
/* user, nice, system and idle have been there since Linux 2.0 */
#define FIELDS_MIN 4

struct procstat {
	int fd;
	char *text; /* `size` bytes and one for a NUL */
	size_t size;
	GArray *cpus; /* of struct procstat_cpu */
};

int procstat_open(const char *path, struct procstat **procstat)
{
	struct procstat *ps;
	int fd;

	fd = open(path ? path : PROCSTAT_PATH, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ps = g_new0(struct procstat, 1);
	ps->fd = fd;
	ps->size = BUFFER_FIRST;
	ps->text = g_malloc(ps->size + 1);
	ps->cpus = g_array_new(FALSE, FALSE, sizeof(struct procstat_cpu));
	*procstat = ps;
	return 0;
}

void procstat_close(struct procstat *procstat)
{
	if (!procstat)
		return;
	close(procstat->fd);
	g_free(procstat->text);
	g_array_free(procstat->cpus, TRUE);
	g_free(procstat);
}

static bool is_cpu_line(const char *line)
{
	return strncmp(line, "cpu", 3) == 0;
}

/* Returns whether the text, which may be cut anywhere, continues after the last CPU line. */
static bool covers_cpus(const char *text, size_t length)
{
	const char *end = text + length;
	const char *line = text, *newline;

	while (end - line >= 3) {
		if (!is_cpu_line(line))
			return true;
		newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			return false;
		line = newline + 1;
	}
	return false;
}

/* Reads at least the CPU lines, in one read, into ps->text, and ends it with a NUL. */
static int fetch_text(struct procstat *ps)
{
	ssize_t n;

	for (;;) {
		n = pread(ps->fd, ps->text, ps->size, 0);
		if (n < 0)
			return -errno;
		ps->text[n] = '\0';
		if ((size_t)n < ps->size || covers_cpus(ps->text, (size_t)n))
			return 0;
		if (ps->size >= BUFFER_MAX)
			return -EFBIG;
		ps->size *= 2;
		ps->text = g_realloc(ps->text, ps->size + 1);
	}
}

/* Reads a decimal number at *text and moves *text past it. */
static int take_number(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;
	unsigned int digit;

	if (!g_ascii_isdigit(*p))
		return -EBADMSG;
	for (; g_ascii_isdigit(*p); p++) {
		digit = (unsigned int)(*p - '0');
		if (v > (UINT64_MAX - digit) / 10)
			return -EBADMSG;
		v = v * 10 + digit;
	}
	*text = p;
	*value = v;
	return 0;
}

/* Reads "cpuN" and its columns at *text and moves *text to the next line. */
static int take_cpu(const char **text, struct procstat_cpu *cpu)
{
	const char *p = *text + 3;
	uint64_t value;
	int field, ret;

	memset(cpu, 0, sizeof(*cpu));
	ret = take_number(&p, &value);
	if (ret)
		return ret;
	if (value >= CPU_NUMBERS)
		return -EBADMSG;
	cpu->cpu = (unsigned int)value;
	for (field = 0; *p == ' '; field++) {
		while (*p == ' ')
			p++;
		ret = take_number(&p, &value);
		if (ret)
			return ret;
		if (field < PROCSTAT_FIELDS)
			cpu->ticks[field] = value;
	}
	if (*p != '\n' || field < FIELDS_MIN)
		return -EBADMSG;
	*text = p + 1;
	return 0;
}

static int parse_text(const char *text, GArray *cpus)
{
	struct procstat_cpu cpu;
	int64_t last = -1;
	int ret;

	g_array_set_size(cpus, 0);
	/* the first line is the sum over all CPUs, also over those that are offline */
	if (strncmp(text, "cpu ", 4) == 0) {
		text = strchr(text, '\n');
		if (!text)
			return -EBADMSG;
		text++;
	}
	while (is_cpu_line(text)) {
		ret = take_cpu(&text, &cpu);
		if (ret)
			return ret;
		if (cpu.cpu <= last)
			return -EBADMSG;
		last = cpu.cpu;
		g_array_append_val(cpus, cpu);
	}
	return cpus->len ? 0 : -EBADMSG;
}

int procstat_read(struct procstat *procstat, const struct procstat_cpu **cpus, size_t *count)
{
	int ret;

	ret = fetch_text(procstat);
	if (!ret)
		ret = parse_text(procstat->text, procstat->cpus);
	if (ret)
		return ret;
	*cpus = (const struct procstat_cpu *)procstat->cpus->data;
	*count = procstat->cpus->len;
	return 0;
}
