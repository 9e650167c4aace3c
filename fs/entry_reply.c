/* SPDX-License-Identifier: MIT */
/* Replies to requests for names: see entry_reply.h. */
#include "fs/entry_reply.h"

#include "fs/fuse_req.h"
#include "fs/node.h"
#include "fs/openfile.h"
#include "fs/session.h"

void entry_reply(struct fuse_req *req, struct node *dir, const char *name, const struct origin *origin)
{
	struct nodes *nodes = server_of(req)->nodes;
	/* the timeouts are 0, so that the next open by this name gets another node */
	struct fuse_entry_param entry = { 0 };
	struct node *node = NULL;
	struct err err = { "" };
	int ret = node_lookup(nodes, dir, name, origin->uid, &node, &err);

	if (ret) {
		if (err.text[0])
			openfile_report(node_session(dir)->report, dir, origin, err.text);
		fuse_reply_err(req, -ret);
		return;
	}
	entry.ino = ino_of(node);
	node_stat(nodes, node, NULL, &entry.attr);
	if (fuse_reply_entry(req, &entry))
		node_forget(nodes, node, 1);
}
