/* SPDX-License-Identifier: MIT */
/* formats/stackmap: the text of maps with stacks becomes a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "formats/stackmap.h"

/* The tree as "DEPTH KIND NAME TOTAL SELF" lines; NULL: refused. */
static void check(const char *text, const char *expected)
{
	char *copy = g_strdup(text);
	GString *out = g_string_new(NULL);
	struct stackmap *map;
	struct err err = { "" };
	int ret = stackmap_create(copy, &map, &err);

	if (!expected) {
		assert_int_equal(ret, -ENODATA);
		assert_string_equal(err.text, "no map has a stack as a key and a number as its value");
	} else {
		assert_int_equal(ret, 0);
		for (uint32_t i = 0; i < map->profile.events->len; i++) {
			struct calltree_walk walk;
			uint32_t number, depth;

			calltree_walk_init(&walk, map->tree, i);
			while (calltree_walk_next(&walk, &number, &depth)) {
				const struct calltree_node *node = calltree_node(map->tree, number);

				g_string_append_printf(out, "%u %c %s %u %u\n", depth, "epuk"[node->kind],
					calltree_name(map->tree, node), (unsigned int)node->total.weight,
					(unsigned int)node->self.weight);
			}
			calltree_walk_fini(&walk);
		}
		assert_string_equal(out->str, expected);
		stackmap_destroy(map);
	}
	g_string_free(out, TRUE);
	g_free(copy);
}

static void test_stacks_become_a_tree(void **state)
{
	check("@[\n    f+1\n    main+2\n]: 3\n@[\n    f+9\n    main+3\n]: 4\n@[\n    g+1\n    main+2\n]: 5\n"
	      "# 12 events, 0 missed, 0 filtered, 0 keys dropped\n# u:a:b { @[ustack] = count(); }\n",
		"0 e @ 12 0\n1 u main 12 0\n2 u f 7 7\n2 u g 5 5\n");
	/* without a name, an offset, or the last newline */
	check("@x[\n    0xffff\n    0x1234\n    std::f(int)+12\n]: 3", "0 e @x 3 0\n1 u std::f(int) 3 0\n"
		"2 u [unknown] 3 0\n3 u [unknown] 3 3\n");
}

static void test_other_keys_stand_above(void **state)
{
	check("@[dd, \n    f+1\n, 12]: 1\n@[\n    f+1\n, cat]: 2\n@[dd, \n    f+3\n, 12]: 4\n",
		"0 e @ 7 0\n1 p dd, 12 5 0\n2 u f 5 5\n1 p cat 2 0\n2 u f 2 2\n");
}

/* The kernel's functions are below those of the process that called it. */
static void test_two_stacks_are_one(void **state)
{
	static const char entry[] = "@[\n    a+1\n    b+1\n, \n    c+1\n    d+1\n]: 2\n";
	g_autofree char *kernel = g_strconcat(entry, "# k:x { @[kstack, ustack] = count(); }\n", NULL);
	g_autofree char *user = g_strconcat(entry, "# k:x { @[ustack, kstack] = count(); }\n", NULL);

	check(kernel, "0 e @ 2 0\n1 u d 2 0\n2 u c 2 0\n3 k b 2 0\n4 k a 2 2\n");
	check(user, "0 e @ 2 0\n1 u b 2 0\n2 u a 2 0\n3 k d 2 0\n4 k c 2 2\n");
	check("@[\n    a+1\n]: 2\n# p:hz:9 { @[kstack] = count(); }\n", "0 e @ 2 0\n1 k a 2 2\n");
}

static void test_each_map_has_a_picture(void **state)
{
	check("@n: 5\n@one[\n    f+1\n]: 1\n@two[1]: 7\n@two[\n    f+1\n]: 2\n",
		"0 e @one 1 0\n1 u f 1 1\n0 e @two 2 0\n1 u f 2 2\n");
}

static void test_what_has_no_stacks_is_refused(void **state)
{
	check("", NULL);
	check("@: 5\n", NULL);
	check("@h[a]:\n[1]   5 |@@@|\n", NULL);
	/* no number above 0, an entry without an end, one that is cut by the next, three stacks */
	check("@[\n    f+1\n]: -3\n@[\n    f+1\n]: 0\n@[\n    f+1\n]: text\n@[\n    f+1\n", NULL);
	check("@[\n    f+1\n@[a]: 1\n", NULL);
	check("@[\n    f+1\n, \n    g+1\n, \n    h+1\n]: 1\n", NULL);
	check("@[\n]: 1\n", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_become_a_tree),
		cmocka_unit_test(test_other_keys_stand_above),
		cmocka_unit_test(test_two_stacks_are_one),
		cmocka_unit_test(test_each_map_has_a_picture),
		cmocka_unit_test(test_what_has_no_stacks_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
