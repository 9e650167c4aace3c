/* SPDX-License-Identifier: MIT */
/*
 * Turns FUSE requests into calls of the rows of the tree, and -errno into exactly one reply each: the
 * requests for open files, and the session with the kernel. fuse_tree.c has the requests by name.
 *
 * The functions that end in _op run in any worker, several at once. None of them blocks: what must
 * wait is parked (parked.h) by streams.c, kpctl_thread.c, slow_ops.c or switches.c.
 */
#include "fs/fuse_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/reserve.h"
#include "fs/kpctl_thread.h"
#include "fs/ctl_words.h"
#include "fs/dirtab.h"
#include "fs/filetext.h"
#include "fs/fuse_req.h"
#include "fs/fuse_tree.h"
#include "fs/node.h"
#include "fs/open_reply.h"
#include "fs/openfile.h"
#include "fs/options.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/streams.h"
#include "fs/switches.h"
#include "fs/slow_ops.h"

#define DEVICE "/dev/fuse"

/* ---- open and close -------------------------------------------------------------------------- */

/* Drops the reference of the kernel, or of an open that the kernel did not accept. */
static void drop_file(struct openfile *file)
{
	if (file->row->flags & DIRTAB_CONTROL)
		kpctl_thread_release(file->session->kpctl, file);
	else
		openfile_put(file);
}

static void fill_and_open(fuse_req_t req, struct openfile *file, const struct origin *origin)
{
	int ret = openfile_fill(file, origin);

	if (ret) {
		drop_file(file); /* before the reply, so that a new open finds its quota free */
		fuse_reply_err(req, -ret);
	} else if (!open_reply(req, file)) {
		drop_file(file);
	}
}

static void open_op(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *server = server_of(req);
	struct node *node = node_of(req, ino);
	struct origin origin = origin_of(req);
	struct openfile *file;
	int ret;

	ret = openfile_create(server->files, node, node_session(node)->report, fi->flags, &origin, &file);
	if (ret)
		fuse_reply_err(req, -ret);
	else if (file->row->flags & DIRTAB_CONTROL)
		kpctl_thread_open(file->session->kpctl, req, file, &origin);
	else if (file->thread == CONTENT_IN_VIEW_THREAD)
		slow_ops_open(server->view_ops, req, file, &origin);
	else if (file->thread == CONTENT_IN_TRACE_THREAD)
		slow_ops_open(server->trace_ops, req, file, &origin);
	else
		fill_and_open(req, file, &origin);
}

/* A file that does not exist yet, as the switch of an event: the open that sets it creates it. */
static void create_op(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	struct fuse_file_info *fi)
{
	struct server *server = server_of(req);
	struct node *node = node_create(server->nodes, node_of(req, parent), name);
	struct origin origin = origin_of(req);
	struct fuse_entry_param entry = { 0 };
	struct openfile *file;
	int ret;

	if (!node) {
		fuse_tree_refuse(req, parent, name);
		return;
	}
	/* a file that does not exist cannot be read */
	ret = openfile_create(server->files, node, node_session(node)->report,
		(fi->flags & ~O_ACCMODE) | O_WRONLY, &origin, &file);
	if (ret) {
		node_forget(server->nodes, node, 1);
		fuse_reply_err(req, -ret);
		return;
	}
	entry.ino = ino_of(node);
	node_stat(server->nodes, node, NULL, &entry.attr);
	fi->fh = (uint64_t)(uintptr_t)file;
	fi->direct_io = 1;
	fi->noflush = !file->writer;
	if (fuse_reply_create(req, &entry, fi)) {
		drop_file(file);
		node_forget(server->nodes, node, 1);
	}
}

/*
 * Only for files with a writer: the reply to an open of any other file asks the kernel not to send FLUSH
 * (Linux 5.16), since a FLUSH takes as long as a read.
 */
static void flush_op(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct openfile *file = file_of(fi);
	struct origin origin = origin_of(req);

	if (file->writer)
		kpctl_thread_flush(file->session->kpctl, req, file, &origin);
	else
		fuse_reply_err(req, 0);
}

static void release_op(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct openfile *file = file_of(fi);

	if (file->row->type == DIRTAB_STREAM)
		streams_forget(server_of(req)->streams, file);
	/* before the reply: after it the kernel may forget the node */
	openfile_leave_node(file);
	drop_file(file);
	fuse_reply_err(req, 0);
}

/* ---- read, write, poll ----------------------------------------------------------------------- */

static void read_op(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct openfile *file = file_of(fi);
	struct filetext *text = file->content.text;

	if (file->row->type == DIRTAB_STREAM) {
		/*
		 * without owner: a read for the page cache (sendfile, mmap), which cannot hold a
		 * stream
		 */
		if (!fi->lock_owner)
			fuse_reply_err(req, EINVAL);
		else
			streams_read(server_of(req)->streams, req, file, fuse_req_ctx(req)->pid, size,
				fi->flags & O_NONBLOCK);
		return;
	}
	if (!text)
		fuse_reply_err(req, EBADF); /* the kernel does not read a file opened for writing */
	else if (off < 0 || (uint64_t)off >= text->size)
		fuse_reply_buf(req, NULL, 0);
	else if (text->lazy)
		slow_ops_read(server_of(req)->trace_ops, req, file, (uint64_t)off, size);
	else
		open_reply_read(req, text, (size_t)off, MIN(size, text->size - (size_t)off));
}

static void write_op(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct server *server = server_of(req);
	struct openfile *file = file_of(fi);
	struct origin origin = origin_of(req);
	int ret;

	if (file->row->flags & (DIRTAB_CONTROL | DIRTAB_SLOW_WRITE) &&
		(size < CTL_WORDS_WRITE_MAX || file->row->flags & DIRTAB_BULK)) {
		kpctl_thread_write(file->session->kpctl, req, file, &origin, data, size);
		return;
	}
	if (file->row->flags & DIRTAB_SWITCH) {
		switches_write(server->switches, server->listener, req, file, &origin, data, size);
		return;
	}
	ret = openfile_write(file, NULL, &origin, data, size);
	if (ret)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_write(req, size);
}

static void poll_op(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	struct fuse_pollhandle *handle)
{
	struct openfile *file = file_of(fi);
	unsigned int events = 0;

	if (openfile_writes(file))
		events |= POLLOUT | POLLWRNORM;
	if (file->row->type == DIRTAB_STREAM && openfile_reads(file)) {
		if (streams_poll(server_of(req)->streams, file, handle))
			events |= POLLIN | POLLRDNORM;
	} else {
		if (openfile_reads(file))
			events |= POLLIN | POLLRDNORM;
		if (handle)
			fuse_pollhandle_destroy(handle);
	}
	fuse_reply_poll(req, events);
}

/* ---- the session ----------------------------------------------------------------------------- */

static void init_op(void *arg, struct fuse_conn_info *conn)
{
	struct fuse_ops *ops = arg;

	/* an open text does not change, so the kernel need not check mtime before each read */
	conn->want &= ~(unsigned int)FUSE_CAP_AUTO_INVAL_DATA;
	/* a stream's reads are answered one after the other */
	conn->want &= ~(unsigned int)(FUSE_CAP_ASYNC_DIO | FUSE_CAP_WRITEBACK_CACHE);
	/* `>` is a flag of open, not a truncation before it */
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
	/* a text in a file is moved from its pages to the reader's without a copy in our memory */
	conn->want |= conn->capable & FUSE_CAP_SPLICE_WRITE;
	ops->ready(ops->server);
}

/*
 * The requests of this file; fuse_tree_add() adds the others. No fsync, xattr, ...: the kernel
 * sends such a request once, gets ENOSYS and sends no more.
 */
static const struct fuse_lowlevel_ops operations = {
	.init = init_op,
	.create = create_op,
	.open = open_op,
	.flush = flush_op,
	.release = release_op,
	.read = read_op,
	.write = write_op,
	.poll = poll_op,
};

static int collect_arguments(const struct options *options, struct fuse_args *args)
{
	g_autofree char *source = g_strdup_printf("fsname=%s",
		options->source ? options->source : "kprofs");
	char *list = NULL;
	guint i;
	int ret;

	ret = fuse_opt_add_opt(&list, "default_permissions,subtype=kprofs");
	if (!ret)
		ret = fuse_opt_add_opt_escaped(&list, source);
	for (i = 0; i < options->mount->len && !ret; i++)
		ret = fuse_opt_add_opt_escaped(&list, g_ptr_array_index(options->mount, i));
	if (!ret)
		ret = fuse_opt_add_arg(args, "kprofs") || fuse_opt_add_arg(args, "-o") ||
			fuse_opt_add_arg(args, list);
	free(list);
	return ret ? -ENOMEM : 0;
}

static int create_session(struct fuse_ops *ops, const struct options *options, struct err *err)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_lowlevel_ops all = operations;
	int ret = collect_arguments(options, &args);

	fuse_tree_add(&all);
	if (!ret) {
		ops->session = fuse_session_new(&args, &all, sizeof(all), ops);
		if (!ops->session)
			ret = err_set(err, EINVAL, "libfuse does not take the mount options");
	}
	fuse_opt_free_args(&args);
	return ret;
}

static int wait_also_for(struct fuse_ops *ops, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(ops->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/*
 * The descriptors that end the workers are opened at the start, since none may be available at the
 * end.
 */
static int create_stop(struct fuse_ops *ops, struct err *err)
{
	ops->epoll = epoll_create1(EPOLL_CLOEXEC);
	ops->stop = bell_open();
	if (ops->epoll < 0 || ops->stop < 0 || wait_also_for(ops, ops->stop))
		return err_set(err, errno, "descriptors: %s", g_strerror(errno));
	return 0;
}

int fuse_ops_create(struct server *server, const struct options *options,
	void (*ready)(struct server *server), struct fuse_ops **ops, struct err *err)
{
	struct fuse_ops *o = g_new0(struct fuse_ops, 1);
	int ret;

	o->server = server;
	o->ready = ready;
	o->epoll = o->stop = -1;
	ret = create_stop(o, err);
	if (!ret)
		ret = create_session(o, options, err);
	if (ret) {
		fuse_ops_destroy(o);
		return ret;
	}
	*ops = o;
	return 0;
}

/*
 * libfuse prints its own message and returns no errno, so this checks as much as possible before.
 */
static int check_device(struct err *err)
{
	if (!access(DEVICE, R_OK | W_OK))
		return 0;
	if (errno == ENOENT)
		return err_set(err, ENODEV, "there is no " DEVICE ": try `modprobe fuse`");
	return err_set(err, errno, DEVICE ": %s", g_strerror(errno));
}

int fuse_ops_mount(struct fuse_ops *ops, const char *mountpoint, struct err *err)
{
	int device, ret = check_device(err);

	if (ret)
		return ret;
	if (fuse_session_mount(ops->session, mountpoint))
		return err_set(err, EPERM, "cannot mount at %s", mountpoint);
	ops->mounted = true;
	device = fuse_session_fd(ops->session);
	/*
	 * several workers wake for a request and one gets it; the others must not block in read(2)
	 */
	if (fcntl(device, F_SETFL, fcntl(device, F_GETFL) | O_NONBLOCK) || wait_also_for(ops, device))
		return err_set(err, errno, DEVICE ": %s", g_strerror(errno));
	return 0;
}

/* Waits until there may be a request. Returns false if the workers should end. */
static bool wait_for_request(const struct fuse_ops *ops)
{
	struct epoll_event events[2]; /* room for both: neither hides the other */
	int i, n = epoll_wait(ops->epoll, events, G_N_ELEMENTS(events), -1);

	for (i = 0; i < n; i++)
		if (events[i].data.fd == ops->stop)
			return false;
	return n >= 0 || errno == EINTR;
}

void fuse_ops_serve(struct fuse_ops *ops)
{
	struct fuse_buf buffer = { .mem = NULL };
	int ret;

	while (!fuse_session_exited(ops->session) && wait_for_request(ops)) {
		ret = fuse_session_receive_buf(ops->session, &buffer);
		if (ret == -EINTR || ret == -EAGAIN)
			continue;
		if (ret <= 0)
			break;
		(void)reserve_is_whole(); /* refills the reserve after the previous requests */
		fuse_session_process_buf(ops->session, &buffer);
	}
	free(buffer.mem);
}

static void drop_name(void *arg, const struct node *dir, const char *name)
{
	struct fuse_ops *ops = arg;

	/* it may have been forgotten meanwhile */
	(void)fuse_lowlevel_notify_inval_entry(ops->session, ino_of(dir), name, strlen(name));
}

void fuse_ops_drop_names(struct fuse_ops *ops)
{
	nodes_each_made(ops->server->nodes, drop_name, ops);
}

void fuse_ops_stop(struct fuse_ops *ops)
{
	bell_ring(ops->stop);
}

/*
 * libfuse unmounts by path, unless poll says POLLERR of the device, as it does when the mount is
 * gone. After a lazy unmount it does not as long as files are open: so a pipe whose reading end is
 * closed, for which poll reports that, gets the device's number. That closes the device.
 */
void fuse_ops_unmounted(struct fuse_ops *ops)
{
	int ends[2];

	if (!ops->mounted)
		return;
	close(ops->epoll); /* the workers have ended; the pipe may get these numbers */
	close(ops->stop);
	ops->epoll = ops->stop = -1;
	if (pipe2(ends, O_CLOEXEC)) {
		ops->mounted = false;
		return;
	}
	ops->mounted = dup2(ends[1], fuse_session_fd(ops->session)) >= 0;
	close(ends[0]);
	close(ends[1]);
}

void fuse_ops_destroy(struct fuse_ops *ops)
{
	if (!ops)
		return;
	if (ops->mounted)
		fuse_session_unmount(ops->session);
	if (ops->session)
		fuse_session_destroy(ops->session);
	if (ops->epoll >= 0)
		close(ops->epoll);
	if (ops->stop >= 0)
		close(ops->stop);
	g_free(ops);
}
