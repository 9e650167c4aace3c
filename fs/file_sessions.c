/* SPDX-License-Identifier: MIT */
/* sessions/: the sessions that users made, a directory each with the files of a session. */
#include "fs/file.h"

#include "fs/node.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/sessions.h"

static void put_row(const struct dirtab_row *row)
{
	session_put(row->session);
	g_free((struct dirtab_row *)row);
}

/* Takes the reference. */
static const struct dirtab_row *make_row(struct session *session)
{
	struct dirtab_row *row = g_new0(struct dirtab_row, 1);

	*row = (struct dirtab_row){
		.name = session_name(session),
		.type = DIRTAB_DIR,
		.rows = node_row(nodes_root(session->server->nodes))->rows,
		.only = DIRTAB_OF_SESSION,
		.session = session,
		.put = put_row,
	};
	return row;
}

const struct dirtab_row *file_sessions_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	struct session *found = sessions_find(session->server->sessions, name);

	return found ? make_row(found) : NULL;
}

void file_sessions_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	guint i;

	sessions_list(session->server->sessions, all);
	for (i = 0; i < all->len; i++)
		g_ptr_array_add(rows, (gpointer)make_row(g_ptr_array_index(all, i)));
}
