/* SPDX-License-Identifier: MIT */
/*
 * Table 1, the dirtab: one row is one file of the namespace.
 *
 * lookup, readdir, getattr, open, read and write all walk this table and switch on nothing else;
 * so do the tests and the check of the man page. The table is tree.c. Adding a file is a row there
 * and a function in a file_*.c; adding a word to a control file is a row of its table of words
 * (ctl_words.h).
 *
 * Directories whose files change have list and lookup, beside or instead of a table of rows. The
 * rows that these hand out are made for the caller, which returns them with dirtab_put(), or they
 * have no `put` and live as long as the server.
 *
 * Callbacks run in any worker of the FUSE loop, several at once, and answer from memory in bounded
 * time. Only callbacks that run in the control thread may block: the words and closes of a row with
 * DIRTAB_CONTROL, and `write` of one with DIRTAB_SLOW_WRITE.
 */
#ifndef KPROFS_FS_DIRTAB_H
#define KPROFS_FS_DIRTAB_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "fs/quota.h"

struct content_ops;
struct ctl_words_word;
struct dirtab_row;
struct filetext;
struct lazy;
struct origin;
struct session;

enum dirtab_type {
	DIRTAB_TEXT,   /* a snapshot, rendered when opened */
	DIRTAB_STREAM, /* a stream: it has no position, and a read may wait */
	DIRTAB_DIR,
};

enum dirtab_flags {
	/* commands go to the control thread, and an open file of this row can hold the run */
	DIRTAB_CONTROL = 1 << 0,
	/*
	 * a text that costs much to render: while it is not open, stat reports the size that it
	 * had at its last open. The kernel requests a size before each open, too.
	 */
	DIRTAB_COSTLY = 1 << 1,
	/* its words change switches: a write is answered when producers have acknowledged it */
	DIRTAB_SWITCH = 1 << 2,
	/*
	 * writes are carried out by the control thread, like commands, but no open file holds the
	 * run
	 */
	DIRTAB_SLOW_WRITE = 1 << 3,
	/*
	 * its directory does not list it, so that programs that read a whole tree end: a read of
	 * the file waits without end
	 */
	DIRTAB_UNLISTED = 1 << 4,
	/* each session has a file of this row; the others are the machine's, at the top only */
	DIRTAB_OF_SESSION = 1 << 5,
	/* the directories in it are sessions: made and removed by users, by sessions.c */
	DIRTAB_SESSIONS = 1 << 6,
	/* all users of a mount that they share may search the directory: sessions/ is in it */
	DIRTAB_SHARED = 1 << 7,
	/* a write may have as many bytes as the kernel sends at once, also more than CTL_WORDS_WRITE_MAX */
	DIRTAB_BULK = 1 << 8,
	/* only root and the user who mounted may open it for writing */
	DIRTAB_PRIVILEGED = 1 << 9,
};

/*
 * How a stream is read: one object, the cursor, for each open file; one call at a time for each.
 * begin and end are cursor_begin() and cursor_end() of prof/profiler.h, which documents them.
 */
struct stream_ops {
	enum quota_kind quota; /* the kind that an open for reading takes from the quota */
	/* whether an open now takes so long that it needs a separate thread; NULL if never */
	bool (*is_long)(struct session *session);
	/*
	 * job is for slow_ops_cancel(), by which an open in such a thread is cancelled with -EINTR
	 */
	int (*open)(struct session *session, const struct dirtab_row *row, uid_t reader, void *job,
		void **cursor);
	void (*close)(void *cursor);
	ssize_t (*begin)(void *cursor, size_t want, struct iovec *iov, int *count, bool *eof);
	void (*end)(void *cursor, bool taken);
	bool (*readable)(void *cursor);
	/*
	 * Bytes that were taken so far, and more than that if a read would return some now. NULL for a stream
	 * that tail(1) does not follow (streams.c).
	 */
	uint64_t (*size)(void *cursor);
};

/*
 * A file whose writes belong together by open file: one object, the writer, for each. The calls but
 * open run in the control thread, one at a time.
 */
struct writer_ops {
	void *(*open)(struct session *session, const struct dirtab_row *row);
	/* the sentence of a failure is in err */
	int (*write)(void *writer, const char *data, size_t size, struct err *err);
	/* a descriptor was closed; others of the same open file may be left */
	int (*flush)(void *writer, struct err *err);
	/* in any thread; no other call follows */
	void (*close)(void *writer);
};

/* A text that may be too long to be kept in memory. */
struct lazy_ops {
	/* the same; NULL if it always does */
	bool (*is_long)(struct session *session);
	/* starts its maker, in such a thread */
	int (*begin)(struct session *session, const struct dirtab_row *row, void *job,
		struct lazy **lazy, struct err *err);
	/* appends a text that is not long; NULL if it always is */
	int (*render)(struct session *session, GString *out);
};

struct dirtab_row {
	const char *name;
	enum dirtab_type type;
	mode_t mode; /* permission bits, unless a mount option sets others */
	unsigned int flags;
	const char *help; /* description for the file `help`; for rows of a table */

	/* how a reader's content is produced, and by which function of the row; NULL if it is not read */
	const struct content_ops *content;
	union {
		/*
		 * content_rendered: appends the text that an open file will read; -errno refuses
		 * the open
		 */
		int (*render)(struct session *session, const struct dirtab_row *row, uid_t reader,
			GString *out, struct err *err);
		/*
		 * content_made: writes the text into an empty unnamed file, in a separate thread;
		 * returns -EINTR once slow_ops_cancel(job)
		 */
		int (*make)(struct session *session, const struct dirtab_row *row, int fd, void *job,
			struct err *err);
		/*
		 * content_shared: returns a reference of the text, which no quota counts; in such a
		 * thread
		 */
		int (*share)(struct session *session, const struct dirtab_row *row, void *job,
			struct filetext **text, struct err *err);
		const struct lazy_ops *lazy;	 /* content_lazy */
		const struct stream_ops *stream; /* content_stream */
	};
	/* content_rendered: whether `render` now takes too long for a worker; NULL if never */
	bool (*is_long)(struct session *session);
	/* bytes that stat reports while the file is not open; NULL for the size of the content */
	uint64_t (*size)(struct session *session, const struct dirtab_row *row);

	/* valid writes: commands of a table, or anything that `write` accepts */
	const struct ctl_words_word *words;
	int (*write)(struct session *session, const struct dirtab_row *row,
		const struct origin *origin, const char *data, size_t size, struct err *err);
	const struct writer_ops *writer; /* or what an open file writes, as a whole */
	/* of `write` and `writer`; of a directory: the names that `create` takes */
	const char *usage;

	/* directories: a table that ends with a row without name, or functions, or both */
	const struct dirtab_row *rows;
	unsigned int only; /* the rows of the table with one of these flags; 0: all */
	/* the session of the directory and what is below it; NULL: that of the directory it is in */
	struct session *session;
	const struct dirtab_row *(*lookup)(struct session *session, const struct dirtab_row *dir,
		const char *name);
	void (*list)(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);
	/*
	 * as lookup, with a reason: sets *row, or returns -errno, with a sentence if the reason is
	 * ours; instead of lookup
	 */
	int (*resolve)(struct session *session, const struct dirtab_row *dir, const char *name,
		const struct dirtab_row **row, struct err *err);
	/*
	 * makes a row for a name that does not exist yet, for writing; returns NULL if the name is
	 * refused
	 */
	const struct dirtab_row *(*create)(struct session *session, const struct dirtab_row *dir,
		const char *name);

	/* removes a file; -errno. It answers from memory; NULL: none can be removed */
	int (*remove)(struct session *session, const struct dirtab_row *dir, const char *name);

	/* frees a row that was made for one caller; NULL if there is nothing to free */
	void (*put)(const struct dirtab_row *row);
};

/* The owner of the tree or of a session, and the mode from a mount option or of the session. */
struct dirtab_owner {
	uid_t uid;
	gid_t gid;
	bool mode_given;
	mode_t mode;
	bool shared; /* other users may use the tree, so they must reach sessions/ */
};

/*
 * Finds the row of `name` in a directory. Returns -ENOENT, or another -errno of the row's resolve,
 * with or without a sentence. The caller returns the row with dirtab_put().
 */
int dirtab_lookup(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err);

/* The first row of a directory's table, and the one after `row`; NULL if there is none. */
const struct dirtab_row *dirtab_first(const struct dirtab_row *dir);
const struct dirtab_row *dirtab_next(const struct dirtab_row *dir, const struct dirtab_row *row);

/*
 * Appends the rows of a directory in the order in which they are shown. The caller returns each
 * with dirtab_put().
 */
void dirtab_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);

void dirtab_put(const struct dirtab_row *row);

/*
 * Makes a row for one caller, who returns it with dirtab_put(): that of `like` with a copy of the name. It is
 * the first member of a struct of `bytes` bytes, of which the others are 0.
 */
struct dirtab_row *dirtab_make(const struct dirtab_row *like, const char *name, size_t bytes);
/* Appends such rows of the names, without further members. */
void dirtab_make_all(const struct dirtab_row *like, const GPtrArray *names, GPtrArray *rows);

/* Whether the row has callbacks for it, for any user. */
bool dirtab_can_read(const struct dirtab_row *row);
bool dirtab_can_write(const struct dirtab_row *row);

/*
 * File type and permission bits: the row's, or the mount's masked by what the row can do. A user
 * who may read a directory may also search it. A directory is writable only if files can be created
 * in it.
 */
mode_t dirtab_mode(const struct dirtab_row *row, const struct dirtab_owner *owner);

/* The inode number of a row, the same for each of its nodes; never that of the top, 1. */
uint64_t dirtab_ino(uint64_t dir_ino, const char *name);
#define DIRTAB_ROOT_INO 1

#endif
