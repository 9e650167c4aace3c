/* SPDX-License-Identifier: MIT */
/* Reads the state of a mounted profiler and writes words to its kpctl: see kpctl_client.h. */
#include "cmd/kpctl_client.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/units.h"

/* Reads a small file in dir. */
static int read_text(const char *dir, const char *name, char **text, struct err *err)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	g_autoptr(GString) all = g_string_new(NULL);
	char buffer[4096];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	while ((n = read(fd, buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		g_string_append_len(all, buffer, n);
	}
	n = n < 0 ? err_set(err, errno, "%s: %s", path, strerror(errno)) : 0;
	close(fd);
	if (!n)
		*text = g_string_free(g_steal_pointer(&all), FALSE);
	return (int)n;
}

int kpctl_client_read(const char *dir, struct kpctl_client *kpctl, struct err *err)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	int ret = read_text(dir, "kpctl", &text, err), i;

	memset(kpctl, 0, sizeof(*kpctl));
	if (ret)
		return ret;
	lines = g_strsplit(text, "\n", -1);
	for (i = 0; lines[i]; i++) {
		if (g_str_has_prefix(lines[i], "event ")) {
			g_free(kpctl->event);
			kpctl->event = g_strdup(lines[i] + strlen("event "));
		}
		if (g_str_has_prefix(lines[i], "stack ")) {
			g_free(kpctl->stack);
			kpctl->stack = g_strdup(lines[i] + strlen("stack "));
		}
		if (g_str_has_prefix(lines[i], "cpus ")) {
			g_free(kpctl->cpus);
			kpctl->cpus = g_strdup(lines[i] + strlen("cpus "));
		}
		if (g_str_has_prefix(lines[i], "only ")) {
			g_free(kpctl->only);
			kpctl->only = g_strdup(lines[i] + strlen("only "));
		}
		if (strcmp(lines[i], "start") == 0)
			kpctl->running = true;
	}
	return 0;
}

void kpctl_client_clear(struct kpctl_client *kpctl)
{
	g_clear_pointer(&kpctl->event, g_free);
	g_clear_pointer(&kpctl->stack, g_free);
	g_clear_pointer(&kpctl->cpus, g_free);
	g_clear_pointer(&kpctl->only, g_free);
}

/* The reason in a line of kperr: FILE line N: 'WRITTEN': REASON, or FILE: REASON; NULL if there is none. */
static const char *find_sentence(const char *entry)
{
	const char *line = strstr(entry, " line ");
	const char *before = line && g_ascii_isdigit(line[strlen(" line ")]) ? "': " : ": ";
	const char *at = strstr(entry, before);

	return at ? at + strlen(before) : NULL;
}

/* The time at the beginning of a line of kperr. */
static uint64_t time_of(const char *entry)
{
	char *end;
	const uint64_t seconds = strtoull(entry, &end, 10);

	return *end == '.' ? seconds * NSEC_PER_SEC + strtoull(end + 1, NULL, 10) : 0;
}

/*
 * The reason in the last line of kperr that this process caused, since a time, as an earlier process may
 * have had its number; to be freed, NULL if none.
 */
static char *find_reason(const char *dir, uint64_t since_ns)
{
	g_autofree char *text = NULL, *own = g_strdup_printf(" pid %d ", (int)getpid());
	g_auto(GStrv) lines = NULL;
	char *reason = NULL;
	int i;

	if (read_text(dir, "kperr", &text, NULL))
		return NULL;
	lines = g_strsplit(text, "\n", -1);
	for (i = 0; lines[i]; i++) {
		const char *at = strstr(lines[i], own);

		at = at && time_of(lines[i]) >= since_ns ? find_sentence(at) : NULL;
		if (!at)
			continue;
		g_free(reason);
		reason = g_strdup(at);
	}
	return reason;
}

static bool is_mount(const char *dir)
{
	g_autofree char *file = g_build_filename(dir, "kpstat", NULL);
	struct statfs st;

	return statfs(file, &st) == 0 && st.f_type == FUSE_SUPER_MAGIC;
}

/*
 * Opens as a shell's `>` does: of a name that is not there the server says the nearest one, or, in events/,
 * makes the file. Elsewhere than in a mount nothing is created.
 */
static int open_to_write(const char *path, const char *dir)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || !is_mount(dir))
		return fd;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_CREAT, 0600);
	if (fd < 0 && errno == EPERM) /* that it can't be created is not the error */
		errno = ENOENT;
	return fd;
}

/* 0, or -errno with a sentence; *reason is that of kperr, NULL if there is none. */
static int write_lines(const char *path, const char *dir, const char *lines, char **reason, struct err *err)
{
	int fd = open_to_write(path, dir), code;
	ssize_t n;

	if (fd < 0) {
		code = errno;
		if (code == EBUSY)
			return err_set(err, code,
				"%s: another process holds the profiler by an open file", path);
		*reason = find_reason(dir, 0);
		return err_set(err, code, "%s: %s", path, *reason ? *reason : strerror(code));
	}
	do
		n = write(fd, lines, strlen(lines));
	while (n < 0 && errno == EINTR);
	code = errno;
	close(fd);
	if (n >= 0)
		return 0;
	*reason = find_reason(dir, 0);
	return err_set(err, code, "%s: %s", path, *reason ? *reason : strerror(code));
}

int kpctl_client_write_file(const char *dir, const char *name, const char *lines, struct err *err)
{
	g_autofree char *path = g_build_filename(dir, name, NULL), *reason = NULL;

	return write_lines(path, dir, lines, &reason, err);
}

/*
 * The user gave an option, so the usage of kpctl does not help, and the path, perhaps of a private mount,
 * only if another user of the mount is the reason.
 */
int kpctl_client_write(const char *dir, const char *lines, struct err *err)
{
	g_autofree char *path = g_build_filename(dir, "kpctl", NULL), *reason = NULL;
	int ret = write_lines(path, dir, lines, &reason, err);
	char *usage = reason ? g_strrstr(reason, "; usage: ") : NULL;

	if (usage)
		*usage = '\0';
	if (!reason)
		return ret;
	return ret == -EBUSY ? err_set(err, EBUSY, "%s: %s", path, reason)
			     : err_set(err, -ret, "%s", reason);
}

char *kpctl_client_note(const char *dir, uint64_t since_ns)
{
	return find_reason(dir, since_ns);
}

/* Behind "T pid N uid N " in a line of kperr; NULL if that is not there. */
static const char *find_file(const char *entry)
{
	const char *uid = strstr(entry, " uid "), *end = uid ? strchr(uid + strlen(" uid "), ' ') : NULL;

	return end ? end + 1 : NULL;
}

void kpctl_client_notes(const char *dir, uint64_t *since_ns,
	void (*take)(void *arg, const char *file, const char *reason), void *arg)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	const uint64_t since = *since_ns;

	if (read_text(dir, "kperr", &text, NULL))
		return;
	lines = g_strsplit(text, "\n", -1);
	for (int i = 0; lines[i]; i++) {
		const char *file = find_file(lines[i]), *sentence = find_sentence(lines[i]);
		g_autofree char *name = NULL, *reason = NULL;
		char *usage;

		if (!file || !sentence || time_of(lines[i]) <= since)
			continue;
		*since_ns = MAX(*since_ns, time_of(lines[i]));
		/* the name ends before " line N: " or ": " */
		name = g_strndup(file, strcspn(file, " "));
		if (g_str_has_suffix(name, ":"))
			name[strlen(name) - 1] = '\0';
		reason = g_strdup(sentence);
		usage = g_strrstr(reason, "; usage: ");
		if (usage)
			*usage = '\0';
		take(arg, name, reason);
	}
}

char *kpctl_client_text(const char *dir, const char *name)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	const size_t length = strlen(name);
	int i;

	if (read_text(dir, "kpstat", &text, NULL))
		return NULL;
	lines = g_strsplit(text, "\n", -1);
	for (i = 0; lines[i]; i++)
		if (strncmp(lines[i], name, length) == 0 && lines[i][length] == ' ')
			return g_strdup(lines[i] + length + 1);
	return NULL;
}

uint64_t kpctl_client_stat(const char *dir, const char *name)
{
	g_autofree char *text = kpctl_client_text(dir, name);
	uint64_t value;

	return text && units_parse_u64(text, &value) == 0 ? value : 0;
}
