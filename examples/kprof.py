# SPDX-License-Identifier: MIT
"""Events of Python programs in the trace of kprofs, by libkprof's typed calls. One file: copy it.

    import kprof

    packet = kprof.Event("net", "packet", "len %d from %s")
    packet(1500, "eth0")
    kprof.puts("a line of text")

Values are int, float, str or bytes, one for each argument of the format; see libkprof(3). An event
costs some microseconds here, most of it Python's own. $KPROF_LIBRARY names another library.
"""
import ctypes
import os

_library = ctypes.CDLL(os.environ.get("KPROF_LIBRARY", "libkprof.so.0"))

_INT, _DOUBLE, _STRING = 1, 2, 3


class _As(ctypes.Union):
    _fields_ = [("u", ctypes.c_uint64), ("d", ctypes.c_double), ("s", ctypes.c_char_p)]


class _Value(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("value", _As)]


_library.kprof_puts.argtypes = [ctypes.c_char_p]
_library.kprof_puts.restype = None
_library.kprof_typed_define.argtypes = [ctypes.c_char_p] * 3 + [ctypes.POINTER(ctypes.c_void_p)]
_library.kprof_typed_is_on.argtypes = [ctypes.c_void_p]
_library.kprof_typed_write.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Value), ctypes.c_size_t]


def _bytes(text):
    return text.encode(errors="surrogateescape") if isinstance(text, str) else text


def _set(to, value):
    if isinstance(value, int):
        to.type, to.value.u = _INT, value & 0xFFFFFFFFFFFFFFFF
    elif isinstance(value, float):
        to.type, to.value.d = _DOUBLE, value
    elif value is None or isinstance(value, (str, bytes)):
        to.type, to.value.s = _STRING, _bytes(value)
    else:
        raise TypeError(f"not an int, float, str or bytes: {value!r}")


def puts(text):
    """Writes a line of text."""
    _library.kprof_puts(_bytes(text))


class Event:
    """An event, switched by the file events/PROVIDER:NAME of the mount."""

    def __init__(self, provider, name, form):
        handle = ctypes.c_void_p()
        error = _library.kprof_typed_define(
            _bytes(provider), _bytes(name), _bytes(form), ctypes.byref(handle)
        )
        if error:
            raise OSError(-error, os.strerror(-error), f"{provider}:{name}")
        self._handle = handle

    @property
    def is_on(self):
        return bool(_library.kprof_typed_is_on(self._handle))

    def __call__(self, *values):
        """Writes the event if it is on. ValueError: the values are not those of the format."""
        if not self.is_on:
            return
        array = (_Value * len(values))()
        for to, value in zip(array, values):
            _set(to, value)
        if _library.kprof_typed_write(self._handle, array, len(values)):
            raise ValueError(f"not the arguments of the format: {values!r}")


if __name__ == "__main__":
    import time

    event = Event("example", "python", "number %d, %.2f, %s")
    until = time.monotonic() + 10
    while not event.is_on and time.monotonic() < until:
        time.sleep(0.01)
    event(1, 2.5, "three")
    puts("hello from Python")
