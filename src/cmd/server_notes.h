/* SPDX-License-Identifier: MIT */
/*
 * What a private server has to say of a run that succeeds: the lines of its kperr, for example what records
 * of an event lack, and the counts of what is missing. Printed on standard error. One thread.
 */
#ifndef KPROFS_CMD_SERVER_NOTES_H
#define KPROFS_CMD_SERVER_NOTES_H

struct server_notes;

struct server_notes *server_notes_create(void);
void server_notes_destroy(struct server_notes *notes);

/*
 * Takes the new lines of the kperr of the server at dir, which keeps 16. Each of them is printed, those with
 * one reason as one, by server_notes_print().
 */
void server_notes_collect(struct server_notes *notes, const char *dir);
void server_notes_print(struct server_notes *notes);
/* Prints how many events of the kernel and threads the server could not record or follow, if any. */
void server_notes_print_missing(const char *dir);

#endif
