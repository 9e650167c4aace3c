/* SPDX-License-Identifier: MIT */
/*
 * typed: writes events by the calls of kprof/typed.h alone, and checks what these return. typed_events.sh
 * checks what is shown. Exit status 1: a call returned something else, which is said.
 */
#include <kprof/typed.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void expect(int line, const char *what, int found, int expected)
{
	if (found == expected)
		return;
	fprintf(stderr, "typed.c:%d: %s: %d, not %d\n", line, what, found, expected);
	failures++;
}
#define EXPECT(expected, call) expect(__LINE__, #call, call, expected)

static struct kprof_event *define(const char *name, const char *format)
{
	struct kprof_event *event = NULL;

	EXPECT(0, kprof_typed_define("typed", name, format, &event));
	return event;
}

static void refuse_definitions(void)
{
	char name[102], format[1026];
	struct kprof_event *event = NULL;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memset(format, 'f', sizeof(format) - 1);
	format[sizeof(format) - 1] = '\0';
	EXPECT(-EINVAL, kprof_typed_define(NULL, "a", "a", &event));
	EXPECT(-EINVAL, kprof_typed_define("typed", NULL, "a", &event));
	EXPECT(-EINVAL, kprof_typed_define("typed", "a", NULL, &event));
	EXPECT(-EINVAL, kprof_typed_define("typed", "", "a", &event));
	EXPECT(-EINVAL, kprof_typed_define("typed", "a b", "a", &event));
	EXPECT(-EINVAL, kprof_typed_define("typed", name, "a", &event));
	EXPECT(-EINVAL, kprof_typed_define("typed", "a", "%n", &event));
	EXPECT(-EINVAL, kprof_typed_define("typed", "a", format, &event));
	EXPECT(-EINVAL,
		kprof_typed_define("typed", "a", "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", &event));
	expect(__LINE__, "an event of a refused definition", event == NULL, 1);
	name[100] = '\0';
	format[1024] = '\0';
	EXPECT(0, kprof_typed_define("typed", name, format, &event));
}

static void wait_until_on(const struct kprof_event *event)
{
	for (int i = 0; i < 3000 && !kprof_typed_is_on(event); i++)
		usleep(10000);
	EXPECT(1, kprof_typed_is_on(event));
}

int main(void)
{
	const struct kprof_value all[] = {kprof_value_int(-7), kprof_value_unsigned(UINT64_MAX),
		kprof_value_double(2.5), kprof_value_string("text"), kprof_value_string(NULL),
		kprof_value_pointer((void *)0x1234), kprof_value_int(3), kprof_value_string("cut it")};
	struct kprof_value broken[2] = {kprof_value_int(1), kprof_value_string("two")};
	struct kprof_event *none, *one, *two, *many, *again, *off;

	kprof_puts("the first text"); /* shown only if the server is there already */
	none = define("none", "no arguments");
	one = define("one", "one is %s");
	two = define("two", "two are %d and %s");
	many = define("many", "%d %lu %g %s %s %p %.*s");
	off = define("off", "%d");
	again = define("one", "one is %s");
	expect(__LINE__, "the same definition, the same event", again == one, 1);
	expect(__LINE__, "another format, another event", define("one", "one was %s") == one, 0);
	refuse_definitions();
	wait_until_on(many);
	wait_until_on(none);

	errno = 77;
	EXPECT(0, kprof_typed_write(none, NULL, 0));
	EXPECT(0, kprof_typed_write(one, &all[3], 1));
	EXPECT(0, kprof_typed_write(two, broken, 2));
	EXPECT(0, kprof_typed_write(many, all, 8));
	EXPECT(-EINVAL, kprof_typed_write(many, all, 7));
	EXPECT(-EINVAL, kprof_typed_write(none, all, 1));
	EXPECT(-EINVAL, kprof_typed_write(one, &all[0], 1)); /* an int where a string is needed */
	broken[0].reserved = 1;
	EXPECT(-EINVAL, kprof_typed_write(two, broken, 2));
	kprof_puts("a text of 100 % and %s");
	kprof_puts(NULL);
	EXPECT(77, errno);
	for (int i = 0; i < 3000 && kprof_typed_is_on(off); i++)
		usleep(10000); /* on at first, until the server has sent its switches */
	EXPECT(0, kprof_typed_write(off, all, 5));
	return failures != 0;
}
