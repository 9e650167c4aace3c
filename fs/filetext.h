/* SPDX-License-Identifier: MIT */
/*
 * The text that a reader of a file sees from its open to its close. Thread-safe: it does not change.
 */
#ifndef KPROFS_FS_FILETEXT_H
#define KPROFS_FS_FILETEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct lazy;

/*
 * A text at one moment: in memory; or, if it is large, in an unnamed file, which is not mapped; or
 * a lazy one, which is made when it is read. It has a reference count: filetext_get, filetext_put.
 */
struct filetext {
	char *bytes; /* NULL if the text is in fd */
	int fd;	     /* -1 if the text is in bytes */
	bool borrowed; /* the descriptor belongs to another module, which keeps it until on_free */
	struct lazy *lazy; /* NULL if the text is in one of the above */
	size_t size;
	struct timespec time; /* CLOCK_REALTIME */
	void (*on_free)(void *arg); /* called when the text is freed; may be NULL */
	void *arg;
};

/*
 * Takes ownership of the bytes of `content` and frees it; the time of the text is the current one.
 */
struct filetext *filetext_create(GString *content);
/* Takes ownership of the descriptor. */
struct filetext *filetext_create_file(int fd, size_t size);
/*
 * The caller keeps the ownership of the descriptor, and keeps it open until the function of
 * filetext_on_free() is called.
 */
struct filetext *filetext_create_borrowed(int fd, size_t size);
/* Takes ownership of the lazy text. */
struct filetext *filetext_create_lazy(struct lazy *lazy);
/*
 * Sets the function that is called when the text is freed, from any thread and without locks.
 * Called before the text is shared.
 */
void filetext_on_free(struct filetext *text, void (*on_free)(void *arg), void *arg);
struct filetext *filetext_get(struct filetext *text);
void filetext_put(struct filetext *text);

#endif
