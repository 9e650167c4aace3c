#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A command on a terminal of its own: keys go in when what one waits for is on the screen.

usage: cmd_terminal.py COMMAND... -- [WAIT-FOR KEYS]...

Waits (60 s at most) until the regular expression WAIT-FOR is in what was written since the last keys,
and types KEYS; prints all that was written, and ends with the command's status.
"""
import os
import pty
import re
import select
import signal
import sys
import time

split = sys.argv.index("--")
command, steps = sys.argv[1:split], sys.argv[split + 1:]
pid, fd = pty.fork()
if pid == 0:
    # a shell's background job ignores the terminal's signals, and so would all that it starts
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    os.execvp(command[0], command)
everything, since = b"", b""
end = time.monotonic() + 60


def more():
    """What the command writes; False at its end."""
    global everything, since
    if time.monotonic() > end:
        sys.stdout.buffer.write(everything)
        os.kill(pid, 9)
        sys.exit("cmd_terminal: waited in vain")
    if select.select([fd], [], [], 0.2)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            return False
        everything += data
        since += data
        return bool(data)
    return True


for pattern, keys in zip(steps[::2], steps[1::2]):
    while not re.search(pattern.encode(), since, re.DOTALL):
        if not more():
            sys.exit("cmd_terminal: the command ended before " + pattern)
    since = b""
    os.write(fd, keys.encode())
while more():
    pass
sys.stdout.buffer.write(everything)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
