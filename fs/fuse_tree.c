/* SPDX-License-Identifier: MIT */
/*
 * FUSE requests that need no open file: names, attributes, directories, and what the tree always
 * refuses. In any worker, several at once; none of them blocks. See fuse_ops.c.
 */
#include "fs/fuse_tree.h"

#include <errno.h>

#include "base/nearest.h"
#include "fs/dirtab.h"
#include "fs/entry_reply.h"
#include "fs/fuse_req.h"
#include "fs/session.h"
#include "fs/sessions.h"

/*
 * The time for which the kernel caches attributes that do not change; otherwise it sends a GETATTR
 * before each read.
 */
#define STAYS_S 1.0

/* ---- names and attributes --------------------------------------------------------------------- */

static void lookup_op(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct origin origin = origin_of(req);

	entry_reply(req, node_of(req, parent), name, &origin);
}

static void forget_op(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	node_forget(server_of(req)->nodes, node_of(req, ino), count);
	fuse_reply_none(req);
}

static void forget_multi_op(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	size_t i;

	for (i = 0; i < count; i++)
		node_forget(server_of(req)->nodes, node_of(req, forgets[i].ino),
			forgets[i].nlookup);
	fuse_reply_none(req);
}

static void reply_stat(fuse_req_t req, fuse_ino_t ino)
{
	const uid_t reader = fuse_req_ctx(req)->uid;
	const struct node *node = node_of(req, ino);
	const struct dirtab_row *row = node_row(node);
	struct stat st;
	bool stays = node_stat(server_of(req)->nodes, node_of(req, ino), &reader, &st);

	if (row->type == DIRTAB_STREAM && row->stream->size)
		st.st_size = (off_t)openfiles_stream_size(server_of(req)->files, node);
	fuse_reply_attr(req, &st, stays ? STAYS_S : 0);
}

static void getattr_op(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	reply_stat(req, ino);
}

/* The kernel has checked who may change what; the owner and the mode are those of its files too. */
static void set_owner(fuse_req_t req, struct node *node, const struct stat *attr, int to_set)
{
	struct session *session = node_session(node);
	struct dirtab_owner owner;

	session_owner(session, &owner);
	if (to_set & FUSE_SET_ATTR_MODE)
		owner.mode = attr->st_mode & 0777;
	if (to_set & FUSE_SET_ATTR_UID)
		owner.uid = attr->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		owner.gid = attr->st_gid;
	session_set_owner(session, &owner);
	reply_stat(req, ino_of(node));
}

/* What chmod and chown set; the kernel sets the time of the change with them. */
#define SET_OWNER (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID | FUSE_SET_ATTR_CTIME)

static void setattr_op(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
	struct fuse_file_info *fi)
{
	struct node *node = node_of(req, ino);
	const struct dirtab_row *row = node_row(node);

	if (row->session && !(to_set & ~SET_OWNER) && !(to_set & FUSE_SET_ATTR_MODE && attr->st_mode & 07000))
		set_owner(req, node, attr, to_set);
	/* `>` truncates to size 0; there is nothing to truncate */
	else if (to_set & ~FUSE_SET_ATTR_SIZE || attr->st_size)
		fuse_reply_err(req, EPERM);
	else if (!dirtab_can_write(row))
		fuse_reply_err(req, EACCES);
	else
		reply_stat(req, ino);
}

/* ---- names that are made and removed ---------------------------------------------------------- */

/* The files of the folder whose names are near to one that it does not have. */
static void offer_names(struct node *dir, struct nearest *nearest)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	const struct dirtab_row *unlisted;
	guint i;

	dirtab_list(node_session(dir), node_row(dir), rows);
	for (i = 0; i < rows->len; i++) {
		const struct dirtab_row *row = g_ptr_array_index(rows, i);

		nearest_offer(nearest, row->name);
		dirtab_put(row);
	}
	for (unlisted = dirtab_first(node_row(dir)); unlisted;
		unlisted = dirtab_next(node_row(dir), unlisted))
		if (unlisted->flags & DIRTAB_UNLISTED)
			nearest_offer(nearest, unlisted->name);
}

static void refuse_change(fuse_req_t req, const struct node *node, const char *reason)
{
	const struct origin origin = origin_of(req);

	openfile_report(node_session(node)->report, node, &origin, reason);
	fuse_reply_err(req, EPERM);
}

void fuse_tree_refuse(struct fuse_req *req, uint64_t parent, const char *name)
{
	struct node *dir = node_of(req, parent);
	const struct origin origin = origin_of(req);
	const char *form = node_row(dir)->usage;
	char near[NEAREST_TEXT_MAX];
	g_autofree char *reason = NULL;
	struct nearest nearest;

	nearest_init(&nearest, name);
	offer_names(dir, &nearest);
	reason = g_strdup_printf("'%s' is not there and can't be created%s%s%s", name,
		form ? ": a name is " : "", form ? form : "", nearest_text(&nearest, near, sizeof(near)));
	openfile_report(node_session(dir)->report, dir, &origin, reason);
	fuse_reply_err(req, EPERM);
}

/* What is no file, or is made without an open: where files can be created, the name may be right. */
static void refuse_node(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node_of(req, parent);
	g_autofree char *reason = NULL;

	if (!node_row(dir)->create) {
		fuse_tree_refuse(req, parent, name);
		return;
	}
	reason = g_strdup_printf("'%s' can't be created: only files can, by writing them", name);
	refuse_change(req, dir, reason);
}

static void mknod_op(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	refuse_node(req, parent, name);
}

static void mkdir_op(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct node *dir = node_of(req, parent);
	const struct origin origin = origin_of(req);

	if (node_row(dir)->flags & DIRTAB_SESSIONS)
		sessions_make(server_of(req)->sessions, req, dir, name, &origin);
	else
		refuse_node(req, parent, name);
}

static void rmdir_op(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node_of(req, parent);
	const struct origin origin = origin_of(req);

	if (node_row(dir)->flags & DIRTAB_SESSIONS)
		sessions_remove(server_of(req)->sessions, req, dir, name, &origin);
	else
		fuse_reply_err(req, EPERM);
}

static void unlink_op(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node_of(req, parent);
	const struct dirtab_row *row = node_row(dir);
	int ret = row->remove ? row->remove(node_session(dir), row, name) : -EPERM;

	fuse_reply_err(req, -ret);
}

static void symlink_op(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	refuse_node(req, parent, name);
}

static void rename_op(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	const char *new_name, unsigned int flags)
{
	g_autofree char *reason = g_strdup_printf("'%s' can't be renamed", name);

	refuse_change(req, node_of(req, parent), reason);
}

static void link_op(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
	refuse_change(req, node_of(req, ino), "it can't have another name");
}

/* ---- directories ------------------------------------------------------------------------------ */

/* An open directory: its listing at the newest read from offset 0. A read may use it during the close. */
struct listing {
	struct quotas *quotas;
	struct quota_share share;
	GByteArray *entries;
};

static struct listing *listing_of(const struct fuse_file_info *fi)
{
	return (struct listing *)(uintptr_t)fi->fh;
}

static void clear_listing(void *data)
{
	struct listing *listing = data;

	g_byte_array_unref(listing->entries);
	quota_return(listing->quotas, &listing->share);
}

static void put_listing(struct listing *listing)
{
	g_atomic_rc_box_release_full(listing, clear_listing);
}

/* Counted as an open file of the user. */
static int create_listing(fuse_req_t req, fuse_ino_t ino, struct listing **listing)
{
	const struct node *node = node_of(req, ino);
	const struct origin origin = origin_of(req);
	struct listing *l = g_atomic_rc_box_new0(struct listing);
	struct err err = { "" };
	int ret;

	l->quotas = server_of(req)->quotas;
	l->share.uid = origin.uid;
	l->entries = g_byte_array_new();
	ret = quota_take(l->quotas, &l->share, QUOTA_FILES, 1, &err);
	if (ret) {
		openfile_report(node_session(node)->report, node, &origin, err.text);
		put_listing(l);
		return ret;
	}
	*listing = l;
	return 0;
}

static void opendir_op(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *listing;
	int ret = create_listing(req, ino, &listing);

	if (ret) {
		fuse_reply_err(req, -ret);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)listing;
	if (fuse_reply_open(req, fi))
		put_listing(listing);
}

static void add_entry(fuse_req_t req, GByteArray *listing, const char *name, const struct stat *st)
{
	size_t size = fuse_add_direntry(req, NULL, 0, name, NULL, 0);
	guint start = listing->len;

	g_byte_array_set_size(listing, start + (guint)size);
	fuse_add_direntry(req, (char *)listing->data + start, size, name, st, listing->len);
}

/* Entries in the kernel's format; the offset of an entry is that of the next one. */
static void list_directory(fuse_req_t req, struct node *dir, GByteArray *listing)
{
	struct nodes *nodes = server_of(req)->nodes;
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	struct stat st;
	guint i;

	g_byte_array_set_size(listing, 0);
	node_stat(nodes, dir, NULL, &st);
	add_entry(req, listing, ".", &st);
	add_entry(req, listing, "..", &st);
	dirtab_list(node_session(dir), node_row(dir), rows);
	for (i = 0; i < rows->len; i++) {
		const struct dirtab_row *row = g_ptr_array_index(rows, i);

		node_stat_entry(nodes, dir, row, &st);
		add_entry(req, listing, row->name, &st);
		dirtab_put(row);
	}
}

/* Counts its bytes for the user; of a listing that grew since the first time, the difference. */
static int make_listing(fuse_req_t req, struct node *dir, struct listing *listing)
{
	uint64_t taken = listing->share.taken[QUOTA_BYTES];

	list_directory(req, dir, listing->entries);
	if (listing->entries->len <= taken)
		return 0;
	return quota_take(listing->quotas, &listing->share, QUOTA_BYTES,
		listing->entries->len - taken, NULL);
}

static void readdir_op(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct listing *listing = g_atomic_rc_box_acquire(listing_of(fi));
	const GByteArray *entries = listing->entries;
	int ret = 0;

	/* the kernel reads an open directory in one thread at a time */
	if (!off)
		ret = make_listing(req, node_of(req, ino), listing);
	if (ret)
		fuse_reply_err(req, -ret);
	else if (off < 0 || (uint64_t)off >= entries->len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, (char *)entries->data + off, MIN(size, entries->len - (size_t)off));
	put_listing(listing); /* it may have been closed meanwhile */
}

static void releasedir_op(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	put_listing(listing_of(fi));
	fuse_reply_err(req, 0);
}

void fuse_tree_add(struct fuse_lowlevel_ops *operations)
{
	operations->lookup = lookup_op;
	operations->forget = forget_op;
	operations->forget_multi = forget_multi_op;
	operations->getattr = getattr_op;
	operations->setattr = setattr_op;
	operations->mknod = mknod_op;
	operations->mkdir = mkdir_op;
	operations->unlink = unlink_op;
	operations->rmdir = rmdir_op;
	operations->symlink = symlink_op;
	operations->rename = rename_op;
	operations->link = link_op;
	operations->opendir = opendir_op;
	operations->readdir = readdir_op;
	operations->releasedir = releasedir_op;
}
