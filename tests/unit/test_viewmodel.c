/* SPDX-License-Identifier: MIT */
/* views/viewmodel: views of the same capture share a model, and another capture gets its own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "views/viewmodel.h"
#include "tests/fixtures/gen.h"

static bool never(void *arg)
{
	return false;
}

static bool always(void *arg)
{
	return true;
}

static const struct cancel wanted = { never, NULL, -1 };

/* A copy made at this time of a capture with so many samples, at this address. */
static int make_capture(uint64_t time, uint64_t address, int samples)
{
	struct gen gen;
	int fd = memfd_create("capture", MFD_CLOEXEC), i;

	gen_init(&gen, false);
	gen_clock(&gen, time, time + 1);
	gen_new_process(&gen, 1, 10, "/bin/a");
	for (i = 0; i < samples; i++)
		gen_trace(&gen, 2, 1, 100, 10, 0, 1, &address);
	assert_int_equal(write(fd, gen.bytes->data, gen.bytes->len), (ssize_t)gen.bytes->len);
	gen_fini(&gen);
	return fd;
}

static struct viewmodel *get(struct viewmodels *models, const char *form, int fd)
{
	struct viewmodel *model = NULL;
	struct err err;

	assert_int_equal(viewmodel_get(models, view_find(form), fd, false, &wanted, &model, &err), 0);
	assert_non_null(model);
	return model;
}

static void test_views_of_one_capture_share_the_model(void **state)
{
	struct viewmodels *models = viewmodels_create(NULL, NULL);
	struct viewmodel *flame = get(models, "flame.svg", make_capture(1, 0x1000, 3));
	struct viewmodel *pprof = get(models, "pprof", make_capture(5, 0x1000, 3));
	struct viewmodel *flat = get(models, "flat", make_capture(5, 0x1000, 3));
	struct viewmodel *later, *other;

	/* the same records, and only the clock is another */
	assert_ptr_equal(flame, pprof);
	assert_int_equal(flame->profile->samples, 3);
	assert_int_equal(flame->profile->moments->len, 3); /* for those who need them */
	/* a format that needs less has a separate model */
	assert_ptr_not_equal(flat, flame);
	viewmodel_put(models, flat);
	/* one is enough for it to stay */
	viewmodel_put(models, flame);
	assert_ptr_equal(get(models, "firefox.json", make_capture(6, 0x1000, 3)), pprof);
	viewmodel_put(models, pprof);

	/* more, and as many but others */
	later = get(models, "tree", make_capture(1, 0x1000, 4));
	assert_ptr_not_equal(later, pprof);
	assert_int_equal(later->profile->samples, 4);
	other = get(models, "tree", make_capture(1, 0x2000, 4));
	assert_ptr_not_equal(other, later);
	assert_int_equal(profile_place(other->profile, 0)->offset, 0x2000);
	assert_int_equal(profile_place(later->profile, 0)->offset, 0x1000);
	assert_int_equal(profile_place(pprof->profile, 0)->offset, 0x1000);
	viewmodel_put(models, pprof);
	viewmodel_put(models, later);
	viewmodel_put(models, other);
	viewmodels_destroy(models);
}

/* A cancelled model is not reused by the next view. */
static void test_cancelled_model_is_not_reused(void **state)
{
	static const struct cancel unwanted = { always, NULL, -1 };
	struct viewmodels *models = viewmodels_create(NULL, NULL);
	struct viewmodel *model = NULL;
	struct err err;

	assert_int_equal(viewmodel_get(models, view_find("tree"), make_capture(1, 0x1000, 3), false,
		&unwanted, &model, &err), -EINTR);
	assert_null(model);
	model = get(models, "tree", make_capture(1, 0x1000, 3));
	assert_int_equal(model->profile->samples, 3);
	viewmodel_put(models, model);
	viewmodels_destroy(models);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views_of_one_capture_share_the_model),
		cmocka_unit_test(test_cancelled_model_is_not_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
