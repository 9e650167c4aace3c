/* SPDX-License-Identifier: MIT */
/* Nodes and the texts that readers have open: see node.h. */
#include "fs/node.h"

#include <pthread.h>
#include <string.h>

#include "base/units.h"
#include "fs/content.h"
#include "fs/filetext.h"
#include "fs/quota.h"

#define BLOCK_BYTES 512 /* the unit of st_blocks */
#define IO_BYTES 4096	/* st_blksize */
/* The same for streams: cat reads as many bytes at once, and a capture grows every 100 ms. */
#define STREAM_IO_BYTES (512u << 10)

struct node {
	struct node *dir;	      /* invariant: counts this one; NULL for the root */
	struct session *session;      /* invariant */
	const struct dirtab_row *row; /* invariant */
	uint64_t ino;		      /* invariant */
	struct timespec born;	      /* invariant: when it was looked up */
	uint64_t lookups;	      /* (lock) */
	unsigned int children;	      /* (lock) nodes whose directory it is */
	unsigned int readers;	      /* (lock) open files with a text */
	struct filetext *text;	      /* (lock) what the page cache holds; NULL if there is no reader */
	bool stored;		      /* (lock) a text was in the page cache */
	struct quota_share *share;    /* invariant: of the user who looked up a made folder; NULL: no limit */
	GList link;		      /* (lock) in nodes->all */
};

struct nodes {
	struct dirtab_owner owner; /* invariant */
	struct timespec born;	   /* invariant: the times of directories, and of files without writes */
	struct node root;	   /* members as above */
	pthread_mutex_t lock;	   /* above that of the quotas only; never held while a row's callback runs */
	void (*owner_of)(struct session *session, struct dirtab_owner *owner); /* invariant; may be NULL */
	bool (*is_removed)(struct session *session); /* invariant; may be NULL */
	void (*many)(void *arg);   /* invariant; NULL if not watched */
	void *many_arg;		   /* invariant */
	struct quotas *quotas;	   /* invariant; NULL: made folders have no limit */
	unsigned int made;	   /* (lock) folders whose rows were made for a lookup */
	bool called;		   /* (lock) `many` was, and nodes_each_made() was not */
	GQueue all;		   /* (lock) of struct node, without the root; directories first */
	GHashTable *directories;   /* (lock) the set of these, by what find_directory() looks for */
	GHashTable *writes;	   /* (lock) inode number -> time of the last write, of DIRTAB_CONTROL */
	GHashTable *sizes;	   /* (lock) inode number -> bytes of the newest text, of DIRTAB_COSTLY */
};

static guint hash_directory(gconstpointer key)
{
	const struct node *node = key;

	return g_str_hash(node->row->name) ^ g_direct_hash(node->dir) ^
	       g_direct_hash(node->row->session) << 1;
}

/* A row that was made for one lookup is known by its name, and by its session. */
static gboolean equal_directory(gconstpointer a, gconstpointer b)
{
	const struct node *x = a, *y = b;

	return x->dir == y->dir && x->row->session == y->row->session &&
		strcmp(x->row->name, y->row->name) == 0;
}

struct nodes *nodes_create(struct session *session, const struct dirtab_row *root,
	const struct dirtab_owner *owner)
{
	struct nodes *nodes = g_new0(struct nodes, 1);

	nodes->owner = *owner;
	nodes->root.session = session;
	nodes->root.row = root;
	nodes->root.ino = DIRTAB_ROOT_INO;
	clock_gettime(CLOCK_REALTIME, &nodes->born);
	pthread_mutex_init(&nodes->lock, NULL);
	g_queue_init(&nodes->all);
	nodes->directories = g_hash_table_new(hash_directory, equal_directory);
	nodes->writes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	nodes->sizes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	return nodes;
}

static void free_node(const struct nodes *nodes, struct node *node)
{
	if (node->share)
		quota_return(nodes->quotas, node->share);
	g_free(node->share);
	filetext_put(node->text);
	dirtab_put(node->row);
	g_free(node);
}

void nodes_destroy(struct nodes *nodes)
{
	GList *link;

	if (!nodes)
		return;
	g_hash_table_unref(nodes->directories);
	while ((link = g_queue_pop_head_link(&nodes->all)))
		free_node(nodes, link->data);
	g_hash_table_unref(nodes->writes);
	g_hash_table_unref(nodes->sizes);
	pthread_mutex_destroy(&nodes->lock);
	g_free(nodes);
}

struct node *nodes_root(struct nodes *nodes)
{
	return &nodes->root;
}

const struct dirtab_row *node_row(const struct node *node)
{
	return node->row;
}

struct session *node_session(const struct node *node)
{
	return node->session;
}

/*
 * Returns the existing node of a directory. Called with the lock held, for each lookup of any user: a process
 * may hold thousands of folders of views/.
 */
static struct node *find_directory(struct nodes *nodes, struct node *dir, const struct dirtab_row *row)
{
	const struct node wanted = { .dir = dir, .row = row };

	return g_hash_table_lookup(nodes->directories, &wanted);
}

/* Those of sessions are few, and some process may work in one. */
static bool is_made_folder(const struct node *node)
{
	return node->row->type == DIRTAB_DIR && node->row->put && !node->row->session;
}

static struct node *create_node(struct node *dir, const struct dirtab_row *row)
{
	struct node *node = g_new0(struct node, 1);

	node->dir = dir;
	node->session = row->session ? row->session : dir->session;
	node->row = row;
	node->ino = dirtab_ino(dir->ino, row->name);
	clock_gettime(CLOCK_REALTIME, &node->born);
	node->link.data = node;
	return node;
}

/* With the lock held. */
static void link_node(struct nodes *nodes, struct node *node)
{
	node->dir->children++;
	if (node->row->type == DIRTAB_DIR) {
		g_queue_push_head_link(&nodes->all, &node->link);
		g_hash_table_add(nodes->directories, node);
	} else {
		g_queue_push_tail_link(&nodes->all, &node->link);
	}
	nodes->made += is_made_folder(node);
}

/* A made folder counts for the user who is the first to look it up. */
static int take_share(const struct nodes *nodes, struct node *node, uid_t uid, struct err *err)
{
	int ret;

	if (!nodes->quotas || !is_made_folder(node))
		return 0;
	node->share = g_new0(struct quota_share, 1);
	node->share->uid = uid;
	ret = quota_take(nodes->quotas, node->share, QUOTA_FOLDERS, 1, err);
	if (ret)
		g_clear_pointer(&node->share, g_free);
	return ret;
}

/* With the lock held. What the kernel only remembers is to go, also where a user has too many. */
static bool calls_many(struct nodes *nodes, bool refused)
{
	if ((!refused && nodes->made <= NODES_MADE_MAX) || nodes->called || !nodes->many)
		return false;
	nodes->called = true;
	return true;
}

/* Takes the row. */
static int add_node(struct nodes *nodes, struct node *dir, const struct dirtab_row *row, uid_t uid,
	struct node **node, struct err *err)
{
	struct node *found = NULL, *refused = NULL;
	bool is_new, many = false;
	int ret = 0;

	pthread_mutex_lock(&nodes->lock);
	if (row->type == DIRTAB_DIR)
		found = find_directory(nodes, dir, row);
	is_new = !found;
	if (is_new) {
		found = create_node(dir, row);
		ret = take_share(nodes, found, uid, err);
		if (ret)
			refused = g_steal_pointer(&found);
		else
			link_node(nodes, found);
		many = calls_many(nodes, ret != 0);
	}
	if (found)
		found->lookups++;
	pthread_mutex_unlock(&nodes->lock);
	if (!is_new)
		dirtab_put(row);
	if (refused)
		free_node(nodes, refused);
	if (many)
		nodes->many(nodes->many_arg);
	*node = found;
	return ret;
}

int node_lookup(struct nodes *nodes, struct node *dir, const char *name, uid_t uid, struct node **node,
	struct err *err)
{
	const struct dirtab_row *row;
	int ret = dirtab_lookup(dir->session, dir->row, name, &row, err);

	return ret ? ret : add_node(nodes, dir, row, uid, node, err);
}

struct node *node_create(struct nodes *nodes, struct node *dir, const char *name)
{
	const struct dirtab_row *row = NULL;
	struct node *node = NULL;

	if (dir->row->create)
		row = dir->row->create(dir->session, dir->row, name);
	if (row) /* a file, for which there is no limit */
		(void)add_node(nodes, dir, row, 0, &node, NULL);
	return node;
}

/*
 * Removes a node that neither the kernel nor a node below it refers to. Called with the lock held.
 */
static bool unlink_unused(struct nodes *nodes, struct node *node)
{
	if (node == &nodes->root || node->lookups || node->children)
		return false;
	g_queue_unlink(&nodes->all, &node->link);
	if (node->row->type == DIRTAB_DIR)
		g_hash_table_remove(nodes->directories, node);
	nodes->made -= is_made_folder(node);
	node->dir->children--;
	return true;
}

void node_hold(struct nodes *nodes, struct node *node)
{
	pthread_mutex_lock(&nodes->lock);
	node->lookups++;
	pthread_mutex_unlock(&nodes->lock);
}

void node_forget(struct nodes *nodes, struct node *node, uint64_t count)
{
	GQueue gone = G_QUEUE_INIT;
	GList *link;

	if (node == &nodes->root)
		return;
	pthread_mutex_lock(&nodes->lock);
	node->lookups -= MIN(count, node->lookups);
	for (; unlink_unused(nodes, node); node = node->dir)
		g_queue_push_tail_link(&gone, &node->link);
	pthread_mutex_unlock(&nodes->lock);
	while ((link = g_queue_pop_head_link(&gone)))
		free_node(nodes, link->data);
}

void node_path(const struct node *node, GString *out)
{
	if (!node->dir) {
		g_string_append(out, node->row->name);
		return;
	}
	if (node->dir->dir) {
		node_path(node->dir, out);
		g_string_append_c(out, '/');
	}
	g_string_append(out, node->row->name);
}

/* With the lock held. */
static void keep_size(struct nodes *nodes, const struct node *node, uint64_t size)
{
	if (node->row->flags & DIRTAB_COSTLY)
		g_hash_table_replace(nodes->sizes, g_memdup2(&node->ino, sizeof(node->ino)),
			g_memdup2(&size, sizeof(size)));
}

static bool find_size(struct nodes *nodes, const struct node *node, uint64_t *size)
{
	const uint64_t *found;

	pthread_mutex_lock(&nodes->lock);
	found = g_hash_table_lookup(nodes->sizes, &node->ino);
	if (found)
		*size = *found;
	pthread_mutex_unlock(&nodes->lock);
	return found != NULL;
}

/* The size of a file that no reader has open now. */
static uint64_t measure(struct nodes *nodes, const struct node *node, const uid_t *reader)
{
	const struct dirtab_row *row = node->row;
	uint64_t size;

	if (row->size)
		return row->size(node->session, row);
	if (!reader || !row->content || !row->content->measure)
		return 0;
	if (find_size(nodes, node, &size))
		return size;
	return row->content->measure(node->session, row, *reader);
}

void node_written(struct nodes *nodes, const struct node *node)
{
	struct timespec now;

	if (!(node->row->flags & DIRTAB_CONTROL))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	pthread_mutex_lock(&nodes->lock);
	g_hash_table_replace(nodes->writes, g_memdup2(&node->ino, sizeof(node->ino)),
		g_memdup2(&now, sizeof(now)));
	pthread_mutex_unlock(&nodes->lock);
}

/*
 * Returns the modification time of a file without a text, as stat(2) shows it. An editor compares
 * the time before it writes settings back, and tar before and after it reads.
 */
static struct timespec time_of(struct nodes *nodes, const struct node *node)
{
	const struct timespec *written;
	struct timespec time;

	if (node->row->type == DIRTAB_STREAM)
		return node->born;
	if (!(node->row->flags & DIRTAB_CONTROL)) {
		clock_gettime(CLOCK_REALTIME, &time);
		return time;
	}
	pthread_mutex_lock(&nodes->lock);
	written = g_hash_table_lookup(nodes->writes, &node->ino);
	time = written ? *written : nodes->born;
	pthread_mutex_unlock(&nodes->lock);
	return time;
}

/* A session that users made has an owner and a mode, which its files have too. */
static void fill_stat(struct nodes *nodes, struct session *session, const struct dirtab_row *row,
	uint64_t ino, struct stat *st)
{
	struct dirtab_owner owner = nodes->owner;

	if (session != nodes->root.session && nodes->owner_of)
		nodes->owner_of(session, &owner);
	*st = (struct stat){ 0 };
	st->st_ino = ino;
	st->st_mode = dirtab_mode(row, &owner);
	st->st_uid = owner.uid;
	st->st_gid = owner.gid;
	st->st_nlink = row->type == DIRTAB_DIR ? 2 : 1;
	st->st_blksize = row->type == DIRTAB_STREAM ? STREAM_IO_BYTES : IO_BYTES;
}

bool node_stat(struct nodes *nodes, struct node *node, const uid_t *reader, struct stat *st)
{
	struct timespec time;
	bool stays = false;
	struct filetext *text;

	pthread_mutex_lock(&nodes->lock);
	text = node->text ? filetext_get(node->text) : NULL;
	pthread_mutex_unlock(&nodes->lock);

	fill_stat(nodes, node->session, node->row, node->ino, st);
	if (text) {
		st->st_size = (off_t)text->size;
		time = text->time;
		stays = true;
	} else if (node->row->type == DIRTAB_DIR) {
		time = nodes->born;
		stays = node->row->rows != NULL;
	} else {
		st->st_size = (off_t)measure(nodes, node, reader);
		time = time_of(nodes, node);
	}
	filetext_put(text);
	/* 0 blocks would make the file a hole for cp */
	st->st_blocks = (st->st_size + BLOCK_BYTES - 1) / BLOCK_BYTES;
	st->st_atim = st->st_mtim = st->st_ctim = time;
	return stays;
}

void node_stat_entry(struct nodes *nodes, struct node *dir, const struct dirtab_row *row,
	struct stat *st)
{
	fill_stat(nodes, row->session ? row->session : dir->session, row, dirtab_ino(dir->ino, row->name),
		st);
}

enum node_text node_open_text(struct nodes *nodes, struct node *node, struct filetext *text)
{
	enum node_text ret;

	pthread_mutex_lock(&nodes->lock);
	keep_size(nodes, node, text->size);
	if (node->readers++) {
		ret = NODE_TEXT_OTHER;
	} else {
		ret = node->stored ? NODE_TEXT_AGAIN : NODE_TEXT_FIRST;
		node->text = filetext_get(text);
		node->stored = true;
	}
	pthread_mutex_unlock(&nodes->lock);
	return ret;
}

void node_close_text(struct nodes *nodes, struct node *node)
{
	struct filetext *text = NULL;

	pthread_mutex_lock(&nodes->lock);
	if (!--node->readers)
		text = g_steal_pointer(&node->text);
	pthread_mutex_unlock(&nodes->lock);
	filetext_put(text);
}

void nodes_owner(const struct nodes *nodes, struct dirtab_owner *owner)
{
	*owner = nodes->owner;
}

void nodes_set_owners(struct nodes *nodes,
	void (*owner_of)(struct session *session, struct dirtab_owner *owner))
{
	nodes->owner_of = owner_of;
}

void nodes_set_quotas(struct nodes *nodes, struct quotas *quotas)
{
	nodes->quotas = quotas;
}

void nodes_watch(struct nodes *nodes, void (*many)(void *arg), void *arg)
{
	nodes->many = many;
	nodes->many_arg = arg;
}

void nodes_set_removed(struct nodes *nodes, bool (*is_removed)(struct session *session))
{
	nodes->is_removed = is_removed;
}

static bool is_of_removed(const struct nodes *nodes, const struct node *node)
{
	return nodes->is_removed && node->session != nodes->root.session && nodes->is_removed(node->session);
}

/* Whether another session has the name of this folder, which is that of a removed one. */
static bool is_name_of_another(const struct nodes *nodes, const struct node *folder)
{
	for (GList *link = nodes->all.head; link; link = link->next) {
		const struct node *node = link->data;

		if (node->row->type != DIRTAB_DIR)
			break;
		if (node->dir == folder->dir && node->row->session && !is_of_removed(nodes, node) &&
			strcmp(node->row->name, folder->row->name) == 0)
			return true;
	}
	return false;
}

/*
 * Whether the kernel is to forget a name. Of a removed session it still remembers those that were in use
 * then, also when they are closed, and each of them keeps the session. Made folders, in which a process may
 * work, only if there are many.
 */
static bool is_to_drop(const struct nodes *nodes, const struct node *node)
{
	if (is_of_removed(nodes, node))
		return !node->row->session || !is_name_of_another(nodes, node);
	return nodes->called && is_made_folder(node) && !is_made_folder(node->dir);
}

void nodes_each_made(struct nodes *nodes,
	void (*each)(void *arg, const struct node *dir, const char *name), void *arg)
{
	g_autoptr(GPtrArray) dirs = g_ptr_array_new();
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GList *link;
	guint i;

	pthread_mutex_lock(&nodes->lock);
	for (link = nodes->all.head; link; link = link->next) {
		struct node *node = link->data;

		if (is_to_drop(nodes, node)) {
			g_ptr_array_add(dirs, node->dir);
			g_ptr_array_add(names, g_strdup(node->row->name));
		}
	}
	nodes->called = false;
	pthread_mutex_unlock(&nodes->lock);
	for (i = 0; i < dirs->len; i++)
		each(arg, g_ptr_array_index(dirs, i), g_ptr_array_index(names, i));
}

uint64_t nodes_count(struct nodes *nodes)
{
	uint64_t count;

	pthread_mutex_lock(&nodes->lock);
	count = nodes->all.length;
	pthread_mutex_unlock(&nodes->lock);
	return count;
}
