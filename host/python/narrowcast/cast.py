"""cast.py : casts numpy arrays, torch tensors and buffers of floats to codes of narrow floats, and back, by libnarrowcast.so.0.

    codes = narrowcast.cast.encode(x, format="e4m3", scale="aps")      # codes.data: uint8, codes.scale: 2^k
    y = narrowcast.cast.decode(codes)                                  # of x's shape, in fp32

The bits are those of `narrowcast cast`, and of the gradients of an all-reduce on one rank."""

from __future__ import annotations

import array
import ctypes
import numbers
import sys
from ctypes import byref, c_double
from dataclasses import dataclass, field
from typing import Any, Dict, Tuple

from . import _library

_SILENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(lambda *_: None)  # the exception has the line
OPTIONS = ("format", "scale", "overflow", "round", "seed", "codec")


@dataclass
class Codes:
    """What encode() returns.

    data      [nbytes] uint8, a numpy array, torch tensor or bytearray as x was. Codec minifloat: code i of w bits is in bits i * w to
              i * w + w - 1, counted from the lowest bit of byte 0; codes of 8 bits are a byte each
    shape     of x
    scale     codec minifloat: 2^k, and codes are cast(x * 2^k). Other codecs: what decode() needs, mostly the
              largest |x|
    options   as encode() got them"""

    data: Any
    shape: Tuple[int, ...]
    scale: float
    options: Dict[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return _address(self.data)[1]


def _is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_numpy(x: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.ndarray)


def _floats(x: Any) -> Any:
    """Return x in fp32, in CPU memory, without gaps: x itself if it is so."""
    if _is_torch(x):
        import torch

        from . import _place

        if not x.is_floating_point():
            raise TypeError(f"narrowcast: cannot encode a tensor of {x.dtype}: need floats")
        here = x.detach() if x.device.type == "meta" else x.detach().to("cpu", torch.float32)
        if not _place.has_memory(here):
            raise TypeError(f"narrowcast: cannot encode a {type(x).__name__} of layout {x.layout} on "
                            f"device '{x.device}': need a strided tensor with memory, such as "
                            "to_local() or full_tensor() of a DTensor")
        return here.contiguous().resolve_neg()  # a lazy minus is not in memory
    if _is_numpy(x):
        import numpy

        if x.dtype.kind != "f" or isinstance(x, numpy.ma.MaskedArray):
            kind = "a masked array: need one without mask, x.filled(...)" if x.dtype.kind == "f" else f"an array of {x.dtype}: need floats"
            raise TypeError(f"narrowcast: cannot encode {kind}")
        return numpy.asarray(x, numpy.float32, order="C")
    view = _buffer(x)
    if view.format != "f" or not view.c_contiguous:
        raise TypeError(f"narrowcast: cannot encode a buffer of format '{view.format}': need one of 'f' without gaps")
    return x


def _buffer(x: Any) -> memoryview:
    """Return the memory of a writable buffer. Raises TypeError for another x."""
    kind = type(x).__name__
    try:
        view = memoryview(x)
        if not view.readonly:
            return view
        kind += " that is read-only"
    except TypeError:
        pass
    raise TypeError(f"narrowcast: cannot cast a {kind}: need a numpy array, a torch tensor or a "
                    "writable buffer, such as array.array('f') or bytearray")


def _address(x: Any) -> Tuple[int, int]:
    """Return address and bytes of memory. Raises ValueError if it has gaps or is not the CPU's."""
    if _is_torch(x):
        from . import _place

        if x.device.type != "cpu" or not _place.has_memory(x) or not x.is_contiguous():
            raise ValueError("narrowcast: codes must be in CPU memory, without gaps: "
                             "use .cpu().contiguous()")
        return x.data_ptr(), x.numel() * x.element_size()
    if _is_numpy(x):
        if not x.flags.c_contiguous:
            raise ValueError("narrowcast: codes must be without gaps: "
                             "use numpy.ascontiguousarray()")
        return x.ctypes.data, x.nbytes
    view = _buffer(x)
    whole = (ctypes.c_char * view.nbytes).from_buffer(x) if view.nbytes else None
    return (ctypes.addressof(whole) if whole else 0), view.nbytes


def _empty(like: Any, n: int, floats: bool) -> Any:
    """Return n floats or n bytes, of the kind of `like`."""
    if _is_torch(like):
        import torch

        return torch.empty(n, dtype=torch.float32 if floats else torch.uint8, device="cpu")
    if _is_numpy(like):
        import numpy

        return numpy.empty(n, numpy.float32 if floats else numpy.uint8)
    return array.array("f", bytes(4 * n)) if floats else bytearray(n)


def _count(shape: Tuple[int, ...]) -> int:
    n = 1
    for length in shape:
        n *= length
    return n


def _settings(who: str, options: Dict[str, Any]) -> _library.Options:
    words = _library.settings("narrowcast.cast." + who, options, OPTIONS)
    words.log = ctypes.cast(_SILENT, ctypes.c_void_p)
    return words


def encode(x: Any, **options: Any) -> Codes:
    """Cast x to codes.

    x          floats of any shape: a numpy array (fp16, fp32, fp64), a torch tensor (any float, on any device; codes are on the CPU)
               or a writable buffer of fp32 (array.array("f")). Other floats than fp32 are first rounded to fp32
    format     "e5m2" (default), "fp32", "fp16", "bf16", "e4m3", "e4m3fn", "e3m0", "eXmY", "eXmYfn" (no inf), "eXmYf" (numbers only)
    scale      "none" (default), "const:K", "aps" or "aps-tight": multiply by a power of two first
    overflow   "saturate" (default) or "inf"
    round      "nearest" (default), "stochastic" or "zero"
    seed       of stochastic rounding, 1 by default: the same seed gives the same codes
    codec      instead of a format: "mx:e4m3" (OCP MX), "nvfp4", "qsgd:B", "onebit", "ternary", "relgrad:of=gradient"

    Raises ValueError with the library's reason, such as inf or nan in x where the codes have none; TypeError for another x."""
    lib, words = _library.load(), _settings("encode", options)
    x32, scale = _floats(x), c_double()
    shape = tuple(x.shape) if hasattr(x, "shape") else (len(x),)
    n = _count(shape)
    nbytes = lib.nc_cast(byref(words), None, n, None, None)
    if nbytes < 0:
        raise ValueError(_library.last_error())
    data = _empty(x, max(nbytes, 1), floats=False)  # a pointer that is not NULL, even for no codes
    if lib.nc_cast(byref(words), _address(x32)[0], n, byref(scale), _address(data)[0]) < 0:
        raise ValueError(_library.last_error())
    return Codes(data[:nbytes], shape, scale.value, options)


def decode(codes: Codes) -> Any:
    """Return the numbers of codes: fp32 of codes.shape, as a numpy array, torch tensor or array.array("f"), as codes.data is.

    Raises ValueError if codes.data has gaps, or another length than that of codes.shape; TypeError for fields of other types than
    encode() returns."""
    if not isinstance(codes, Codes):
        raise TypeError(f"narrowcast: cannot decode a {type(codes).__name__}: need the Codes of encode()")
    for name, kinds in ("shape", (tuple, list)), ("scale", numbers.Real), ("options", dict):
        if not isinstance(getattr(codes, name), kinds):
            raise TypeError(f"narrowcast: cannot decode codes with {name} {getattr(codes, name)!r}: need what encode() returned")
    if not all(isinstance(length, numbers.Integral) and length >= 0 for length in codes.shape):
        raise ValueError(f"narrowcast: cannot decode codes of shape {tuple(codes.shape)}: need whole numbers from 0 on")
    n = _count(codes.shape)
    if n > sys.maxsize:
        raise ValueError(f"narrowcast: cannot decode {n} codes: need at most {sys.maxsize}")
    lib, words = _library.load(), _settings("decode", codes.options)
    nbytes = lib.nc_cast(byref(words), None, n, None, None)
    if nbytes >= 0 and nbytes != codes.nbytes:
        raise ValueError(f"narrowcast: cannot decode {codes.nbytes} bytes: {n} values have {nbytes}")
    x = _empty(codes.data, n, floats=True)
    if nbytes < 0 or lib.nc_uncast(byref(words), _address(codes.data)[0], n, float(codes.scale), _address(x)[0]) < 0:
        raise ValueError(_library.last_error())
    return x.reshape(codes.shape) if hasattr(x, "reshape") else x
