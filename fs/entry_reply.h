/* SPDX-License-Identifier: MIT */
/* The reply to a request for a name: a node for it, counted as looked up once. From any thread. */
#ifndef KPROFS_FS_ENTRY_REPLY_H
#define KPROFS_FS_ENTRY_REPLY_H

struct fuse_req;
struct node;
struct origin;

/* Looks the name up and answers; a refusal with a sentence is in kperr. */
void entry_reply(struct fuse_req *req, struct node *dir, const char *name, const struct origin *origin);

#endif
