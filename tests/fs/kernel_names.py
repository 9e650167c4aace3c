#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names of kernel addresses that have several: ours against perf's.

usage: kernel_names.py make CAPTURE         a capture with a sample at each such address
       kernel_names.py compare OURS PERF    OURS: kprof report -n --by address,function;
                                            PERF: perf script -F ip,sym

compare fails where the two differ, unless perf's name is one that is not to be taken: a local or weak
one beside a global one, or one of the early boot code (__pi_) beside another.
"""
import struct
import sys

PID = 10
KERNEL = 0xffffffff
RECORD_KERNEL_TRACE, RECORD_MMAP, RECORD_PROCESS = 1, 3, 4
RECORD_EVENT, RECORD_COMM, RECORD_BUILD_ID, RECORD_CLOCK = 64, 67, 70, 71
NOTE_BUILD_ID = 3
SKIP = 77


def read_kallsyms():
    """The kernel's own symbols of code: address -> [(type, name)] in the order of the file."""
    symbols, bounds = {}, {}
    for line in open('/proc/kallsyms'):
        fields = line.split()
        address = int(fields[0], 16)
        if len(fields) == 3 and fields[2] in ('_stext', '_etext'):
            bounds[fields[2]] = address
        if len(fields) == 3 and fields[1] in 'tTwW':
            symbols.setdefault(address, []).append((fields[1], fields[2]))
    if not bounds.get('_stext') or not bounds.get('_etext'):
        sys.exit(SKIP)
    return symbols, bounds['_stext'], bounds['_etext']


def read_aliased():
    symbols, start, end = read_kallsyms()
    return {a: names for a, names in symbols.items() if len(names) > 1 and start <= a < end}


def read_build_id():
    notes, at = open('/sys/kernel/notes', 'rb').read(), 0
    while at < len(notes):
        name, data, kind = struct.unpack_from('<III', notes, at)
        begin = at + 12 + (name + 3 & ~3)
        if kind == NOTE_BUILD_ID and notes[at + 12:at + 16] == b'GNU\0':
            return notes[begin:begin + data]
        at = begin + (data + 3 & ~3)
    sys.exit(SKIP)


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(kind, payload):
    return varint(kind) + varint(len(payload)) + payload


def make(path):
    _, start, end = read_kallsyms()
    build_id = read_build_id()
    out = [
        record(RECORD_CLOCK, struct.pack('<QQI', 1, 2, 1) + b'CLOCK_MONOTONIC\0'),
        record(RECORD_EVENT, struct.pack('<IIQQI', 1, 1, 0, 1000, 1) + b'cpu-clock:freq=1000\0'),
        record(RECORD_MMAP, struct.pack('<QQQQI', 1, start, end - start, start, KERNEL) +
               b'[kernel.kallsyms]\0'),
        record(RECORD_BUILD_ID, struct.pack('<QIQB', 1, KERNEL, start, len(build_id)) + build_id),
        record(RECORD_PROCESS, struct.pack('<QI', 10, PID) + b'/bin/prog\0'),
        record(RECORD_COMM, struct.pack('<QII', 10, PID, PID) + b'prog\0'),
    ]
    for i, address in enumerate(sorted(read_aliased())):
        out.append(record(RECORD_KERNEL_TRACE,
                          struct.pack('<QQIHHQ', 1, 1000 + 1000 * i, PID, 0, 1, address)))
    open(path, 'wb').write(b''.join(out))


def read_ours(path):
    """Rows `share samples event address function`; the event has no blank."""
    found = {}
    for line in open(path):
        fields = line.split()
        if len(fields) == 5 and fields[3].startswith('0x'):
            found[int(fields[3], 16)] = fields[4]
    return found


def read_perf(path):
    found = {}
    for line in open(path):
        fields = line.split()
        if len(fields) >= 2:
            found[int(fields[0], 16)] = fields[1]
    return found


def is_early(name):
    return name.removeprefix('__pfx_').startswith('__pi_')


def is_excused(names, ours, perfs):
    kinds = {name: kind for kind, name in names}
    if is_early(perfs) and not is_early(ours):
        return True
    return kinds[perfs] != 'T' and kinds[ours] == 'T'


def compare(ours_path, perf_path):
    ours, perfs = read_ours(ours_path), read_perf(perf_path)
    same = excused = failed = 0
    aliased = read_aliased()
    for address, names in sorted(aliased.items()):
        a, b = ours.get(address), perfs.get(address)
        if a == b:
            same += 1
        elif a and b and is_excused(names, a, b):
            excused += 1
        else:
            failed += 1
            print(f'{address:x}: {a}, perf says {b}')
    print(f'{len(aliased)} addresses with several names: {same} as perf, {excused} better, '
          f'{failed} otherwise')
    sys.exit(failed > 0 or not same)


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(sys.argv[2])
    else:
        compare(sys.argv[2], sys.argv[3])
