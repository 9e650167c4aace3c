/* SPDX-License-Identifier: MIT */
/* The table of all files and folders of the mount. */
#ifndef KPROFS_FS_TREE_H
#define KPROFS_FS_TREE_H

#include "fs/dirtab.h"

/* The top folder. */
const struct dirtab_row *tree_root(void);

#endif
