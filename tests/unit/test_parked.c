/* SPDX-License-Identifier: MIT */
/*
 * fs/parked: each waiting request is answered once, by its result, an interrupt or the end. The test
 * provides replies and the signals of programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <glib.h>
#include <pthread.h>

#include "fs/parked.h"
#include "fs/reply.h"

/* A request of the test. */
struct fuse_req {
	bool interrupted;
	void (*interrupt)(struct fuse_req *req, void *arg);
	void *arg;
};

/* One that waits. Here they are kept by the test, which reads how they were answered. */
struct item {
	struct parked parked;
	struct fuse_req req;
	int code;     /* 0 if not answered */
	bool stopped; /* while it was current */
	bool kept;    /* another thread has taken it out elsewhere */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool serious; /* the signal that is pending ends the wait */
static unsigned int looks; /* at signals */

/* ---- in place of fs/reply.c ------------------------------------------------------------------- */

void reply_on_interrupt(struct fuse_req *req, void (*interrupt)(struct fuse_req *req, void *arg),
	void *arg)
{
	req->interrupt = interrupt;
	req->arg = arg;
}

bool reply_interrupted(struct fuse_req *req)
{
	return req->interrupted;
}

/* ---- a module that parks requests ------------------------------------------------------------- */

static bool ends_wait(const char *proc, pid_t tid)
{
	looks++;
	return serious;
}

static bool take_out(struct parked *parked)
{
	return !((struct item *)parked)->kept;
}

static void stop(struct parked *parked)
{
	((struct item *)parked)->stopped = true;
}

static void answer(struct parked *parked, int code)
{
	assert_int_equal(pthread_mutex_trylock(&lock), 0); /* without the lock */
	pthread_mutex_unlock(&lock);
	assert_int_equal(((struct item *)parked)->code, 0); /* once */
	((struct item *)parked)->code = code;
}

static const struct parked_ops ops = { ends_wait, take_out, stop, answer };

static void begin(struct parked_list *list)
{
	parked_list_init(list, &ops, &lock);
	serious = true;
	looks = 0;
}

static int park(struct parked_list *list, struct item *item, pid_t tid)
{
	int code;

	parked_init(list, &item->parked, &item->req, tid);
	pthread_mutex_lock(&lock);
	code = parked_add(list, &item->parked);
	pthread_mutex_unlock(&lock);
	return code;
}

static void make_current(struct item *item)
{
	pthread_mutex_lock(&lock);
	parked_begin(&item->parked);
	pthread_mutex_unlock(&lock);
}

static void interrupt(struct item *item)
{
	item->req.interrupted = true;
	item->req.interrupt(&item->req, item->req.arg);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void test_waiting_request_is_answered_by_its_interrupt(void **state)
{
	struct item items[3] = { 0 };
	struct parked_list list;
	size_t i;

	begin(&list);
	for (i = 0; i < G_N_ELEMENTS(items); i++)
		assert_int_equal(park(&list, &items[i], 1), 0);
	interrupt(&items[1]);
	assert_int_equal(items[1].code, EINTR);
	assert_int_equal(items[0].code + items[2].code, 0);
	assert_int_equal(parked_count(&list), 2);
	assert_ptr_equal(parked_first(&list), &items[0].parked);
	interrupt(&items[1]); /* it is gone */
	assert_int_equal(parked_count(&list), 2);
}

static void test_signal_that_ends_no_wait_leaves_the_request(void **state)
{
	struct item item = { 0 };
	struct parked_list list;

	begin(&list);
	serious = false;
	assert_int_equal(park(&list, &item, 1), 0);
	interrupt(&item);
	assert_int_equal(item.code, 0);
	assert_int_equal(parked_count(&list), 1);
	make_current(&item);
	assert_false(parked_is_interrupted(&item.parked));
	/* a later signal, which the kernel does not report, is found */
	item.parked.look_ns = 0;
	serious = true;
	assert_true(parked_is_interrupted(&item.parked));
}

static void test_signals_are_read_at_most_at_intervals(void **state)
{
	struct item item = { 0 };
	struct parked_list list;

	begin(&list);
	serious = false;
	assert_int_equal(park(&list, &item, 1), 0);
	make_current(&item);
	assert_false(parked_is_interrupted(&item.parked));
	assert_int_equal(looks, 0); /* no signal, no look */
	interrupt(&item);
	item.parked.look_ns = UINT64_MAX;
	looks = 0;
	assert_false(parked_is_interrupted(&item.parked));
	assert_int_equal(looks, 0);
}

static void test_without_thread_any_signal_ends_the_wait(void **state)
{
	struct item item = { 0 };
	struct parked_list list;

	begin(&list);
	serious = false;
	assert_int_equal(park(&list, &item, 0), 0);
	interrupt(&item);
	assert_int_equal(item.code, EINTR);
	assert_int_equal(looks, 0);
}

static void test_current_request_is_only_marked(void **state)
{
	struct item item = { 0 };
	struct parked_list list;

	begin(&list);
	assert_int_equal(park(&list, &item, 1), 0);
	make_current(&item);
	assert_false(parked_is_interrupted(&item.parked));
	interrupt(&item);
	assert_true(parked_is_interrupted(&item.parked));
	assert_true(item.stopped);
	assert_int_equal(item.code, 0);
	pthread_mutex_lock(&lock);
	parked_end(&item.parked);
	pthread_mutex_unlock(&lock);
	assert_int_equal(parked_count(&list), 0);
}

static void test_request_interrupted_before_is_not_parked(void **state)
{
	struct item item = { .req.interrupted = true }, other = item;
	struct parked_list list;

	begin(&list);
	assert_int_equal(park(&list, &item, 1), EINTR);
	serious = false;
	assert_int_equal(park(&list, &other, 1), 0);
	assert_int_equal(parked_count(&list), 1);
	make_current(&other);
	serious = true;
	assert_true(parked_is_interrupted(&other.parked)); /* that it had a signal is known */
}

static void test_request_taken_elsewhere_is_left_to_that_thread(void **state)
{
	struct item item = { .kept = true };
	struct parked_list list;

	begin(&list);
	assert_int_equal(park(&list, &item, 1), 0);
	interrupt(&item);
	assert_int_equal(item.code, 0);
	assert_int_equal(parked_count(&list), 1);
}

static void test_returned_request_waits_behind_the_others(void **state)
{
	struct item items[2] = { 0 };
	struct parked_list list;

	begin(&list);
	assert_int_equal(park(&list, &items[0], 1), 0);
	assert_int_equal(park(&list, &items[1], 1), 0);
	make_current(&items[0]);
	pthread_mutex_lock(&lock);
	parked_return(&items[0].parked);
	assert_ptr_equal(parked_first(&list), &items[1].parked);
	pthread_mutex_unlock(&lock);
	interrupt(&items[0]); /* it waits again, so the interrupt answers it */
	assert_int_equal(items[0].code, EINTR);
}

static void test_end_answers_waiting_and_stops_current(void **state)
{
	struct item items[4] = { [2] = { .kept = true } };
	struct parked_list list;
	size_t i;

	begin(&list);
	for (i = 0; i < 3; i++)
		assert_int_equal(park(&list, &items[i], 1), 0);
	make_current(&items[0]);
	pthread_mutex_lock(&lock);
	parked_close(&list);
	pthread_mutex_unlock(&lock);
	assert_int_equal(park(&list, &items[3], 1), ESHUTDOWN);
	parked_refuse_all(&list);
	assert_true(items[0].stopped);
	assert_int_equal(items[0].code, 0);
	assert_int_equal(items[1].code, ESHUTDOWN);
	assert_int_equal(items[2].code, 0);
	assert_int_equal(parked_count(&list), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting_request_is_answered_by_its_interrupt),
		cmocka_unit_test(test_signal_that_ends_no_wait_leaves_the_request),
		cmocka_unit_test(test_signals_are_read_at_most_at_intervals),
		cmocka_unit_test(test_without_thread_any_signal_ends_the_wait),
		cmocka_unit_test(test_current_request_is_only_marked),
		cmocka_unit_test(test_request_interrupted_before_is_not_parked),
		cmocka_unit_test(test_request_taken_elsewhere_is_left_to_that_thread),
		cmocka_unit_test(test_returned_request_waits_behind_the_others),
		cmocka_unit_test(test_end_answers_waiting_and_stops_current),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
