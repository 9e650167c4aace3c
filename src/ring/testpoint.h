/* SPDX-License-Identifier: MIT */
/*
 * The steps of the writer and the reader that the other side can see, named for what stands there.
 *
 * In the library these are nothing. Built with RING_TEST_POINTS (the copy that the race tests link)
 * each calls ring_test_hook, if it is set: a test stops the thread there, kills it, lets a reader
 * look, or writes as a signal handler would.
 */
#ifndef KPROFS_RING_TESTPOINT_H
#define KPROFS_RING_TESTPOINT_H

enum ring_test_point {
	POINT_POS_SEEN,		 /* writer: position known, nothing reserved */
	POINT_RESERVED,		 /* room is reserved, the chunk there is as it was before */
	POINT_VALUES_STORED,	 /* all but the head word is there */
	POINT_COMMITTED,	 /* the head word is there, done is one behind */
	POINT_DONE,		 /* the event is whole */
	POINT_SWITCHING,	 /* the chunk is too small for the next record, nothing done */
	POINT_NEXT_CHOSEN,	 /* another chunk is ours in private memory only */
	POINT_NEXT_HELD,	 /* its head says so, and that nothing is in it */
	POINT_NEXT_TICKET,	 /* it has our ticket, the old data are still in it */
	POINT_NEXT_RUN_WRITTEN,	 /* the RUN record is there, pos does not name it yet */
	POINT_NEXT_PUBLISHED,	 /* pos names the new chunk */
	POINT_OLD_GIVEN_BACK,	 /* the old chunk is FULL or PARTIAL, pos still names it */
	POINT_WRITER_COUNT,
	POINT_INDEX_COPIED = 32, /* reader: has slots and heads, no data */
	POINT_DATA_COPIED,	 /* has the data, has not looked at the ticket again */
	POINT_DATA_COPIED_AGAIN, /* the second copy, for the values */
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
