/* SPDX-License-Identifier: MIT */
/* The directory of state=: see disk.h. */
#include "prof/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/units.h"
#include "sys/clock.h"

#define LOCK_FILE "kprofs.lock" /* also says that the directory is one for state= */
#define NEW_FILE "new" /* what is being written, before it has its name */
#define ARENA_PREFIX "arena."
#define OLD_PREFIX "old." /* of what another version wrote */
/* How long a full disk is not tried again, and how long errors are not said again. */
#define RETRY_NS NSEC_PER_SEC
#define SAID_NS (10 * NSEC_PER_SEC)

struct disk {
	int dir, lock_fd;
	pthread_mutex_t lock;	   /* a leaf: next_arena, and the file "new" */
	uint32_t next_arena;	   /* (lock) */
	uint64_t failed_ns;	   /* (lock) when there was no room for an arena */
	_Atomic uint64_t said_ns;  /* relaxed */
	_Atomic uint64_t arenas;   /* relaxed, like the others: counts */
	_Atomic uint64_t bytes;
	_Atomic uint64_t errors, damaged, unfinished;
	_Atomic int error;	   /* of the last one; 0 when it was taken */
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Who may write there may end the server: where a file is cut off under its mapping, there is a signal. */
static int check_directory(int dir, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(dir, &st))
		return err_set(err, errno, "state=%s: %s", path, g_strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(err, EPERM, "state=%s: the directory must belong to user %u, with mode 0700",
			path, (unsigned int)geteuid());
	return 0;
}

static void each_file(struct disk *disk, void (*each)(void *arg, const char *name), void *arg)
{
	int fd = openat(disk->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		each(arg, entry->d_name);
	closedir(dir);
}

static void find_other(void *arg, const char *name)
{
	bool *found = arg;

	*found |= strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "lost+found") != 0;
}

/* One that is somebody's by mistake is left as it is: files of our names are replaced and removed. */
static int check_files(struct disk *disk, const char *path, struct err *err)
{
	bool has_files = false;

	if (!faccessat(disk->dir, LOCK_FILE, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	each_file(disk, find_other, &has_files);
	return has_files ? err_set(err, ENOTEMPTY,
		"state=%s: the directory has other files, and none of kprofs", path) : 0;
}

static int lock_directory(struct disk *disk, const char *path, struct err *err)
{
	int ret;

	disk->lock_fd = openat(disk->dir, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (disk->lock_fd < 0)
		return err_set(err, errno, "state=%s/" LOCK_FILE ": %s", path, g_strerror(errno));
	if (flock(disk->lock_fd, LOCK_EX | LOCK_NB))
		return err_set(err, errno == EWOULDBLOCK ? EBUSY : errno, "state=%s: %s", path,
			errno == EWOULDBLOCK ? "another kprofs has this directory" : g_strerror(errno));
	/* on a full disk this is refused too, which is no reason not to begin */
	ret = fallocate(disk->lock_fd, 0, 0, 1);
	if (ret && errno == EOPNOTSUPP)
		return err_set(err, EOPNOTSUPP,
			"state=%s: this file system can't reserve space (fallocate(2))", path);
	return 0;
}

static void remove_new(void *arg, const char *name)
{
	const struct disk *disk = arg;

	if (!strncmp(name, DISK_NEW_PREFIX, strlen(DISK_NEW_PREFIX)))
		unlinkat(disk->dir, name, 0);
}

int disk_open(const char *path, struct disk **out, struct err *err)
{
	struct disk *disk = g_new0(struct disk, 1);
	int ret = 0;

	disk->lock_fd = -1;
	pthread_mutex_init(&disk->lock, NULL);
	if (mkdir(path, 0700) && errno != EEXIST)
		ret = err_set(err, errno, "state=%s: %s", path, g_strerror(errno));
	disk->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!ret && disk->dir < 0)
		ret = err_set(err, errno, "state=%s: %s", path, g_strerror(errno));
	if (!ret)
		ret = check_directory(disk->dir, path, err);
	if (!ret)
		ret = check_files(disk, path, err);
	if (!ret)
		ret = lock_directory(disk, path, err);
	if (ret) {
		disk_close(disk);
		return ret;
	}
	each_file(disk, remove_new, disk); /* what the last server had not finished */
	*out = disk;
	return 0;
}

void disk_close(struct disk *disk)
{
	if (!disk)
		return;
	if (disk->lock_fd >= 0)
		close(disk->lock_fd);
	if (disk->dir >= 0)
		close(disk->dir);
	pthread_mutex_destroy(&disk->lock);
	g_free(disk);
}

int disk_directory(const struct disk *disk)
{
	return disk->dir;
}

/* ---- files ----------------------------------------------------------------------------------- */

char *disk_file_name(const char *kind, const char *session)
{
	return session && *session ? g_strdup_printf("%s:%s", kind, session) : g_strdup(kind);
}

struct listing {
	const char *kind;
	GPtrArray *names;
};

static void add_name(void *arg, const char *name)
{
	const struct listing *listing = arg;
	const size_t length = strlen(listing->kind);

	if (strncmp(name, listing->kind, length) != 0)
		return;
	if (!name[length])
		g_ptr_array_add(listing->names, g_strdup(""));
	else if (name[length] == ':' && name[length + 1])
		g_ptr_array_add(listing->names, g_strdup(name + length + 1));
}

void disk_list(struct disk *disk, const char *kind, GPtrArray *names)
{
	struct listing listing = { .kind = kind, .names = names };

	each_file(disk, add_name, &listing);
}

static int read_all(int fd, size_t most, GByteArray *content)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > most)
		return -EFBIG;
	g_byte_array_set_size(content, (guint)st.st_size);
	got = pread(fd, content->data, content->len, 0);
	if (got < 0)
		return -errno;
	g_byte_array_set_size(content, (guint)got);
	return 0;
}

int disk_read(struct disk *disk, const char *file, size_t most, GByteArray **content)
{
	int fd = openat(disk->dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int ret;

	if (fd < 0)
		return -errno;
	*content = g_byte_array_new();
	ret = read_all(fd, most, *content);
	close(fd);
	if (ret)
		g_byte_array_unref(g_steal_pointer(content));
	return ret;
}

int disk_write(struct disk *disk, const char *file, const void *data, size_t len)
{
	int fd, ret = 0;

	pthread_mutex_lock(&disk->lock);
	fd = openat(disk->dir, NEW_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		ret = -errno;
	errno = ENOSPC; /* of a part that was written, no error is set */
	if (fd >= 0 && write(fd, data, len) != (ssize_t)len)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (!ret && renameat(disk->dir, NEW_FILE, disk->dir, file))
		ret = -errno;
	if (ret)
		unlinkat(disk->dir, NEW_FILE, 0);
	pthread_mutex_unlock(&disk->lock);
	if (ret)
		disk_count_error(disk, -ret);
	return ret;
}

static const char *const kinds[] = { "settings", "index", "journal" };

void disk_remove_session(struct disk *disk, const char *session)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		disk_remove(disk, kinds[i], session);
}

void disk_set_session_aside(struct disk *disk, const char *session)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		disk_set_aside(disk, kinds[i], session);
}

bool disk_set_aside(struct disk *disk, const char *kind, const char *session)
{
	g_autofree char *file = disk_file_name(kind, session);
	g_autofree char *old = g_strconcat(OLD_PREFIX, file, NULL);

	return !renameat(disk->dir, file, disk->dir, old);
}

void disk_remove(struct disk *disk, const char *kind, const char *session)
{
	g_autofree char *file = disk_file_name(kind, session);

	unlinkat(disk->dir, file, 0);
}

/* ---- arenas ---------------------------------------------------------------------------------- */

static void arena_name(uint32_t number, char name[32])
{
	g_snprintf(name, 32, ARENA_PREFIX "%u", number);
}

/* Opens a new file, whose number is no file's. */
static int create_arena(struct disk *disk, uint32_t *number)
{
	char name[32];
	int fd;

	pthread_mutex_lock(&disk->lock);
	if (disk->failed_ns && clock_monotonic_ns() - disk->failed_ns < RETRY_NS) {
		pthread_mutex_unlock(&disk->lock);
		errno = ENOSPC;
		return -1;
	}
	disk->failed_ns = 0;
	do {
		*number = disk->next_arena++;
		arena_name(*number, name);
		fd = openat(disk->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	} while (fd < 0 && errno == EEXIST);
	pthread_mutex_unlock(&disk->lock);
	return fd;
}

static void count_arena(struct disk *disk, int64_t count, size_t bytes)
{
	atomic_add_relaxed(&disk->arenas, (uint64_t)count);
	atomic_add_relaxed(&disk->bytes, (uint64_t)count * bytes);
}

int disk_add_arena(struct disk *disk, size_t bytes, uint32_t *number)
{
	int fd = create_arena(disk, number), code = fd < 0 ? errno : 0;
	char name[32];

	if (!code && fallocate(fd, 0, 0, (off_t)bytes))
		code = errno;
	if (fd >= 0)
		close(fd);
	if (!code) {
		count_arena(disk, 1, bytes);
		return 0;
	}
	arena_name(*number, name);
	if (fd >= 0) {
		unlinkat(disk->dir, name, 0);
		pthread_mutex_lock(&disk->lock);
		disk->failed_ns = clock_monotonic_ns();
		pthread_mutex_unlock(&disk->lock);
	}
	disk_count_error(disk, code);
	return -code;
}

static int open_arena(const struct disk *disk, uint32_t number)
{
	char name[32];

	arena_name(number, name);
	return openat(disk->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

bool disk_take_arena(struct disk *disk, uint32_t number, size_t bytes)
{
	int fd = open_arena(disk, number);
	struct stat st;
	bool is_file;

	if (fd < 0)
		return false;
	is_file = !fstat(fd, &st) && S_ISREG(st.st_mode);
	if (is_file) {
		/* one that was cut off; without room, what is written there later has an error */
		(void)!fallocate(fd, 0, 0, (off_t)bytes);
		count_arena(disk, 1, bytes);
	}
	close(fd);
	return is_file;
}

bool disk_read_arena(struct disk *disk, uint32_t number, size_t at, uint8_t *data, size_t len)
{
	int fd = open_arena(disk, number);
	bool is_read = fd >= 0 && pread(fd, data, len, (off_t)at) == (ssize_t)len;

	if (fd >= 0)
		close(fd);
	return is_read;
}

bool disk_write_arena(struct disk *disk, struct disk_file *file, uint32_t number, size_t at,
	const uint8_t *data, size_t len)
{
	if (file->fd < 0 || file->number != number) {
		disk_file_close(file);
		file->fd = open_arena(disk, number);
		file->number = number;
	}
	errno = file->fd < 0 ? errno : EIO; /* of a part that is written, no error is set */
	if (file->fd >= 0 && pwrite(file->fd, data, len, (off_t)at) == (ssize_t)len)
		return true;
	disk_count_error(disk, errno);
	return false;
}

void disk_file_close(struct disk_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

void disk_drop_arena(struct disk *disk, uint32_t number, size_t bytes, bool keep)
{
	char name[32];

	count_arena(disk, -1, bytes);
	arena_name(number, name);
	if (!keep)
		unlinkat(disk->dir, name, 0);
}

struct kept_arenas {
	struct disk *disk;
	GHashTable *numbers;
};

static void remove_arena(void *arg, const char *name)
{
	const struct kept_arenas *kept = arg;
	unsigned int number;
	char same[32];

	if (sscanf(name, ARENA_PREFIX "%u", &number) != 1)
		return;
	arena_name(number, same);
	if (!strcmp(same, name) && !g_hash_table_contains(kept->numbers, GUINT_TO_POINTER(number)))
		unlinkat(kept->disk->dir, name, 0);
}

static void find_old(void *arg, const char *name)
{
	bool *found = arg;

	*found |= strncmp(name, OLD_PREFIX, strlen(OLD_PREFIX)) == 0;
}

bool disk_has_old(struct disk *disk)
{
	bool found = false;

	each_file(disk, find_old, &found);
	return found;
}

void disk_remove_arenas(struct disk *disk, GHashTable *numbers)
{
	struct kept_arenas kept = { .disk = disk, .numbers = numbers };

	each_file(disk, remove_arena, &kept);
}

/* ---- counts ---------------------------------------------------------------------------------- */

void disk_count_error(struct disk *disk, int code)
{
	atomic_add_relaxed(&disk->errors, 1);
	atomic_write_relaxed(&disk->error, code);
}

void disk_count_damaged(struct disk *disk, uint64_t blocks)
{
	atomic_add_relaxed(&disk->damaged, blocks);
}

void disk_count_unfinished(struct disk *disk, uint64_t writes)
{
	atomic_add_relaxed(&disk->unfinished, writes);
}

uint64_t disk_damaged(struct disk *disk)
{
	return atomic_read_relaxed(&disk->damaged);
}

bool disk_take_error(struct disk *disk, int *code)
{
	const uint64_t said_ns = atomic_read_relaxed(&disk->said_ns), now_ns = clock_monotonic_ns();

	*code = atomic_read_relaxed(&disk->error);
	if (!*code || (said_ns && now_ns - said_ns < SAID_NS))
		return false;
	atomic_write_relaxed(&disk->error, 0);
	atomic_write_relaxed(&disk->said_ns, now_ns);
	return true;
}

void disk_print_stats(struct disk *disk, struct stats *stats)
{
	stats_u64(stats, atomic_read_relaxed(&disk->arenas), "state.files");
	stats_u64(stats, atomic_read_relaxed(&disk->bytes), "state.bytes");
	stats_u64(stats, atomic_read_relaxed(&disk->errors), "state.errors");
	stats_u64(stats, atomic_read_relaxed(&disk->damaged), "state.damaged");
	stats_u64(stats, atomic_read_relaxed(&disk->unfinished), "state.unfinished");
}

/* ---- checksums ------------------------------------------------------------------------------- */

/* In halves, which every x86-64 and arm64 CPU has registers for. */
typedef uint64_t half_t __attribute__((vector_size(16)));

struct line {
	half_t low, high;
};

G_STATIC_ASSERT(sizeof(struct line) == sizeof(((struct disk_sum *)NULL)->a));

static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
	return sum ^ sum >> 29;
}

/*
 * Each line adds to a, and a to b, as in Fletcher's sum: a changed byte changes a, and an exchange of lines
 * changes b. Four sums at a time are as fast as memory.
 */
static inline void add_line(struct line *a, struct line *b, const uint8_t *data)
{
	struct line line;

	memcpy(&line, data, sizeof(line));
	a->low += line.low;
	a->high += line.high;
	b->low += a->low;
	b->high += a->high;
}

uint64_t disk_sum_update(struct disk_sum *sum, const uint8_t *data, size_t len)
{
	uint8_t rest[sizeof(struct line)] = { 0 };
	uint64_t result = mix(0x6b70726f66730001u, len);
	struct disk_sum whole;
	struct line a, b;
	size_t at, i;

	memcpy(&a, sum->a, sizeof(a));
	memcpy(&b, sum->b, sizeof(b));
	for (at = sum->upto; len - at >= sizeof(a); at += sizeof(a))
		add_line(&a, &b, data + at);
	memcpy(sum->a, &a, sizeof(a));
	memcpy(sum->b, &b, sizeof(b));
	sum->upto = at;
	if (len > at)
		memcpy(rest, data + at, len - at);
	add_line(&a, &b, rest);
	memcpy(whole.a, &a, sizeof(a));
	memcpy(whole.b, &b, sizeof(b));
	for (i = 0; i < G_N_ELEMENTS(whole.a); i++)
		result = mix(mix(result, whole.a[i]), whole.b[i]);
	return result;
}

uint64_t disk_sum_of(const void *data, size_t len)
{
	struct disk_sum sum = { .upto = 0 };

	return disk_sum_update(&sum, data, len);
}
