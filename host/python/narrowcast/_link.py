"""_link.py : does operations on a card's registers, for card.py: over TCP (hls/card/simlink.h) or by leases (hls/card/lease.def).

Both links have operate(), frames_at(), close(), and `most`, the operations of one request."""

from __future__ import annotations

import secrets
import socket
import struct
import threading
import time
import weakref
from typing import List, Optional, Sequence, Tuple

from ._packet import crc32c, layout

_MESSAGE = struct.Struct("<4I3Q")  # struct simlink: kind, status, bytes, zero, a, b, c
READ = 1 << 31  # of an operation's offset
assert _MESSAGE.size == layout.LINK_CONST["BYTES"]


class CardError(RuntimeError):
    """A card that cannot be reached, refuses, or does not answer. The text has the remedy."""


class Stream:
    """Control of a card that a process owns. The card closes a connection that has no job and was idle for 10 s."""

    most = layout.LINK_CONST["BATCH_MAX"]

    def __init__(self, name: str, place: Tuple[str, int], timeout: float) -> None:
        self.name, self.place, self.timeout = name, place, timeout
        self._connect()

    def _connect(self) -> None:
        self._socket: Optional[socket.socket] = None
        try:
            until = time.monotonic() + self.timeout
            self._socket = socket.create_connection(self.place, self.timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            kind, status, _, _, version, _, _ = _MESSAGE.unpack(self._take(_MESSAGE.size, until))
        except OSError as e:
            self.close()
            raise CardError(f"no card answers at {self.name} ({e.strerror or e}): start one with "
                            f"`narrowcast sim --listen {self.place[0]}:{self.place[1]}`") from None
        self._check((kind, version) == (layout.LINK_KINDS["HELLO"], layout.LINK_CONST["VERSION"]))
        if status == layout.LINK_CONST["FULL"]:
            self.close()
            raise CardError(f"card {self.name} has as many control connections as it takes: close another Card or program")

    def _check(self, right: bool) -> None:
        """Refuse an answer that a card of this version does not give."""
        if not right:
            self.close()
            raise CardError(f"no card of this version answers at {self.name}: use the narrowcast sim of this package's version")

    def _take(self, n: int, until: float) -> bytes:
        """Return the next n bytes, which must be here at time.monotonic() `until`."""
        data = bytearray()
        while len(data) < n:
            if self._socket is None:
                raise ConnectionResetError(0, "closed")
            left = until - time.monotonic()
            if left <= 0:
                raise socket.timeout("timed out")
            self._socket.settimeout(left)
            part = self._socket.recv(n - len(data))
            if not part:
                raise ConnectionResetError(0, "closed")
            data += part
        return bytes(data)

    def _ask(self, kind: str, body: bytes = b"", again: bool = False) -> Tuple[Tuple[int, int, int], bytes]:
        """Return a to c and the body of the answer. again: connect again if the card has closed the connection."""
        try:
            if self._socket is None:
                raise ConnectionResetError(0, "closed")
            until = time.monotonic() + self.timeout
            self._socket.settimeout(self.timeout)
            self._socket.sendall(_MESSAGE.pack(layout.LINK_KINDS[kind], 0, len(body), 0, 0, 0, 0) + body)
            answer, _, n, _, a, b, c = _MESSAGE.unpack(self._take(_MESSAGE.size, until))
            self._check(answer == layout.LINK_KINDS["DONE"] and n <= 4 * self.most)
            return (a, b, c), self._take(n, until)
        except socket.timeout:
            self.close()  # its answer would be taken for the next one
            raise CardError(f"card {self.name} does not answer within {self.timeout} s: look at its process, or raise timeout=") from None
        except OSError as e:
            self.close()
            if not again:
                raise CardError(f"card {self.name} has closed its control connection ({e.strerror}), and its jobs have ended: "
                                "open a new Card") from None
        self._connect()
        return self._ask(kind, body)

    def operate(self, words: Sequence[int], again: bool) -> List[int]:
        """Do operations [offset, value, ...]. Return a value for each that is done: all before the first that is refused."""
        (done, _, _), body = self._ask("BATCH", struct.pack(f"<{len(words)}I", *words), again)
        self._check(len(body) == 4 * done <= 2 * len(words))
        return list(struct.unpack(f"<{done}I", body))

    def frames_at(self) -> Tuple[str, int]:
        """Return where the card takes frames; port 0: nowhere."""
        (ip, port, _), _ = self._ask("ADDRESS")
        self._check(ip < 1 << 32 and port < 1 << 16)
        return socket.inet_ntoa(struct.pack(">I", ip)) if ip else self._socket.getpeername()[0], port

    def clocks(self) -> int:
        return self._ask("TIME", again=True)[0][0]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def _renew(of: "weakref.ref[Lease]", end: threading.Event) -> None:
    """Renew a lease once a second until it is closed or dropped."""
    while not end.wait(1):
        lease = of()
        if lease is None:
            return
        try:
            lease._request("KEEP")
        except CardError:
            pass  # the next operation says so
        del lease


class Lease:
    """Control of a card over its own network port. A thread renews the lease once a second."""

    most = layout.LEASE["OPERATIONS"]

    def __init__(self, name: str, place: Tuple[str, int], timeout: float) -> None:
        self.name, self.place, self.timeout = name, place, timeout
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._lock, self._end = threading.Lock(), threading.Event()
        try:
            self._socket.connect(place)
            self._open()
        except OSError as e:
            self._socket.close()
            raise self._unreached(e) from None
        except CardError:
            self._socket.close()
            raise
        renewal = weakref.ref(self), self._end
        threading.Thread(target=_renew, args=renewal, daemon=True).start()

    def _unreached(self, e: OSError) -> CardError:
        return CardError(f"cannot reach card {self.name}: {e.strerror or e}")

    def _open(self) -> None:
        self._secret, self._sequence = secrets.randbits(64), secrets.randbits(32)
        self._request("OPEN")

    def _request(self, kind: str, words: Sequence[int] = ()) -> Tuple[int, List[int]]:
        """Return the status, and the values of operations done. A lost request is sent again."""
        with self._lock:
            number = layout.LEASE_KINDS[kind]
            if kind == "DO":
                self._sequence = self._sequence + 1 & 0xFFFFFFFF
            head = (layout.LEASE["MAGIC"] << 8 | layout.LEASE["VERSION"], number | len(words) // 2 << 16, self._sequence,
                    self._secret & 0xFFFFFFFF, self._secret >> 32)
            data = struct.pack(f"<{5 + len(words)}I", *head, *words)
            request, until = data + struct.pack("<I", crc32c(data)), time.monotonic() + self.timeout
            while time.monotonic() < until:
                try:
                    self._socket.settimeout(min(0.25, self.timeout))
                    self._socket.send(request)
                    while True:
                        answer = self._socket.recv(4 * layout.LEASE["WORDS"])
                        got = struct.unpack(f"<{len(answer) // 4}I", answer[:len(answer) // 4 * 4])
                        if len(got) < 6 or got[-1] != crc32c(answer[:-4]) or got[1] & 255 != number or got[2:5] != head[2:]:
                            continue  # of an earlier request
                        return self._judge(got[1] >> 8 & 255), list(got[6:-1:2])[:got[1] >> 24]
                except socket.timeout:
                    continue
                except ConnectionRefusedError:
                    break
                except OSError as e:
                    raise self._unreached(e) from None
        raise CardError(f"no card answers at {self.name}: start one with `narrowcast sim --listen {self.place[0]}:4711 --control "
                        f"{self.place[1]}`")

    def _judge(self, status: int) -> int:
        """Return the status if it is DONE or UNKNOWN."""
        if status == layout.LEASE_STATUS["FULL"]:
            raise CardError(f"card {self.name} has no free lease: close another Card or program")
        if status == layout.LEASE_STATUS["SEQUENCE"]:
            raise CardError(f"card {self.name} missed a request of this lease: open a new Card")
        if status not in (layout.LEASE_STATUS["DONE"], layout.LEASE_STATUS["UNKNOWN"]):
            raise CardError(f"card {self.name} refuses the request (status {status}): use this package with a card of its version")
        return status

    def operate(self, words: Sequence[int], again: bool) -> List[int]:
        """As Stream's; again: take a new lease if this one has ended."""
        status, values = self._request("DO", words)
        if status != layout.LEASE_STATUS["DONE"]:
            if not again:
                silence = layout.LEASE["TICKS"] * layout.LEASE["TICK_MS"] / 1000
                raise CardError(f"the lease of card {self.name} has ended, as after {silence:g} s of silence, with its jobs: "
                                "open a new Card")
            self._open()
            return self.operate(words, False)
        return values

    def frames_at(self) -> Tuple[str, int]:
        """Return where the card takes frames; port 0: nowhere."""
        return self._socket.getpeername()[0], self.operate([layout.SHELL_REGISTERS["PORT"] | READ, 0], False)[0]

    def clocks(self) -> int:
        raise CardError(f"card {self.name} is controlled by leases, which do not tell clocks: open the Card at HOST:PORT")

    def close(self) -> None:
        self._end.set()
        try:
            self._request("CLOSE")
        except CardError:
            pass  # it has ended
        self._socket.close()
