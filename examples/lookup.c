/* SPDX-License-Identifier: MIT */
/*
 * lookup: finds the customer of each order by name; the program of docs/tutorial.
 *
 * With -DSORTED it finds by binary search. With -DTRACED it writes an event for every 1000th order, and
 * has to be linked with libkprof.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TRACED
#include <kprof/kprof.h>
#endif

#define CUSTOMERS 20000
#define ORDERS 30000
#define NAME_MAX_BYTES 16

static char customers[CUSTOMERS][NAME_MAX_BYTES];

static void name_of(unsigned int number, char *name)
{
	snprintf(name, NAME_MAX_BYTES, "customer%06u", number % CUSTOMERS);
}

#ifdef SORTED
/* the names are in the order of strcmp() */
__attribute__((noinline)) static int find_customer(const char *name)
{
	int low = 0, high = CUSTOMERS - 1;

	while (low < high) {
		int middle = (low + high) / 2;

		if (strcmp(customers[middle], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
#else
__attribute__((noinline)) static int same_name(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

__attribute__((noinline)) static int find_customer(const char *name)
{
	int i = 0;

	while (!same_name(customers[i], name))
		i++;
	return i;
}
#endif

__attribute__((noinline)) static unsigned long handle_orders(void)
{
	unsigned long sum = 0;
	char name[NAME_MAX_BYTES];
	unsigned int order;

	for (order = 0; order < ORDERS; order++) {
		int customer;

		name_of(order * 7919, name);
		customer = find_customer(name);
		sum += (unsigned long)customer;
#ifdef TRACED
		if (order % 1000 == 0)
			KPROF_EVENT(lookup, order, "order %u is of customer %d", order, customer);
#endif
	}
	return sum;
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < CUSTOMERS; i++)
		name_of(i, customers[i]);
	printf("%lu\n", handle_orders());
	return 0;
}
