/* SPDX-License-Identifier: MIT */
/* The last refusals: see kperr.h. */
#include "fs/kperr.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/units.h"

struct kperr {
	pthread_mutex_t lock;	  /* a leaf: nothing else is locked under it */
	char *lines[KPERR_LINES]; /* (lock) line i of all that came is at i % KPERR_LINES */
	uint64_t count;		  /* (lock) */
};

struct kperr *kperr_create(void)
{
	struct kperr *kperr = g_new0(struct kperr, 1);

	pthread_mutex_init(&kperr->lock, NULL);
	return kperr;
}

void kperr_destroy(struct kperr *kperr)
{
	size_t i;

	if (!kperr)
		return;
	for (i = 0; i < KPERR_LINES; i++)
		g_free(kperr->lines[i]);
	pthread_mutex_destroy(&kperr->lock);
	g_free(kperr);
}

/*
 * Printable: what is not plain ASCII would let a writer forge lines or drive a reader's terminal.
 * Quote and backslash are written so too, so that the quoted text has one reading.
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

/* A sentence of ours can quote a word of the writer's: one line, whatever it holds. */
static void append_sentence(GString *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 32 && c < 127)
			g_string_append_c(out, (char)c);
		else
			g_string_append_printf(out, "\\x%02x", c);
	}
}

static char *format_line(const struct kperr_entry *entry)
{
	GString *out = g_string_new(NULL);

	g_string_append_printf(out, "%" PRIu64 ".%09" PRIu64 " pid %d uid %u %s line %u: '",
		(uint64_t)(entry->time_ns / NSEC_PER_SEC),
		(uint64_t)(entry->time_ns % NSEC_PER_SEC), (int)entry->pid,
		(unsigned int)entry->uid, entry->file, entry->line);
	append_printable(out, entry->written, MIN(entry->written_size, (size_t)KPERR_WRITTEN_MAX));
	g_string_append(out, "': ");
	append_sentence(out, entry->reason);
	g_string_append(out, "; usage: ");
	append_sentence(out, entry->usage);
	return g_string_free(out, FALSE);
}

char *kperr_add(struct kperr *kperr, const struct kperr_entry *entry)
{
	char *line = format_line(entry);
	char *copy = g_strdup(line);
	char *old;

	pthread_mutex_lock(&kperr->lock);
	old = kperr->lines[kperr->count % KPERR_LINES];
	kperr->lines[kperr->count % KPERR_LINES] = line;
	kperr->count++;
	pthread_mutex_unlock(&kperr->lock);
	g_free(old);
	return copy;
}

void kperr_print(struct kperr *kperr, GString *out)
{
	uint64_t i;

	pthread_mutex_lock(&kperr->lock);
	i = kperr->count > KPERR_LINES ? kperr->count - KPERR_LINES : 0;
	for (; i < kperr->count; i++)
		g_string_append_printf(out, "%s\n", kperr->lines[i % KPERR_LINES]);
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
