"""_packet.py : packets of cards (hls/card/packet.def), formats that cards add, and codes in beats, for card.py.

Layouts of packets, registers and control messages are in _card_layout.py, which the build makes of hls/card/*.def."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import re
import struct
from typing import Any, Dict, List, Tuple

import numpy as np

from . import _library


def _load_layout() -> Any:
    """Return _card_layout: of this package (a wheel, `make install`), or beside the library of this tree's build folder."""
    try:
        return importlib.import_module("._card_layout", __package__)
    except ImportError:
        path = os.path.join(os.path.dirname(_library._path()), "_card_layout.py")
        spec = importlib.util.spec_from_file_location("narrowcast._card_layout", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise ImportError(f"narrowcast.card: there is no '{path}': build it with `make`, or install a wheel that has it")
    layout = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(layout)
    return layout


layout = _load_layout()
BEAT: int = layout.PACKET_CONST["BEAT_BYTES"]
_NAMES = [name for name, _, _, _ in layout.FIELDS]
_HEADER = struct.Struct("<" + "".join({1: "B", 2: "H", 4: "I", 8: "Q"}[size] for _, _, size, _ in layout.FIELDS))
assert _HEADER.size == BEAT


def find(what: str, name: str, names: Dict[str, Any]) -> Any:
    """Return names[name]. Raises ValueError with the nearest name."""
    if name in names:
        return names[name]
    near = difflib.get_close_matches(name, names, 1) or difflib.get_close_matches(name.upper(), names, 1)
    raise ValueError(f"no {what} '{name}': " + (f"did you mean '{near[0]}'?" if near else f"those are {', '.join(names)}"))


def _crc_table() -> List[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state = state >> 8 ^ _CRC[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF


class Packet:
    """A packet: the fields of hls/card/packet.def as attributes, and payload. len, magic and CRCs are computed by frame()."""

    def __init__(self, payload: bytes = b"", **fields: int) -> None:
        self.payload = payload
        for name in _NAMES:
            setattr(self, name, fields.pop(name, 0))
        for name in fields:
            find("field of a packet", name, dict.fromkeys(_NAMES))

    def frame(self) -> bytes:
        """Return the bytes of the datagram."""
        self.magic, self.len = layout.PACKET_CONST["MAGIC_VALUE"], BEAT + len(self.payload)
        self.payload_crc, self.header_crc = crc32c(self.payload) if self.payload else 0, 0
        self.header_crc = crc32c(self._header()[:-4])
        return self._header() + self.payload

    def _header(self) -> bytes:
        return _HEADER.pack(*(getattr(self, name) for name in _NAMES))

    @classmethod
    def parse(cls, frame: bytes) -> "Packet":
        """Return the packet of a datagram. Raises ValueError for a damaged one."""
        if len(frame) < BEAT or len(frame) % BEAT:
            raise ValueError(f"a frame of {len(frame)} bytes: must be beats of {BEAT}")
        packet = cls(frame[BEAT:], **dict(zip(_NAMES, _HEADER.unpack(frame[:BEAT]))))
        if packet.frame() != frame:
            raise ValueError("a damaged frame: its magic, length or CRCs are wrong")
        return packet

    @property
    def op_name(self) -> str:
        return next((name for name, value in layout.OPS.items() if value == self.op), str(self.op))

    @property
    def ranks_in(self) -> List[int]:
        """Of a PONG: the ranks whose contributions the card has added to the chunk being filled."""
        bitmap = self.count << 32 | self.tag
        return [rank for rank in range(layout.PACKET_CONST["MAX_RANKS"]) if bitmap >> rank & 1]

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in _NAMES if name not in ("magic", "len", "op", "payload_crc", "header_crc"))
        return f"Packet({self.op_name}, " + ", ".join(f"{n}={v:#x}" if n in ("key", "tag") else f"{n}={v}" for n, v in shown if v) + ")"


# ---- formats of cards

def card_format(name: str) -> Tuple[int, int]:
    """Return the byte in packets (hls/core/beat.h) and the bits of a code."""
    found = re.fullmatch(r"e([1-5])m(\d{1,2})(fn|f|)", {"fp16": "e5m10"}.get(name, name))
    e, m, kind = (int(found[1]), int(found[2]), found[3]) if found else (0, 0, "")
    width, top = 1 + e + m, kind != ""
    if not found or width not in (4, 8) and (width, e, top) != (16, 5, False) or top and (e == 5 or (e == 4) != (kind == "fn")):
        raise ValueError(f"a card adds no '{name}': need e1m2, e2m1, e3m0, e1m6, e2m5, e3m4, e4m3, e5m2 or fp16, "
                         "the same with an f (e1m2f to e3m4f), or e4m3fn")
    return top << 7 | e << 4 | m, width


def pack(codes: np.ndarray, width: int) -> bytes:
    if width == 4:
        return (codes[0::2] | codes[1::2] << 4).astype(np.uint8).tobytes()
    return codes.astype("<u2" if width == 16 else np.uint8).tobytes()


def unpack(data: Any, width: int) -> np.ndarray:
    if width == 16:
        return np.frombuffer(data, "<u2").astype(np.uint16)
    whole = np.frombuffer(data, np.uint8)
    return whole.copy() if width == 8 else np.stack([whole & 15, whole >> 4], 1).ravel()
