"""selftest.py : tests an installation: casts against stored vectors, and an all-reduce of threads. Needs neither torch, numpy nor MPI.

    python -m narrowcast.selftest

Prints a line per check. The exit status is 0 if all pass, 1 if one fails or there is no library."""

from __future__ import annotations

import array
import ctypes
import json
import math
import os
import struct
import sys
import threading
from collections import defaultdict, deque
from ctypes import byref, c_int, c_void_p, sizeof
from typing import Callable, Dict, Iterator, List

from . import _library, cast
from ._library import Begin, Cancel, Layer, Report, Transport


def _vectors(name: str) -> Iterator[dict]:
    """The lines of a file of tests/conformance/vectors: in the package (a wheel), in PREFIX/share (`make install`), or in this tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ("vectors", "../../vectors", "../../../tests/conformance/vectors"):
        path = os.path.join(here, folder, name)
        if os.path.exists(path):
            with open(path) as lines:
                yield from map(json.loads, lines)
            return
    raise OSError(f"no {name} in this package: install it again")


def _floats(words: str) -> array.array:
    return array.array("f", b"".join(struct.pack("<I", int(word, 16)) for word in words.split()))


def _packed(codes: List[int], width: int) -> bytes:
    return sum(code << (i * width) for i, code in enumerate(codes)).to_bytes((len(codes) * width + 7) // 8, "little")


def _width(format: str) -> int:
    return cast.encode(array.array("f", [0] * 8), format=format).nbytes


def _casts() -> str:
    """encode() of each vector gives its codes. Formats without inf and nan refuse these."""
    n = 0
    for v in _vectors("casts.jsonl"):
        if v["op"] != "cast" or "random" in v or v["shift"] > 127:
            continue  # for other functions, with given random bits, or with a scale that no fp32 number is
        numbers = v["format"].endswith("f")
        pairs = [(x, int(code, 16)) for x, code in zip(v["x"].split(), v["codes"].split())
                 if not numbers or int(x, 16) >> 23 & 255 != 255]
        x, codes = _floats(" ".join(x for x, _ in pairs)), [code for _, code in pairs]
        got = cast.encode(x, format=v["format"], round=v["round"], overflow=v["overflow"], scale=f"const:{2.0 ** v['shift']!r}")
        if bytes(got.data) != _packed(codes, _width(v["format"])) or got.scale != 2.0 ** v["shift"]:
            raise AssertionError(f"{v['id']}: other codes")
        n += len(codes)
    return f"{n} values"


def _uncasts() -> str:
    n = 0
    for v in _vectors("uncasts.jsonl"):
        if v["op"] != "uncast":
            continue
        width = _width(v["format"])
        codes = [int(code, 16) % 2**width for code in v["codes"].split()]  # words may have bits above
        data = bytearray(_packed(codes, width))
        got = cast.decode(cast.Codes(data, (len(codes),), 2.0 ** -v["shift"], {"format": v["format"]}))
        if got.tobytes() != _floats(v["x"]).tobytes():
            raise AssertionError(f"{v['id']}: other values")
        n += len(codes)
    return f"{n} values"


def _codecs() -> str:
    """Blocks with scales of their own come back within the step of their format."""
    x = array.array("f", [math.sin(i) * 2.0 ** (i // 32) for i in range(128)])
    for codec, step in (("mx:e4m3", 2 ** -3), ("mx:e2m1", 2 ** -1), ("nvfp4", 2 ** -1)):
        y = cast.decode(cast.encode(x, codec=codec))
        if len(y) != len(x):
            raise AssertionError(f"{codec}: {len(y)} values instead of {len(x)}")
        for at in range(0, len(x), 32):
            largest = max(abs(v) for v in x[at:at + 32])
            if not all(abs(a - b) <= step * largest for a, b in zip(x[at:at + 32], y[at:at + 32])):
                raise AssertionError(f"{codec}: an error of more than {step} of the largest value")
    return "mx:e4m3, mx:e2m1, nvfp4"


class _Hub:
    """Messages between threads: those of (from, to, tag) in order. A message is done when its other side has begun."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sent: Dict[tuple, deque] = defaultdict(deque)
        self.wanted: Dict[tuple, deque] = defaultdict(deque)

    def send(self, key: tuple, data: bytes, flag: c_int) -> None:
        with self.lock:
            self.sent[key].append(data)
            self.match(key)
            flag.value = 1

    def receive(self, key: tuple, buf: int, flag: c_int) -> None:
        with self.lock:
            self.wanted[key].append((buf, flag))
            self.match(key)

    def match(self, key: tuple) -> None:
        while self.sent[key] and self.wanted[key]:
            (buf, flag), data = self.wanted[key].popleft(), self.sent[key].popleft()
            ctypes.memmove(buf, data, len(data))
            flag.value = 1

    def cancel(self, request: int) -> None:
        with self.lock:
            for wanted in self.wanted.values():
                for entry in [e for e in wanted if ctypes.addressof(e[1]) == request]:
                    wanted.remove(entry)


class _Rank:
    """struct nc_transport of a rank of a hub."""

    def __init__(self, hub: _Hub, rank: int, n_ranks: int) -> None:
        self.hub, self.rank, self.flags = hub, rank, []
        self.table = Transport(size=sizeof(Transport), rank=rank, n_ranks=n_ranks, isend=Begin(self.isend), irecv=Begin(self.irecv),
                               cancel=Cancel(lambda _, request: hub.cancel(request)), threads=1)

    def flag(self, request: "ctypes._Pointer[c_void_p]") -> c_int:
        self.flags.append(c_int(0))  # in place until the rank has left
        request[0] = ctypes.addressof(self.flags[-1])
        return self.flags[-1]

    def isend(self, _, to, tag, buf, count, request) -> int:
        self.hub.send((self.rank, to, tag), ctypes.string_at(buf, count), self.flag(request))
        return 0

    def irecv(self, _, source, tag, buf, count, request) -> int:
        self.hub.receive((source, self.rank, tag), buf, self.flag(request))
        return 0


N = 10007


def _gradient(rank: int) -> array.array:
    """Small whole numbers, whose sums and means e4m3 holds."""
    return array.array("f", [((i * 7 + rank) % 3 - 1) * 2.0 for i in range(N)])


def _run_rank(hub: _Hub, rank: int, n_ranks: int, means: Dict[int, array.array], failed: List[str]) -> None:
    lib, nc, report, wire = _library.load(), c_void_p(), Report(), _Rank(hub, rank, n_ranks)
    words = _library.settings("selftest", {"format": "e4m3", "scale": "aps", "deadline_s": 20})
    layers, x = (Layer * 1)(Layer(name=b"x", n=N)), _gradient(rank)
    if lib.nc_open_over(byref(wire.table), byref(words), layers, 1, byref(nc)) < 0:
        failed.append(_library.last_error())
        return
    if lib.nc_allreduce(nc, (c_void_p * 1)(x.buffer_info()[0]), byref(report)) != 0:
        failed.append(_library.last_error(nc))
    elif report.code_bytes > 1.1 * N:
        failed.append(f"rank {rank} sent {report.code_bytes} bytes of codes for {N} numbers")
    lib.nc_close(nc)
    means[rank] = x


def _all_reduce(n_ranks: int) -> str:
    hub, means, failed = _Hub(), {}, []
    threads = [threading.Thread(target=_run_rank, args=(hub, rank, n_ranks, means, failed)) for rank in range(n_ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise AssertionError(failed[0])
    wanted = array.array("f", [sum(column) / n_ranks for column in zip(*(_gradient(rank) for rank in range(n_ranks)))])
    for rank in range(n_ranks):
        if means[rank] != wanted:
            raise AssertionError(f"rank {rank} has another mean")
    return f"{N} numbers in e4m3"


def _library_loads() -> str:
    _library.load()
    return _library._path()


def main() -> int:
    checks: Dict[str, Callable[[], str]] = {
        "library": _library_loads, "casts": _casts, "uncasts": _uncasts, "blocks": _codecs,
        "all-reduce of 2 threads": lambda: _all_reduce(2), "all-reduce of 4 threads": lambda: _all_reduce(4)}
    for name, check in checks.items():
        try:
            print(f"ok    {name}: {check()}", flush=True)
        except (AssertionError, OSError, ValueError) as e:
            print(f"FAIL  {name}: {e}", flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
