/* SPDX-License-Identifier: MIT */
/*
 * Nodes: the files and directories to which the inode numbers of the mount refer.
 *
 * Each lookup of a file makes a new node, so that open files do not share a size and a page cache.
 * The kernel drops the node (forget) when the last file that was opened by the lookup is closed.
 * Two open files share a node only if a program opens one again through /proc/self/fd; then stat
 * and the page cache have the first reader's text until no reader is left. A directory has one
 * node, since a working directory must stay the same.
 *
 * Thread-safe. A node is valid from its lookup to the forget that balances it, which the kernel
 * guarantees, and as long as it is held.
 */
#ifndef KPROFS_FS_NODE_H
#define KPROFS_FS_NODE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "fs/dirtab.h"

struct filetext;
struct node;
struct nodes;
struct quotas;

/* session and root are those of the top folder. Any other node has the session of its directory. */
struct nodes *nodes_create(struct session *session, const struct dirtab_row *root,
	const struct dirtab_owner *owner);
/* The owner of the files at the top. */
void nodes_owner(const struct nodes *nodes, struct dirtab_owner *owner);
/*
 * Sets the function that finds the owner of a session other than that of the top. Called before the first
 * lookup.
 */
void nodes_set_owners(struct nodes *nodes,
	void (*owner_of)(struct session *session, struct dirtab_owner *owner));
/*
 * Sets the function that says whether a session was removed; its folder then counts as a made one. Called at
 * the same time.
 */
void nodes_set_removed(struct nodes *nodes, bool (*is_removed)(struct session *session));
/*
 * Sets the limits of made folders, before the first lookup; without it there are none. The quotas outlive the
 * nodes.
 */
void nodes_set_quotas(struct nodes *nodes, struct quotas *quotas);
/* Frees the nodes that the kernel did not forget, as at unmount. */
void nodes_destroy(struct nodes *nodes);

/* Returns the top of the tree, which is never looked up or forgotten. */
struct node *nodes_root(struct nodes *nodes);

/*
 * Sets *node to a node for `name` in a directory, counted as looked up once, or returns -errno of
 * dirtab_lookup(). A folder that is made for it counts for this user until its node is freed: -EMFILE or
 * -ENFILE of quota_take().
 */
int node_lookup(struct nodes *nodes, struct node *dir, const char *name, uid_t uid, struct node **node,
	struct err *err);
/* The same for a name that does not exist; returns NULL if it cannot be created. */
struct node *node_create(struct nodes *nodes, struct node *dir, const char *name);
/*
 * One more use of a node that the caller knows to be valid: node_forget() with 1 ends it. Open files hold
 * their node, since a thread may still have one when the kernel has closed it and forgotten the node.
 */
void node_hold(struct nodes *nodes, struct node *node);
void node_forget(struct nodes *nodes, struct node *node, uint64_t count);

const struct dirtab_row *node_row(const struct node *node);
/* Appends the path from the mount, as cpu/0/trace; "/" of the root. */
void node_path(const struct node *node, GString *out);
/* Returns the session, for the callbacks of the row. */
struct session *node_session(const struct node *node);

/*
 * Sets what stat reports. The size is that of the text that a reader has open, otherwise that of a
 * text rendered now, or, if the row is DIRTAB_COSTLY, of the newest text. If `reader` is not NULL,
 * a text is rendered for that user to know its size; it is NULL if no size is needed, as at a
 * lookup: the kernel sends a GETATTR before it shows a size. Returns true if the result will not
 * change soon: a text is open, or the node is a directory whose rows are a table.
 */
bool node_stat(struct nodes *nodes, struct node *node, const uid_t *reader, struct stat *st);

/* The entry of a row in this directory, as readdir needs it: type and inode number. */
void node_stat_entry(struct nodes *nodes, struct node *dir, const struct dirtab_row *row,
	struct stat *st);

/* Called when a write to the file has been carried out. */
void node_written(struct nodes *nodes, const struct node *node);

enum node_text {
	NODE_TEXT_FIRST, /* the page cache of the node is empty: the text is its content now */
	NODE_TEXT_AGAIN, /* the same, but an earlier text may still be in the page cache */
	NODE_TEXT_OTHER, /* another reader's text is there */
};

/*
 * Called when a reader has opened the node with this text. Each call needs a node_close_text with
 * the same text.
 */
enum node_text node_open_text(struct nodes *nodes, struct node *node, struct filetext *text);
void node_close_text(struct nodes *nodes, struct node *node);

/*
 * Folders whose rows were made for a lookup: the kernel keeps each name that was ever used until it
 * needs the memory. When there are more than NODES_MADE_MAX of them, or a user has too many, `many` is
 * called in the thread of a lookup, without a lock, and again only after nodes_each_made(). Called before
 * the first lookup.
 */
#define NODES_MADE_MAX 512 /* more than any program has in use; some 1.7 KiB each */
void nodes_watch(struct nodes *nodes, void (*many)(void *arg), void *arg);
/*
 * If `many` was called, calls `each` for those of them that are in a folder of a table: all others are below
 * them. In any case for all names of removed sessions. Without a lock; dir may only be compared: it may be
 * gone.
 */
void nodes_each_made(struct nodes *nodes,
	void (*each)(void *arg, const struct node *dir, const char *name), void *arg);

/* Returns the number of nodes to which the kernel or an open file has references. */
uint64_t nodes_count(struct nodes *nodes);

#endif
