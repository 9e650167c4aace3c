/* SPDX-License-Identifier: MIT */
/*
 * fs/quota: the limits of one user and of all users, and the reserve of root and the owner, hold.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fs/quota.h"

#define OWNER 500
#define MIB ((uint64_t)1 << 20)

/*
 * Takes one of a kind after the other for `uid`. Returns how many; *code: the error that ended it.
 */
static unsigned int take_all(struct quotas *quotas, struct quota_share *share, uid_t uid,
	enum quota_kind kind, int *code)
{
	struct err err = { "" };
	unsigned int n = 0;

	*share = (struct quota_share){ .uid = uid };
	while (n < 100000 && !(*code = quota_take(quotas, share, kind, 1, &err)))
		n++;
	assert_true(err.text[0]);
	return n;
}

/* 20 CPUs, 16384 descriptors: the figures of quota.c and kprof(5). */
static void test_bounds_are_those_of_the_manual(void **state)
{
	static const struct {
		int line;
		enum quota_kind kind;
		unsigned int user, others, privileged;
		int user_code, others_code;
	} rows[] = {
		{ __LINE__, QUOTA_FILES, 1024, 4096, 16384, EMFILE, ENFILE },
		{ __LINE__, QUOTA_CAPTURES, 16, 64, 512, EMFILE, ENFILE },
		{ __LINE__, QUOTA_PIPES, 104, 416, 416, EMFILE, ENFILE },
		{ __LINE__, QUOTA_DESCRIPTORS, 256, 1024, 2048, EMFILE, ENFILE },
		{ __LINE__, QUOTA_COMMANDS, 64, 256, 256, EAGAIN, EAGAIN },
		{ __LINE__, QUOTA_FOLDERS, 4096, 16384, 65536, EMFILE, ENFILE },
	};
	struct quota_share shares[4], more, root;
	unsigned int i, user;
	int code;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct quotas *quotas = quotas_create(OWNER, 16384, 20);

		for (user = 0; user < 4; user++) {
			if (take_all(quotas, &shares[user], 1000 + user, rows[i].kind, &code) !=
				rows[i].user)
				fail_msg("row %d: user %u", rows[i].line, user);
			assert_int_equal(code, -rows[i].user_code);
		}
		assert_int_equal(4 * rows[i].user, rows[i].others);
		assert_int_equal(take_all(quotas, &more, 2000, rows[i].kind, &code), 0);
		assert_int_equal(code, -rows[i].others_code);
		assert_int_equal(take_all(quotas, &root, 0, rows[i].kind, &code),
			rows[i].privileged);
		assert_int_equal(code, -rows[i].user_code);
		assert_int_equal(take_all(quotas, &more, OWNER, rows[i].kind, &code), 0);
		/* what one user gives back all can have, and the same user again */
		quota_return(quotas, &shares[0]);
		assert_int_equal(take_all(quotas, &more, 2000, rows[i].kind, &code), rows[i].user);
		quota_return(quotas, &more);
		assert_int_equal(take_all(quotas, &shares[0], 1000, rows[i].kind, &code),
			rows[i].user);
		quotas_destroy(quotas);
	}
}

static void test_bytes_are_bounded_for_each_user(void **state)
{
	struct quotas *quotas = quotas_create(OWNER, 16384, 2);
	struct quota_share user = { .uid = 1000 }, other = { .uid = 1001 }, third = { .uid = 1002 };
	struct quota_share root = { .uid = 0 };
	struct err err = { "" };

	assert_int_equal(quota_take(quotas, &user, QUOTA_BYTES, 128 * MIB + 1, &err), -ENOMEM);
	assert_string_equal(err.text, "a user may have 134217728 bytes in open texts");
	assert_int_equal(quota_take(quotas, &user, QUOTA_BYTES, 128 * MIB, &err), 0);
	assert_int_equal(quota_take(quotas, &user, QUOTA_BYTES, 1, &err), -ENOMEM);
	assert_int_equal(quota_take(quotas, &user, QUOTA_BYTES, UINT64_MAX, &err), -ENOMEM);
	assert_int_equal(quota_take(quotas, &other, QUOTA_BYTES, 128 * MIB, &err), 0);
	assert_int_equal(quota_take(quotas, &third, QUOTA_BYTES, 1, &err), -ENOMEM);
	assert_string_equal(err.text,
		"all users but root together may have 268435456 bytes in open texts");
	assert_int_equal(quota_take(quotas, &root, QUOTA_BYTES, 256 * MIB, &err), 0);
	assert_int_equal(quota_take(quotas, &root, QUOTA_BYTES, 1, &err), -ENOMEM);
	quotas_destroy(quotas);
}

/* A process that may open few files: each user can still open a view, and root more. */
static void test_few_descriptors_leave_one_view_for_each_user(void **state)
{
	struct quotas *quotas = quotas_create(OWNER, 32, 2);
	struct quota_share share;
	int code;

	assert_int_equal(take_all(quotas, &share, 1000, QUOTA_DESCRIPTORS, &code), 1);
	assert_int_equal(take_all(quotas, &share, 0, QUOTA_DESCRIPTORS, &code), 4);
	quotas_destroy(quotas);
}

static void test_root_and_owner_are_privileged(void **state)
{
	struct quotas *quotas = quotas_create(OWNER, 32, 2);

	assert_true(quotas_is_privileged(quotas, 0));
	assert_true(quotas_is_privileged(quotas, OWNER));
	assert_false(quotas_is_privileged(quotas, 1000));
	quotas_destroy(quotas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_are_those_of_the_manual),
		cmocka_unit_test(test_bytes_are_bounded_for_each_user),
		cmocka_unit_test(test_few_descriptors_leave_one_view_for_each_user),
		cmocka_unit_test(test_root_and_owner_are_privileged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
