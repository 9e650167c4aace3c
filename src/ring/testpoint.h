/* SPDX-License-Identifier: MIT */
/*
 * The steps of writer and reader that the other side can observe, each named for the state at that
 * point.
 *
 * In the library these are empty. Built with RING_TEST_POINTS (the copy that the race tests link)
 * each calls ring_test_hook, if it is set: a test stops the thread there, kills it, lets a reader
 * run, or writes as a signal handler would.
 */
#ifndef KPROFS_RING_TESTPOINT_H
#define KPROFS_RING_TESTPOINT_H

enum ring_test_point {
	POINT_POS_SEEN,		 /* writer: has read pos, nothing is reserved */
	POINT_RESERVED,		 /* room is reserved, the chunk has its old contents there */
	POINT_VALUES_STORED,	 /* all but the head word is stored */
	POINT_COMMITTED,	 /* the head word is stored, done is one less */
	POINT_DONE,		 /* the event is whole */
	POINT_SWITCHING,	 /* the chunk has no room for the record, nothing is done */
	POINT_NEXT_CHOSEN,	 /* another chunk is taken, in private memory only */
	POINT_NEXT_HELD,	 /* its head is HELD and has no contents */
	POINT_NEXT_TICKET,	 /* its head has the new ticket, its data are the old ones */
	POINT_NEXT_RUN_WRITTEN,	 /* the RUN record is stored, pos does not name the chunk */
	POINT_NEXT_PUBLISHED,	 /* pos names the new chunk */
	POINT_OLD_GIVEN_BACK,	 /* the old chunk is FULL or PARTIAL, pos still names it */
	POINT_WRITER_COUNT,
	POINT_INDEX_COPIED = 32, /* reader: has copied slots and heads, no data */
	POINT_DATA_COPIED,	 /* has copied the data, has not read the ticket again */
	POINT_DATA_COPIED_AGAIN, /* has made the second copy, for the values */
};

#ifdef RING_TEST_POINTS
extern void (*ring_test_hook)(enum ring_test_point point);
#define RING_TEST_POINT(point) \
	do { \
		if (ring_test_hook) \
			ring_test_hook(point); \
	} while (0)
#else
#define RING_TEST_POINT(point) \
	do { \
	} while (0)
#endif

#endif
