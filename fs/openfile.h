/* SPDX-License-Identifier: MIT */
/*
 * Open files: what one open(2) of a program reads and writes, without the requests.
 *
 * The content is made at open: a text is rendered, a stream gets a cursor. Thread-safe as the
 * members say. An open file has a reference count: the kernel's open has one reference, and a
 * thread that uses the file outside of a request of the kernel takes another.
 */
#ifndef KPROFS_FS_OPENFILE_H
#define KPROFS_FS_OPENFILE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/cancel.h"
#include "base/err.h"
#include "fs/content.h"
#include "fs/node.h"
#include "fs/quota.h"

struct fuse_pollhandle;
struct openfiles;
struct quotas;
struct report;
struct session;

/* The thread and user that sent a request, as the kernel numbers them. */
struct origin {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/*
 * i: invariant once the open is answered; l: under lock; s: under the lock of streams.c;
 * o: under the lock of openfiles; a: atomic
 */
struct openfile {
	struct openfiles *files;	 /* i */
	struct session *session;	 /* i: of the node; for the callbacks of the row */
	struct report *report;		 /* i: the session's */
	const struct dirtab_row *row;	 /* i */
	struct node *node;		 /* i; held, so that it and the row live as long as the file */
	int flags;			 /* i: of open(2) */
	void *maker;                     /* while the open is answered: for slow_ops_cancel() */
	enum content_thread thread;	 /* i: that answers the open */
	struct content content;		 /* i; the cursor: l */
	void *writer;			 /* i: of the row's writer_ops; used by the control thread */
	struct quota_share share;	 /* i: what it has taken, and for which user */
	bool counted;			 /* i: the node knows this reader */
	pthread_mutex_t lock;		 /* serialises the reads of a stream; outermost */
	bool was_read;			 /* l: a stream, at least once */
	bool tailed;			 /* l: by tail(1), for which it is a file that grows (streams.c) */
	struct fuse_pollhandle *poll;	 /* s: to be notified when the stream is readable */
	bool poll_listed;		 /* s */
	_Atomic unsigned int references; /* a */
	GList link;			 /* o */
};

/* Callbacks from open files to the server. */
struct openfiles_hooks {
	struct nodes *nodes;
	struct quotas *quotas;
	void (*much_freed)(void *arg); /* memory can be returned to the kernel; any thread */
	void *arg;
};

/* Copies the hooks; the objects to which they point must outlive it. */
struct openfiles *openfiles_create(const struct openfiles_hooks *hooks);
/*
 * Closes the files that the kernel did not close, as at unmount. No thread may use an open file any
 * more.
 */
void openfiles_destroy(struct openfiles *files);
uint64_t openfiles_count(struct openfiles *files);
/* Waits until no stream is open any more, at most this long. */
void openfiles_wait_streams(struct openfiles *files, unsigned int timeout_ms);

/*
 * Returns -EACCES if the row has no callback for this way of opening, -EMFILE or -ENFILE as in
 * quota.h. `report`, that of the node's session, writes these errors to kperr. The new file is
 * empty.
 */
int openfile_create(struct openfiles *files, struct node *node, struct report *report, int flags,
	const struct origin *origin, struct openfile **file);
struct openfile *openfile_get(struct openfile *file);
void openfile_put(struct openfile *file);

bool openfile_reads(const struct openfile *file);
bool openfile_writes(const struct openfile *file);

/* What stat(2) reports as the size of a stream while it is open: not 0 only if tail(1) follows it. */
uint64_t openfiles_stream_size(struct openfiles *files, const struct node *node);

/* Makes the content that a reader will see. A refusal is in kperr when it returns. */
int openfile_fill(struct openfile *file, const struct origin *origin);

/* Drops the file's use of its node. Called once, before the kernel may forget the node. */
void openfile_leave_node(struct openfile *file);

/*
 * Carries out a write: commands line by line, or the write as a whole for a file without words.
 * Stops at the first refusal, which is in kperr when it returns. Returns -EINTR if it is cancelled
 * before a line, -EMSGSIZE for CTL_WORDS_WRITE_MAX bytes or more without DIRTAB_BULK.
 */
int openfile_write(struct openfile *file, const struct cancel *cancel, const struct origin *origin,
	const char *data, size_t size);

/* Tells the file's writer that a descriptor was closed. A refusal is in kperr when it returns. */
int openfile_flush(struct openfile *file, const struct origin *origin);

/* Writes one line to kperr and to the log about a write that was carried out. */
void openfile_note(struct openfile *file, const struct origin *origin, const char *written,
	size_t size, const char *reason);

/* Writes one line to kperr and to the log: a file or folder was not opened. */
void openfile_report(struct report *report, const struct node *node,
	const struct origin *origin, const char *reason);
/* The same of a file; returns -code. */
int openfile_refuse(struct openfile *file, const struct origin *origin, int code,
	const char *reason);

/*
 * Takes one of a kind from the quota for a request of this origin, or returns -errno of
 * quota_take(). openfile_return() gives it back.
 */
int openfile_take(struct openfile *file, const struct origin *origin, enum quota_kind kind,
	struct quota_share *share);
void openfile_return(struct openfile *file, struct quota_share *share);

#endif
