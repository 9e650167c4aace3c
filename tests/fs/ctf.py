#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ctf.py: what babeltrace2 prints of views/ctf, as the lines of kptrace.

usage: babeltrace2 --clock-cycles --no-delta views/ctf | ctf.py

The text of each event is made here from its format (of ctf_tell.c and tell.c) and from the fields that
babeltrace2 found, which must have the names that the format gives them. Lines of one moment are
sorted, since streams of different CPUs have no order then.
"""
import re
import sys

# by event: names of the fields, and how Python prints them as printf does
FORMATS = {
    "ctf:numbers": ("hh hu d lx llo zu jd", "hh %d hu=%d d: %d lx %x llo %o zu %d jd %d"),
    "ctf:strings": ("arg1 struct", "%s struct %s"),
    "ctf:others": ("f c p arg4 width", "f %g c %c p %s width %*d 100%%"),
    "ctf:nothing": ("", "no argument"),
    "test:n": ("thread n arg3", "thread %d n %d %s"),
}
LINE = re.compile(r"\[0*(\d+)\] (\S+): \{ cpu_id = (\d+) \}, (.*)$")
CONTEXT = re.compile(r'\{ pid = (\d+), tid = (\d+), comm = "((?:[^"\\]|\\.)*)" \}, (.*)$')
FIELD = re.compile(r'(\w+) = (?:"((?:[^"\\]|\\.)*)"|([^",{}\[\] ]+)|\[ ((?:\[\d+\] = \w+(?:, | ))*)\])(?:, | \}$)')
ESCAPES = {"n": "\n", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "v": "\v"}


def unescape(text):
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), text)


def number(text):
    if text.startswith("0x"):
        return int(text, 16)
    if re.fullmatch("0[0-7]+", text):
        return int(text, 8)
    return int(text) if re.fullmatch("-?[0-9]+", text) else float(text)


def fields(text):
    """Names and values, in order; everything in the text is one of them."""
    if text == "{ }":
        return []
    found, at = [], 2
    while at < len(text):
        match = FIELD.match(text, at)
        if not match:
            sys.exit("no field: " + text[at:])
        name, string, word, elements = match.groups()
        if elements is not None:
            found.append((name, [number(e) for e in re.findall(r"= (\w+)", elements)]))
        else:
            found.append((name, number(word) if string is None else unescape(string)))
        at = match.end()
    return found


def payload(name, values):
    if name in ("kptrace", "kprof_printf"):
        found = dict(values)
        if [n for n, _ in values] not in (["text"], ["text", "stack_length", "stack"]):
            sys.exit("%s has %s" % (name, list(found)))
        # kptrace has the addresses on lines of their own
        stack = found.get("stack", [])
        if len(stack) != found.get("stack_length", 0):
            sys.exit("stack_length is %d, with %d addresses" % (found["stack_length"], len(stack)))
        return "\n".join([found["text"]] + ["  0x%x" % address for address in stack])
    names, text = FORMATS[name]
    if [n for n, _ in values] != names.split():
        sys.exit("%s has %s" % (name, [n for n, _ in values]))
    args = [v for _, v in values]
    if name == "ctf:others":
        args[1] = chr(args[1])
        args[2] = hex(args[2]) if args[2] else "(nil)"
    return text % tuple(args)


def main():
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    last, same = None, []
    for line in sys.stdin:
        match = LINE.match(line.rstrip("\n"))
        if not match:
            sys.exit("no event: " + line)
        time, name, cpu, rest = match.groups()
        time = int(time)
        head = "[%d.%09d]:cpu%s: " % (time // 10**9, time % 10**9, cpu)
        if name != "kptrace":
            pid, tid, comm, rest = CONTEXT.match(rest).groups()
            head += "%s[%s]" % (comm, pid if pid == tid else pid + "/" + tid)
            head += ": " if name == "kprof_printf" else " %s: " % name
        if time != last:
            sys.stdout.writelines(sorted(same))
            same = []
        last = time
        text = payload(name, fields(rest) if rest else [])
        same.extend(head + line + "\n" for line in text.split("\n"))
    sys.stdout.writelines(sorted(same))


main()
