#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""opener: opens a file or a folder many times and keeps the descriptors, as a hostile user can.

usage: opener UID COUNT PATH

If PATH has a "*", each open has another name in its place, and only the name is looked up (O_PATH). Prints
"OPENED ERRNO=REFUSED..." when it has tried, and closes all when its input ends.
"""
import collections
import errno
import os
import resource
import sys

uid, count, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(uid, uid, uid)
opened, refused = 0, collections.Counter()
flags = os.O_PATH if "*" in path else os.O_RDONLY | os.O_NONBLOCK
for i in range(count):
    try:
        os.open(path.replace("*", f"{os.getpid()}.{i}"), flags)
        opened += 1
    except OSError as error:
        refused[errno.errorcode[error.errno]] += 1
print(opened, *(f"{name}={n}" for name, n in sorted(refused.items())), flush=True)
sys.stdin.read()
