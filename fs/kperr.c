/* SPDX-License-Identifier: MIT */
/* The last refusals: see kperr.h. */
#include "fs/kperr.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* The first entry is root's, the second one the owner's; other users never get these two. */
#define OWN_USERS 2
#define ALL_USERS (OWN_USERS + KPERR_USERS)

struct kperr_line {
	uint64_t number; /* of all lines so far, from 1; 0 if there is none */
	char *text;
};

struct kperr_user {
	uid_t uid;
	uint64_t last;	/* number of the last line; 0 if the entry is free */
	uint64_t count; /* line i of the user's is at i % KPERR_LINES */
	struct kperr_line lines[KPERR_LINES];
};

struct kperr {
	pthread_mutex_t lock; /* a leaf: nothing else is locked under it */
	uid_t owner;	      /* (lock) */
	uint64_t count;	      /* (lock) lines ever added */
	struct kperr_user users[ALL_USERS]; /* (lock) */
};

struct kperr *kperr_create(uid_t owner)
{
	struct kperr *kperr = g_new0(struct kperr, 1);

	kperr->owner = owner;
	pthread_mutex_init(&kperr->lock, NULL);
	return kperr;
}

static void free_lines(struct kperr_user *user)
{
	size_t i;

	for (i = 0; i < KPERR_LINES; i++)
		g_free(user->lines[i].text);
}

void kperr_set_owner(struct kperr *kperr, uid_t owner)
{
	size_t i;

	pthread_mutex_lock(&kperr->lock);
	for (i = 0; owner != kperr->owner && i < ALL_USERS; i++) {
		free_lines(&kperr->users[i]);
		kperr->users[i] = (struct kperr_user){ 0 };
	}
	kperr->owner = owner;
	pthread_mutex_unlock(&kperr->lock);
}

void kperr_destroy(struct kperr *kperr)
{
	size_t i;

	if (!kperr)
		return;
	for (i = 0; i < ALL_USERS; i++)
		free_lines(&kperr->users[i]);
	pthread_mutex_destroy(&kperr->lock);
	g_free(kperr);
}

/*
 * Printable: what is not plain ASCII would let a writer forge lines or drive a reader's terminal.
 * Quote and backslash are escaped too, so that the quoted text is unambiguous.
 */
static void append_printable(GString *out, const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 32 && c < 127 && c != '\'' && c != '\\')
			g_string_append_c(out, (char)c);
		else
			g_string_append_printf(out, "\\x%02x", c);
	}
}

/* A reason can quote a written word, so it is made one line, whatever bytes it has. */
static void append_sentence(GString *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 32 && c < 127)
			g_string_append_c(out, (char)c);
		else
			g_string_append_printf(out, "\\x%02x", c);
	}
}

/* What follows the first line of a reason, as the part of a program that it is about: indented. */
static void append_more(GString *out, const char *text)
{
	while (*text == '\n') {
		size_t size = strcspn(++text, "\n");

		g_string_append(out, "\n    ");
		append_sentence(out, text, size);
		text += size;
	}
}

static char *format_line(const struct kperr_entry *entry)
{
	const size_t first = strcspn(entry->reason, entry->has_lines ? "\n" : "");
	GString *out = g_string_new(NULL);

	g_string_append_printf(out, "%" PRIu64 ".%09" PRIu64 " pid %d uid %u ",
		(uint64_t)(entry->time_ns / NSEC_PER_SEC),
		(uint64_t)(entry->time_ns % NSEC_PER_SEC), (int)entry->pid,
		(unsigned int)entry->uid);
	/* the path of a query is what its reader wrote */
	append_sentence(out, entry->file, strnlen(entry->file, KPERR_FILE_MAX));
	if (strlen(entry->file) > KPERR_FILE_MAX)
		g_string_append(out, "...");
	if (entry->line)
		g_string_append_printf(out, " line %u", entry->line);
	/* of what was no write: the program that was refused */
	if (entry->line || entry->written_size) {
		g_string_append(out, ": '");
		append_printable(out, entry->written, MIN(entry->written_size, (size_t)KPERR_WRITTEN_MAX));
		g_string_append_c(out, '\'');
	}
	g_string_append(out, ": ");
	append_sentence(out, entry->reason, first);
	if (entry->usage) {
		g_string_append(out, "; usage: ");
		append_sentence(out, entry->usage, strlen(entry->usage));
	}
	append_more(out, entry->reason + first);
	return g_string_free(out, FALSE);
}

/* ---- whose lines ------------------------------------------------------------------------------ */

/*
 * Called with the lock held. Returns the entry of the user, or a free one, or that of the user
 * whose last line is the oldest.
 */
static struct kperr_user *find_place(struct kperr *kperr, uid_t uid)
{
	struct kperr_user *oldest = &kperr->users[OWN_USERS];
	size_t i;

	if (uid == 0)
		return &kperr->users[0];
	if (uid == kperr->owner)
		return &kperr->users[1];
	for (i = OWN_USERS; i < ALL_USERS; i++) {
		struct kperr_user *user = &kperr->users[i];

		if (user->last && user->uid == uid)
			return user;
		if (user->last < oldest->last)
			oldest = user;
	}
	return oldest;
}

/* With the lock held. */
static struct kperr_user *get_place(struct kperr *kperr, uid_t uid)
{
	struct kperr_user *user = find_place(kperr, uid);

	if (user->last && user->uid != uid) {
		free_lines(user);
		*user = (struct kperr_user){ 0 };
	}
	user->uid = uid;
	return user;
}

char *kperr_add(struct kperr *kperr, const struct kperr_entry *entry)
{
	char *text = format_line(entry);
	char *copy = g_strdup(text), *old;
	struct kperr_user *user;
	struct kperr_line *line;

	pthread_mutex_lock(&kperr->lock);
	user = get_place(kperr, entry->uid);
	line = &user->lines[user->count++ % KPERR_LINES];
	old = line->text;
	user->last = ++kperr->count;
	*line = (struct kperr_line){ user->last, text };
	pthread_mutex_unlock(&kperr->lock);
	g_free(old);
	return copy;
}

static int compare_numbers(gconstpointer a, gconstpointer b)
{
	const struct kperr_line *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void kperr_print(struct kperr *kperr, uid_t reader, GString *out)
{
	struct kperr_line lines[ALL_USERS * KPERR_LINES];
	size_t n = 0, i, j;
	bool all;

	pthread_mutex_lock(&kperr->lock);
	all = reader == 0 || reader == kperr->owner;
	for (i = 0; i < ALL_USERS; i++) {
		const struct kperr_user *user = &kperr->users[i];

		for (j = 0; j < KPERR_LINES; j++)
			if (user->lines[j].number && (all || user->uid == reader))
				lines[n++] = user->lines[j];
	}
	qsort(lines, n, sizeof(lines[0]), compare_numbers);
	for (i = 0; i < n; i++)
		g_string_append_printf(out, "%s\n", lines[i].text);
	pthread_mutex_unlock(&kperr->lock);
}

uint64_t kperr_count(struct kperr *kperr)
{
	uint64_t count;

	pthread_mutex_lock(&kperr->lock);
	count = kperr->count;
	pthread_mutex_unlock(&kperr->lock);
	return count;
}
