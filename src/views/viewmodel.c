/* SPDX-License-Identifier: MIT */
/* Models of captures, and how views share them: see viewmodel.h. */
#include "views/viewmodel.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"

/*
 * The memory limit for the model of one view: a fixed part, and some bytes for each byte of the
 * capture. A stack that shares no frames with others takes twenty times its bytes; in captures of
 * real programs most of each stack is shared.
 */
#define MODEL_BYTES (64 * MIB)
#define MODEL_FACTOR 4

/* How often a view that waits for the model or functions of another view checks its cancellation. */
#define WANTED_NS (10 * NSEC_PER_MSEC)

/* Captures are compared in pieces of this size. */
#define COMPARE_BYTES (64u << 10)

struct viewmodels {
	pthread_mutex_t making; /* held while a model that can be shared is made; outside the others */
	pthread_mutex_t asking; /* held while a view is symbolized: one view at a time */
	struct helpers_options options; /* invariant; its strings are ours */
	struct symbols *symbols;	/* invariant; its helpers start when first needed */
	pthread_mutex_t lock;		/* of what follows, and of `users` of all models; a leaf */
	struct viewmodel *shared;	/* the last one made of these, as long as it has users */
};

/* The parts that all formats with lines need, so that they can share one model. */
static const struct view_format shared_form = {
	.name = "shared",
	.needs = VIEW_FUNCTIONS | VIEW_LINES | VIEW_MOMENTS,
};

struct viewmodels *viewmodels_create(const char *debuginfod_urls, const char *helper)
{
	struct viewmodels *models = g_new0(struct viewmodels, 1);

	pthread_mutex_init(&models->making, NULL);
	pthread_mutex_init(&models->asking, NULL);
	pthread_mutex_init(&models->lock, NULL);
	models->options.program = g_strdup(helper);
	models->options.debuginfod_urls = g_strdup(debuginfod_urls);
	models->options.home = g_strdup(g_get_home_dir());
	models->options.uid = getuid();
	models->options.gid = getgid();
	models->symbols = functions_open_symbols(&models->options);
	return models;
}

void viewmodels_destroy(struct viewmodels *models)
{
	if (!models)
		return;
	symbols_destroy(models->symbols);
	g_free((char *)models->options.program);
	g_free((char *)models->options.debuginfod_urls);
	g_free((char *)models->options.home);
	pthread_mutex_destroy(&models->making);
	pthread_mutex_destroy(&models->asking);
	pthread_mutex_destroy(&models->lock);
	g_free(models);
}

size_t viewmodel_bytes(int capture_fd)
{
	struct stat st;

	return MODEL_BYTES + (fstat(capture_fd, &st) ? 0 : MODEL_FACTOR * (size_t)st.st_size);
}

/* ---- names ----------------------------------------------------------------------------------- */

struct symbols *viewmodels_symbols(struct viewmodels *models)
{
	return models->symbols;
}

/*
 * gcc's thread sanitizer (12) does not know pthread_mutex_clocklock, and takes the lock for one
 * that is not held; timedlock it knows.
 */
static int lock_until(pthread_mutex_t *lock, uint64_t wait_ns)
{
#if defined(__SANITIZE_THREAD__)
	const struct timespec until = clock_timespec(clock_realtime_ns() + wait_ns);

	return pthread_mutex_timedlock(lock, &until);
#else
	const struct timespec until = clock_timespec(clock_monotonic_ns() + wait_ns);

	return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
#endif
}

/* Returns -EINTR if it was cancelled while it waited for the lock. */
static int lock_wanted(pthread_mutex_t *lock, const struct cancel *cancel)
{
	for (;;) {
		if (lock_until(lock, WANTED_NS) == 0)
			return 0;
		if (cancel_requested(cancel))
			return -EINTR;
	}
}

/*
 * The helpers may start while the records are read; while another view symbolizes, they run already.
 */
static void prepare_names(struct viewmodels *models, const struct view_format *format)
{
	if (!(format->needs & VIEW_NAMES) || pthread_mutex_trylock(&models->asking))
		return;
	symbols_prepare(models->symbols);
	pthread_mutex_unlock(&models->asking);
}

/* Returns -EINTR if it was cancelled; then only some of the names have been found. */
static int find_names(struct viewmodels *models, const struct view_format *format,
	const struct cancel *cancel, const struct profile *profile, struct functions **names)
{
	int ret = lock_wanted(&models->asking, cancel);

	if (ret)
		return ret;
	*names = view_name(format, profile, models->symbols, cancel->cancel_fd);
	pthread_mutex_unlock(&models->asking);
	return cancel_requested(cancel) ? -EINTR : 0;
}

const struct helpers_options *viewmodels_options(const struct viewmodels *models)
{
	return &models->options;
}

int viewmodels_resolve(
	struct viewmodels *models, struct backtraces *backtraces, const struct cancel *cancel)
{
	const struct symbols_how how = { .cancel_fd = cancel->cancel_fd };
	int ret = lock_wanted(&models->asking, cancel);

	if (ret)
		return ret;
	backtraces_resolve(backtraces, models->symbols, &how);
	pthread_mutex_unlock(&models->asking);
	return cancel_requested(cancel) ? -EINTR : 0;
}

/* ---- one model ------------------------------------------------------------------------------- */

static void destroy_model(struct viewmodel *model)
{
	functions_destroy(model->names);
	profile_destroy(model->profile);
	close(model->capture_fd);
	g_free(model);
}

static int make_model(struct viewmodels *models, const struct view_format *format, int capture_fd,
	bool wakers, const struct cancel *cancel, struct viewmodel **result, struct err *err)
{
	struct viewmodel *model = g_new0(struct viewmodel, 1);
	struct decoder decoder;
	int ret;

	model->capture_fd = capture_fd;
	model->wakers = wakers;
	model->users = 1;
	prepare_names(models, format);
	decode_init_pread(&decoder, capture_fd, 0);
	ret = view_load(format, &decoder, viewmodel_bytes(capture_fd), wakers, &model->profile, err);
	decode_fini(&decoder);
	if (!ret)
		ret = find_names(models, format, cancel, model->profile, &model->names);
	if (ret) {
		destroy_model(model);
		return ret;
	}
	*result = model;
	return 0;
}

/* ---- sharing --------------------------------------------------------------------------------- */

/* Returns the offset of the records behind the CLOCK, which differs in each copy. */
static uint64_t skip_clock(int capture_fd)
{
	struct decode_record record;
	struct decoder decoder;
	uint64_t end = 0;

	decode_init_pread(&decoder, capture_fd, 0);
	if (decode_next(&decoder, &record, NULL) > 0 && record.type == KPROF_REC_CLOCK)
		end = decoder.offset;
	decode_fini(&decoder);
	return end;
}

static bool same_records(int a, int b)
{
	g_autofree char *bytes = g_malloc(2 * COMPARE_BYTES);
	uint64_t at = skip_clock(a);
	struct stat of_a, of_b;
	ssize_t n;

	if (!at || at != skip_clock(b) || fstat(a, &of_a) || fstat(b, &of_b) ||
		of_a.st_size != of_b.st_size)
		return false;
	while ((n = pread(a, bytes, COMPARE_BYTES, (off_t)at)) > 0) {
		if (pread(b, bytes + COMPARE_BYTES, (size_t)n, (off_t)at) != n ||
			memcmp(bytes, bytes + COMPARE_BYTES, (size_t)n) != 0)
			return false;
		at += (uint64_t)n;
	}
	return n == 0;
}

/* Returns the model that other views use now, and counts this user, or NULL if there is none. */
static struct viewmodel *take_shared(struct viewmodels *models)
{
	struct viewmodel *model;

	pthread_mutex_lock(&models->lock);
	model = models->shared;
	if (model)
		model->users++;
	pthread_mutex_unlock(&models->lock);
	return model;
}

static void set_shared(struct viewmodels *models, struct viewmodel *model)
{
	pthread_mutex_lock(&models->lock);
	models->shared = model;
	pthread_mutex_unlock(&models->lock);
}

void viewmodel_put(struct viewmodels *models, struct viewmodel *model)
{
	bool last;

	pthread_mutex_lock(&models->lock);
	last = --model->users == 0;
	if (last && models->shared == model)
		models->shared = NULL;
	pthread_mutex_unlock(&models->lock);
	if (last)
		destroy_model(model);
}

static int share_model(struct viewmodels *models, int capture_fd, bool wakers, const struct cancel *cancel,
	struct viewmodel **result, struct err *err)
{
	struct viewmodel *model = take_shared(models);
	int ret;

	if (model && model->wakers == wakers && same_records(model->capture_fd, capture_fd)) {
		close(capture_fd);
		*result = model;
		return 0;
	}
	if (model)
		viewmodel_put(models, model);
	ret = make_model(models, &shared_form, capture_fd, wakers, cancel, result, err);
	if (!ret)
		set_shared(models, *result);
	return ret;
}

int viewmodel_get(struct viewmodels *models, const struct view_format *format, int capture_fd, bool wakers,
	const struct cancel *cancel, struct viewmodel **model, struct err *err)
{
	int ret;

	if (!(format->needs & VIEW_LINES))
		return make_model(models, format, capture_fd, wakers, cancel, model, err);
	ret = lock_wanted(&models->making, cancel);
	if (ret) {
		close(capture_fd);
		return ret;
	}
	ret = share_model(models, capture_fd, wakers, cancel, model, err);
	pthread_mutex_unlock(&models->making);
	return ret;
}
