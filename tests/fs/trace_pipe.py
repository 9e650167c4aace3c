# SPDX-License-Identifier: MIT
"""trace_pipe.py MOUNT: what open, read and poll say of kptrace_pipe, call by call."""
import errno
import os
import select
import sys

failures = 0


def check(what, ok):
    global failures
    if not ok:
        print("FAIL:", what)
        failures += 1


def error_of(function, *args):
    try:
        function(*args)
    except OSError as error:
        return error.errno
    return 0


def main(mount):
    name = os.path.join(mount, "kptrace_pipe")
    message = os.path.join(mount, "kptrace")
    with open(message, "w") as file:
        file.write("before\n")
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    other = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    check("nothing yet: EAGAIN", error_of(os.read, fd, 1000) == errno.EAGAIN)
    check("no position", error_of(os.lseek, fd, 0, os.SEEK_SET) == errno.ESPIPE)
    check("no pread", error_of(os.pread, fd, 10, 0) == errno.ESPIPE)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    check("poll: nothing", poll.poll(0) == [])
    with open(message, "w") as file:
        file.write("one\n")
    # woken by the kernel, in far less than a minute
    check("poll: readable", poll.poll(60000) == [(fd, select.POLLIN)])
    text = os.read(fd, 1000)
    check("the message", text.endswith(b": one\n") and text.count(b"\n") == 1)
    check("poll: nothing again", poll.poll(0) == [])
    # the other open has a place of its own; byte by byte
    poll = select.poll()
    poll.register(other, select.POLLIN)
    check("poll of the other", poll.poll(60000) == [(other, select.POLLIN)])
    again = b"".join(os.read(other, 1) for _ in range(len(text)))
    check("the same for the other", again == text)
    check("and no more", error_of(os.read, other, 1) == errno.EAGAIN)
    os.close(fd)
    os.close(other)
    check("not for writing", error_of(os.open, name, os.O_WRONLY) == errno.EACCES)


main(sys.argv[1])
sys.exit(1 if failures else 0)
