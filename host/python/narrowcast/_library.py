"""_library.py : loads libnarrowcast.so.0, and declares the structs and functions of narrowcast.h.

The library is the file named by $NARROWCAST_LIBRARY, else the one in this package (a wheel), in the build
folder of this tree, in PREFIX/lib (`make install`), or on the loader's path."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p, sizeof
from typing import Any, Collection, Dict

from . import __version__

NAME = "libnarrowcast.so.0"

_WORDS = "format scale sum out_format overflow round algo offload".split()
_MORE_WORDS = "device codec xclbin node_sum quantise acc_format".split()


class Options(Structure):
    """struct nc_options"""

    _fields_ = (
        [("size", c_size_t)]
        + [(name, c_char_p) for name in _WORDS]
        + [("bucket_bytes", c_size_t), ("deadline_s", c_double), ("seed", c_uint64)]
        + [(name, c_char_p) for name in _MORE_WORDS]
        + [("rescale", c_int), ("op", c_char_p), ("type", c_char_p), ("threads", c_int), ("log", c_void_p), ("log_arg", c_void_p),
           ("count_lost", c_int), ("blocks", c_int), ("shard", c_char_p), ("shard_n", c_void_p), ("gather", c_char_p)]
    )


class Layer(Structure):
    """struct nc_layer"""

    _fields_ = [("name", c_char_p), ("n", c_size_t), ("fp32", c_int), ("column", c_size_t), ("stride", c_size_t),
                ("weights", c_void_p), ("reserved", c_void_p * 4)]


class Report(Structure):
    """struct nc_report"""

    _fields_ = [("sent_bytes", c_uint64), ("code_bytes", c_uint64), ("fp32_bytes", c_uint64), ("codec_s", c_double),
                ("comm_s", c_double), ("offload", c_int), ("path", c_char_p), ("underflow", c_uint64), ("saturated", c_uint64),
                ("reserved", c_uint64 * 5)]


Begin = CFUNCTYPE(c_int, c_void_p, c_int, c_int, c_void_p, c_size_t, POINTER(c_void_p))
Cancel = CFUNCTYPE(None, c_void_p, c_void_p)


class Transport(Structure):
    """struct nc_transport"""

    _fields_ = [("size", c_size_t), ("arg", c_void_p), ("rank", c_int), ("n_ranks", c_int), ("isend", Begin), ("irecv", Begin),
                ("test", c_void_p), ("progress", c_void_p), ("cancel", Cancel), ("threads", c_int),
                ("message_bytes", c_size_t), ("reserved", c_void_p * 7)]


def _path() -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    places = [here, os.path.join(here, "..", "..", "..", "build"), os.path.join(here, "..", "..", "..", "..", "lib")]
    files = [os.path.join(place, NAME) for place in places]
    return os.environ.get("NARROWCAST_LIBRARY") or next((file for file in files if os.path.exists(file)), NAME)


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """Return the library. Raises OSError if there is none, or one of another version."""
    path = _path()
    try:
        lib = ctypes.CDLL(path)
        lib.nc_version.restype = c_char_p
        version = lib.nc_version().decode()
    except (OSError, AttributeError) as e:
        raise OSError(f"narrowcast: cannot load {NAME} ({e}): install a wheel that has it, or build it with `make` and set "
                      f"NARROWCAST_LIBRARY=PATH") from None
    if version != __version__:
        raise OSError(f"narrowcast: '{path}' has version {version}, this package {__version__}: need the same")
    lib.nc_options_init.argtypes = [POINTER(Options), c_size_t]
    lib.nc_open_over.argtypes = [POINTER(Transport), POINTER(Options), POINTER(Layer), c_int, POINTER(c_void_p)]
    lib.nc_allreduce.argtypes = [c_void_p, POINTER(c_void_p), POINTER(Report)]
    lib.nc_iallreduce.argtypes = [c_void_p, POINTER(c_void_p)]
    lib.nc_ready.argtypes = [c_void_p, c_int, c_int]
    lib.nc_ready_on.argtypes = [c_void_p, c_int, c_int, c_void_p]
    lib.nc_wait.argtypes = [c_void_p, POINTER(Report)]
    lib.nc_reduce_scatter.argtypes = [c_void_p, POINTER(c_void_p), c_void_p, POINTER(Report)]
    lib.nc_ireduce_scatter.argtypes = [c_void_p, POINTER(c_void_p), c_void_p]
    lib.nc_all_gather.argtypes = [c_void_p, c_void_p, POINTER(c_void_p), POINTER(Report)]
    lib.nc_close.argtypes = [c_void_p]
    lib.nc_abort.argtypes = [c_void_p, c_int]
    lib.nc_state_bytes.argtypes, lib.nc_state_bytes.restype = [c_void_p], c_size_t
    lib.nc_state_save.argtypes = [c_void_p, c_void_p]
    lib.nc_state_load.argtypes = [c_void_p, c_void_p, c_size_t]
    lib.nc_cast.argtypes, lib.nc_cast.restype = [POINTER(Options), c_void_p, c_size_t, POINTER(c_double), c_void_p], c_int64
    lib.nc_uncast.argtypes = [POINTER(Options), c_void_p, c_size_t, c_double, c_void_p]
    lib.nc_last_error.argtypes, lib.nc_last_error.restype = [c_void_p], c_char_p
    return lib


def last_error(nc: Any = None) -> str:
    """Return the library's line about the last failure, of a communicator or of this thread's last opening or cast."""
    return "narrowcast: " + load().nc_last_error(nc).decode()


_UNUSED = ("size", "device", "type", "threads", "log", "log_arg", "shard", "shard_n", "gather")
NAMES = tuple(name for name, _ in Options._fields_ if name not in _UNUSED)


def settings(who: str, options: Dict[str, Any], names: Collection[str] = NAMES) -> Options:
    """Return a filled struct nc_options. Raises TypeError, in the name of `who`, for a name outside `names` or a value of another type."""
    words = Options()
    load().nc_options_init(byref(words), sizeof(words))
    types = {name: kind for name, kind in Options._fields_ if name in names}
    for name, value in options.items():
        if name not in types:
            raise TypeError(f"{who} has no option '{name}': those are {', '.join(types)}")
        if isinstance(value, str) != (types[name] is c_char_p):
            raise TypeError(f"option {name}={value!r}: must be a {'word' if types[name] is c_char_p else 'number'}")
        if isinstance(value, str):
            if "\0" in value:
                raise ValueError(f"option {name}={value!r}: must not contain a NUL")
            setattr(words, name, value.encode())
            continue
        try:
            setattr(words, name, value)
        except TypeError:
            whole = "" if types[name] is c_double else "whole "
            raise TypeError(f"option {name}={value!r}: must be a {whole}number") from None
        if types[name] is not c_double and getattr(words, name) != value:
            raise ValueError(f"option {name}={value!r}: does not fit {8 * sizeof(types[name])} bits")
    return words
