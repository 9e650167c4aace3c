/* SPDX-License-Identifier: MIT */
/* The lock around libpfm4, for the files that call it: see pfm.h. Private to them. */
#ifndef KPROFS_SYS_PFM_LOCK_H
#define KPROFS_SYS_PFM_LOCK_H

/* Takes the lock and initialises the library if needed. Not PFM_SUCCESS: the lock is not held. */
int pfm_enter(void);
void pfm_leave(void);

#endif
