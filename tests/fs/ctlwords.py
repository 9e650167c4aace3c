#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ctlwords.py KPROFS MOUNT: every word of every control file with every kind of bad input.

The words are those of the program's own tables (`kprofs --dump-words`). Whatever is written, the
write must fail with an errno that the contract knows, change nothing, and leave one line in kperr
that quotes it and ends in the usage.
"""
import errno
import os
import re
import subprocess
import sys

kprofs, mount = sys.argv[1:]
failures = 0

NUMBERS = ["-1", "+1", "1k", "1.5", "ten", "0x", "08", "0b1", "1e3", "--", "''", "*",
           "99999999999999999999999", "18446744073709551616", "-18446744073709551615"]
HUGE = ["x" * 200, "x" * 4000, "9" * 60000, ",".join(["cpu-clock"] * 3000)]
HOSTILE = ["\x1b[2J", "\x7f", "\r", "\\", "'", "\xff", "%s%n%s", "/../../etc/passwd", "$(reboot)", ";"]
# errno texts with which no command of the table may refuse
KNOWN = {errno.EINVAL, errno.EBUSY, errno.EPERM, errno.ENOSPC, errno.ENOENT, errno.EOPNOTSUPP,
         errno.EMSGSIZE, errno.EACCES, errno.E2BIG}


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text)


def words():
    text = subprocess.run([kprofs, "--dump-words"], check=True, stdout=subprocess.PIPE).stdout
    for line in text.decode().splitlines():
        file, word, least, most, usage = line.split("\t")
        yield file, word, int(least), int(most), usage


def write(file, data):
    """One write(2); the errno or 0."""
    fd = os.open(os.path.join(mount, file), os.O_WRONLY)
    try:
        written = os.write(fd, data)
        if written != len(data):
            fail(f"{file}: {data!r:.60}: {written} of {len(data)} bytes written")
        return 0
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)


def read(file):
    with open(os.path.join(mount, file), "rb") as f:
        return f.read()


def state():
    """All that commands can change."""
    rows = [row for row in read("kpstat").decode().splitlines()
            if re.match(r"profiler\.|mpstat\.(ipi|accounting) |trace\.(written|bytes) ", row)]
    return read("kpctl"), read("kprintx"), read("kptrace"), rows


def count(row):
    for line in read("kpstat").decode().splitlines():
        if line.startswith(row + " "):
            return int(line.split()[1])
    return None


LINE = re.compile(rb"^[0-9]+\.[0-9]{9} pid [0-9]+ uid [0-9]+ ([a-z_/-]+) line ([0-9]+): "
                  rb"'((?:[^'\\]|\\x[0-9a-f]{2})*)': (.+); usage: (.+)$")


def printable(data):
    return "".join(chr(c) if 32 <= c < 127 and c not in b"'\\" else f"\\x{c:02x}"
                   for c in data[:200]).encode()


def refused(file, data, code=None, line=1, quoted=None):
    before, lines = state(), count("kperr.lines")
    got = write(file, data)
    what = f"{file}: {data!r:.60}"
    if not got:
        fail(f"{what}: taken")
        return
    if got not in KNOWN or code not in (None, got):
        fail(f"{what}: {errno.errorcode[got]}")
    if state() != before:
        fail(f"{what}: refused, but something has changed")
    if count("kperr.lines") != lines + 1:
        fail(f"{what}: {count('kperr.lines') - lines} lines in kperr")
    last = read("kperr").splitlines()[-1]
    match = LINE.match(last)
    if quoted is None:
        quoted = data[:-1] if data.endswith(b"\n") else data
    if not match or match[1] != file.encode() or int(match[2]) != line or match[3] != printable(quoted):
        fail(f"{what}: in kperr: {last!r}")


def taken(file, data):
    got = write(file, data)
    if got:
        fail(f"{file}: {data!r:.60}: {errno.errorcode[got]}")


def bad_for_every_file(file, good):
    for text in ("", " ", "\t \t", "bogus", good.upper(), good + "x", good[:-1], "--" + good, '"' + good + '"'):
        if text == good: # a number in capitals
            continue
        refused(file, text.encode() + b"\n", errno.EINVAL)
    for hostile in HOSTILE:
        refused(file, hostile.encode("latin-1") + b"\n", errno.EINVAL)
        refused(file, good.encode() + hostile.encode("latin-1") + b"\n", errno.EINVAL)
    for huge in HUGE:
        refused(file, huge.encode() + b"\n", errno.EINVAL)
    refused(file, b"x" * 65536, errno.EMSGSIZE, quoted=b"x" * 200)
    refused(file, b"\n" * 65536, errno.EMSGSIZE, quoted=b"\n" * 200)
    refused(file, (good + "\n").encode() * 65536, errno.EMSGSIZE, quoted=(good + "\n").encode() * 200)
    refused(file, b"\0", errno.EINVAL)
    refused(file, good.encode() + b"\0\n", errno.EINVAL)
    refused(file, b"\0" + good.encode() + b"\n", errno.EINVAL)


def bad_for_word(file, word, least, most, usage):
    for n in range(least):
        refused(file, " ".join([word] + ["0"] * n).encode(), errno.EINVAL)
    for n in (most + 1, most + 2, 20, 10000):
        # an expression that is too long is refused for that
        refused(file, " ".join([word] + ["0"] * n).encode(), None if "EXPR" in usage else errno.EINVAL)
    refused(file, f"{word} ".encode() + b"\0" * (least or 1), errno.EINVAL)
    refused(file, word.encode() + b"\0", errno.EINVAL)
    if not most:
        return
    rest = ["0"] * (least - 1)
    for arg in HUGE + HOSTILE + NUMBERS:
        if " " in arg or ("NUMBER" in usage and arg in ("-1", "-18446744073709551615")): # 1 and more: on
            continue
        if "NAME" in usage and re.fullmatch("[A-Za-z0-9_.-]{1,64}", arg): # of a session
            continue
        if "EXPR" in usage and arg in ("-1", "1e3", "-18446744073709551615"): # true for every sample
            continue
        refused(file, " ".join([word, arg] + rest).encode("latin-1"))
    # numbers that are numbers, and far too large
    if "KB" in usage:
        for arg in ("0", "18446744073709551615", "0xffffffffffffffff", "18014398509481985", "9223372036854775808"):
            refused(file, f"{word} {arg}\n".encode(), errno.EINVAL)


by_file = {}
for row in words():
    by_file.setdefault(row[0], []).append(row)
for name in ("kpctl", "kptrace_ctl", "kprintx", "mpstat", "mpstat-raw", "events/all", "events/reset"):
    if name not in by_file:
        fail(f"{name} has no words")
for name, rows in by_file.items():
    # the word NUMBER stands for any number
    rows = [(row[0], "1" if row[1] == "NUMBER" else row[1]) + row[2:] for row in rows]
    bad_for_every_file(name, rows[0][1])
    refused(name, b"NUMBER\n", errno.EINVAL)
    if not any(row[1] == "1" for row in rows):
        refused(name, b"2\n", errno.EINVAL)
    for row in rows:
        bad_for_word(*row)
        # words without arguments are accepted, with blanks around them and without a newline
        if row[3] == 0 and row[1] not in ("start", "hold"):
            taken(name, f" \t{row[1]} \t".encode())

# several lines: those before the refused one stand, those after it are not tried
taken("kprintx", b"off\n")
if write("kprintx", b"on\nbogus\noff\n") != errno.EINVAL or read("kprintx") != b"on":
    fail("lines around a refused one")
refused("kprintx", b"on\non\nmore\n", errno.EINVAL, line=3, quoted=b"more")
refused("kprintx", b"on\n\non\n", errno.EINVAL, line=2, quoted=b"")
taken("kprintx", b"off\non\ntoggle")
if read("kprintx") != b"off":
    fail("three commands in one write")

# every switch takes the same words
def setting(file, row):
    return read(file).strip() if row is None else next(
        line.split()[1].encode() for line in read("kpstat").decode().splitlines() if line.startswith(row))


for file, prefix, row, names in (("kprintx", "", None, (b"off", b"on")), ("events/all", "", None, (b"0", b"1")),
                                 ("events/enabled", "", None, (b"0", b"1")),
                                 ("mpstat", "", "mpstat.accounting ", (b"off", b"on")),
                                 ("mpstat-raw", "", "mpstat.accounting ", (b"off", b"on")),
                                 ("mpstat", "ipi ", "mpstat.ipi ", (b"off", b"on"))):
    for word, to in (("off", False), ("on", True), ("off", False), ("1", True), ("0", False), ("0x10", True),
                     ("toggle", False), ("toggle", True), ("-1", True), ("00", False), ("toggle", True)):
        taken(file, f"{prefix}{word}\n".encode())
        if setting(file, row) != names[to]:
            fail(f"{file}: {prefix}{word}: {setting(file, row)}")
    for word in ("On", "toggel", "yes", "1 1", "on off"):
        refused(file, f"{prefix}{word}\n".encode(), errno.EINVAL)
    if not prefix:
        taken(file, b"on\n")
        write(file, b"toggel\n")
        if not re.search(rb": did you mean 'toggle'\?; usage: .*on\|off\|toggle\|NUMBER", read("kperr").splitlines()[-1]):
            fail(f"{file}: no hint: {read('kperr').splitlines()[-1]}")
refused("events/reset", b"0\n", errno.EINVAL)
refused("events/reset", b"off\n", errno.EINVAL)

# files that take any text, or a number
refused("kptrace", b"a\0b", errno.EINVAL)
refused("kptrace", b"x" * 65536, errno.EMSGSIZE, quoted=b"x" * 200)
refused("kptrace", b"x" * (1 << 20), errno.EMSGSIZE, quoted=b"x" * 200)
taken("kptrace", b"x" * 65535)
for text in NUMBERS + ["", "1 2", "0x1\n\n", "9" * 1000, "1\n2"]:
    refused("kpdata", text.encode() + b"\n", errno.EINVAL)
refused("kpdata", b"1\0", errno.EINVAL)
refused("kpdata", b"1" * 65536, errno.EMSGSIZE, quoted=b"1" * 200)

if len(read("kperr").splitlines()) != 16:
    fail("kperr keeps 16 lines")
sys.exit(1 if failures else 0)
