"""card.py : drives a card over the network, for notebooks: its registers, and the frames of ranks that this process plays.

    with narrowcast.card.Card("127.0.0.1:4711") as card:              # of `narrowcast sim --listen 127.0.0.1:4711`
        with card.job(ranks=2, format="e4m3") as job:
            total = job.sum([x0, x1])                                 # numpy arrays of floats, or of codes
        print(total.values, card.counters()["IN_ADDED"])

Needs numpy. Floats are cast by libnarrowcast.so.0; codes need no library. Rules for ranks: tests/conformance/FORMAT.md, chapters 14
and 17."""

from __future__ import annotations

import math
import secrets
import select
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import cast
from ._link import READ, CardError, Lease, Stream
from ._packet import BEAT, Packet, card_format, crc32c, find, layout, pack, unpack

Operation = Tuple[str, Optional[int]]  # a register, and the value to write; None: read it


@dataclass
class Sum:
    """A sum: codes [n] of `format`, one per element, and the flags of hls/card/packet.def that an element had."""

    codes: np.ndarray
    format: str
    status: FrozenSet[str]

    @property
    def values(self) -> np.ndarray:
        """[n] fp32"""
        width = card_format(self.format)[1]
        padded = np.append(self.codes, np.zeros(self.codes.size * width % 8 // 4, self.codes.dtype))
        packed = np.frombuffer(pack(padded, width), np.uint8).copy()
        return cast.decode(cast.Codes(packed, (self.codes.size,), 1.0, {"format": self.format}))


# ---- control

class Card:
    """A card and control of it. Jobs end with this object.

    address   "HOST:PORT": a card that a process such as `narrowcast sim --listen HOST:PORT` owns
              "eth://HOST:PORT": a card with a control port of its own (`narrowcast sim --control PORT`), by a lease
    timeout   seconds that the card has for an answer

    Raises CardError."""

    def __init__(self, address: str, timeout: float = 3.0) -> None:
        scheme, _, place = address.rpartition("://")
        host, _, port = place.rpartition(":")
        if scheme not in ("", "udp", "eth") or not host or not port.isascii() or not port.isdigit() \
                or not 0 < int(port) < 65536:
            raise ValueError(f"a card at '{address}': must be HOST:PORT or eth://HOST:PORT, as 127.0.0.1:4711")
        if not 0 < timeout < math.inf:
            raise ValueError(f"timeout={timeout}: need seconds above 0")
        self.name = address if scheme == "eth" else place
        self._jobs: List[Job] = []
        self._link: Union[Stream, Lease, None] = (Lease if scheme == "eth" else Stream)(self.name, (host, int(port)), timeout)
        try:
            read = self.batch([(name, None) for name in ("ID", "VERSION", "CAP_SLOTS", "CAP_JOBS",
                                                         "CAP_BEATS", "CAP_FORMATS")])
            if read[:2] != [layout.REGISTER_CONST["ID_VALUE"], layout.REGISTER_CONST["VERSION_VALUE"]]:
                raise CardError(f"card {self.name} has id {read[0]:#x}, version {read[1]}: "
                                "use this package with a card of its version")
        except BaseException:
            self.close()
            raise
        self.slots, self.jobs, self.most_ranks, self.beats = read[2], read[3] & 0xFFFF, read[3] >> 16, read[4]
        self._formats = read[5]

    @property
    def link(self) -> Union[Stream, Lease]:
        if self._link is None:
            raise CardError(f"card {self.name} is closed: open a new Card")
        return self._link

    def _operations(self, operations: Sequence[Operation]) -> List[int]:
        """Do operations in turn. Return those done: values read, 0 for writes; fewer if the card refuses one."""
        words = []
        for name, value in operations:
            at, access, _ = find("register", name, layout.REGISTERS)
            if access == ("WO" if value is None else "RO"):
                raise ValueError(f"register {name} is {access}: it cannot be {'read' if value is None else 'written'}")
            if not 0 <= (value or 0) < 1 << 32:
                raise ValueError(f"register {name} takes 0 to {0xFFFFFFFF}, not {value}")
            words += [at | READ, 0] if value is None else [at, value]
        if len(operations) > self.link.most:
            raise ValueError(f"{len(operations)} operations: at most {self.link.most} at once")
        return self.link.operate(words, again=not self._jobs)

    def _batches(self, groups: Sequence[Sequence[Operation]], first: Sequence[Operation] = ()) -> List[int]:
        """Do groups of operations, as many at once as the link takes, each time after `first`. Return the values of the groups."""
        values: List[int] = []
        now: List[Operation] = []
        for i, group in enumerate(groups):
            now += group
            if i + 1 == len(groups) or len(first) + len(now) + len(groups[i + 1]) > self.link.most:
                values += self.batch([*first, *now])[len(first):]
                now = []
        return values

    def batch(self, operations: Sequence[Operation]) -> List[int]:
        """Read (name, None) and write (name, value) registers in turn, without another program's operations in between.

        Return a value for each, 0 for writes. Raises CardError if the card refuses one, ValueError for a wrong name."""
        done = self._operations(operations)
        if len(done) < len(operations):
            raise CardError(f"card {self.name} refuses register {operations[len(done)][0]} to this program: on a shared card it "
                            "belongs to another program's job, or to none")
        return done

    def read(self, name: str) -> int:
        """Return a register of hls/card/regs.def by name."""
        return self.batch([(name, None)])[0]

    def write(self, name: str, value: int) -> None:
        self.batch([(name, value)])

    @property
    def registers(self) -> Dict[str, str]:
        """What each register is, by name."""
        return {name: f"{access}  {what}" for name, (_, access, what) in layout.REGISTERS.items()}

    def counters(self) -> Dict[str, int]:
        """Return all counters by name, latched together."""
        bits = layout.REGISTER_BITS
        self.write("CTRL", 1 << bits["CTRL", "ENABLE"] | 1 << bits["CTRL", "LATCH"])
        got = self._batches([[("COUNTER_INDEX", i), ("COUNTER_LO", None), ("COUNTER_HI", None)] for i, _ in layout.COUNTERS.values()])
        return {name: got[3 * i + 1] | got[3 * i + 2] << 32 for i, name in enumerate(layout.COUNTERS)}

    def clocks(self) -> int:
        """Return the clocks in which a Verilated card was busy; 0 of one in C."""
        return self.link.clocks()

    def job(self, ranks: int, format: str = "e4m3", out_format: Optional[str] = None, slots: int = 16,
            beats: Optional[int] = None, timeout: float = 5.0) -> "Job":
        """Start a job whose ranks are sockets of this process.

        ranks        1 to 64; of fp16 1 to 32
        format       of contributions: "e4m3", "e5m2", "e3m0", "e2m5f", "fp16", ... (error messages list all)
        out_format   of sums; None: as format
        slots        packets in flight, at most half of the card's free slots
        beats        most beats of 64 bytes in a packet; None: as many as fit an MTU of 1500 bytes
        timeout      seconds without progress, after which sum() gives up"""
        return Job(self, ranks, format, out_format or format, slots, beats, timeout)

    def close(self) -> None:
        """Stop all jobs and end control."""
        for job in list(self._jobs):
            job.close()
        if self._link is not None:
            self._link.close()
        self._link = None

    def __enter__(self) -> "Card":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


# ---- jobs

class Job:
    """A job on a card, as Card.job() starts it. Ranks have a UDP socket each.

    sum() does all. For single frames: cut() makes packets, send() sends one, receive() waits for an answer, ping() asks for a slot."""

    def __init__(self, card: Card, ranks: int, format: str, out_format: str, slots: int, beats: Optional[int], timeout: float) -> None:
        self.card, self.ranks, self.format, self.out_format, self.timeout = card, ranks, format, out_format, timeout
        self.index, self.key, self.slot_base, self.slots = -1, secrets.randbits(64), 0, slots
        self.ignored = 0  # datagrams that were damaged, late, or of another job
        self._next, self._nonce, self._sockets = 0, secrets.randbits(64), []  # type: int, int, List[socket.socket]
        (self._in, self._width), (self._out, self._out_width) = card_format(format), card_format(out_format)
        self._ratio = max(self._width, self._out_width) // min(self._width, self._out_width)
        most = min(card.beats, layout.PACKET_CONST["USUAL_BEATS"]) if beats is None else beats
        self.beats = most // self._ratio * self._ratio
        if not 1 <= ranks <= card.most_ranks:
            raise ValueError(f"ranks={ranks}: card {card.name} takes 1 to {card.most_ranks} in a job")
        if not 1 <= slots <= card.slots:
            raise ValueError(f"slots={slots}: card {card.name} takes 1 to {card.slots}")
        if not self._ratio <= most <= card.beats:
            raise ValueError(f"beats={most}: card {card.name} takes {self._ratio} to {card.beats} with these formats")
        if (self._width // 4 | self._out_width // 4) & ~card._formats:
            raise CardError(f"card {card.name} adds no codes of {self._width} bits to sums of {self._out_width}: take another format")
        if card._formats >> layout.REGISTER_BITS["CAP_FORMATS", "NARROW"] & 1 and format not in ("e1m6f", "e2m5f"):
            raise CardError(f"card {card.name} was built with Narrow=1: take format e1m6f or e2m5f")
        self._register()
        card._jobs.append(self)
        try:
            self._open_ranks()
        except (OSError, CardError):
            self.close()
            raise

    def _register(self) -> None:
        """Start the job at the first free index and slots."""
        bits, card = layout.REGISTER_BITS, self.card
        group = [("JOB_GROUP_IP", 0), ("JOB_GROUP_PORT", 0)] if card._formats >> bits["CAP_FORMATS", "GROUP"] & 1 else []
        for self.slot_base in range(0, card.slots - self.slots + 1, self.slots):
            for self.index in range(card.jobs):
                words = [("JOB_INDEX", self.index), ("JOB_RANKS", self.ranks), ("JOB_KEY_LO", self.key & 0xFFFFFFFF),
                         ("JOB_KEY_HI", self.key >> 32), ("JOB_SLOT_BASE", self.slot_base), ("JOB_SLOTS", self.slots), ("JOB_FORMATS", self._in | self._out << 8),
                         *group, ("JOB_COMMIT", 1 << bits["JOB_COMMIT", "START"]), ("STATUS", None)]
                done = card._operations(words)
                if len(done) == len(words) and not done[-1] >> bits["STATUS", "REFUSED"] & 1:
                    return
        raise CardError(f"card {card.name} has no free job, or a job would take more than half of its free slots: "
                        f"close another job, or ask for fewer than slots={self.slots}")

    def _open_ranks(self) -> None:
        host, port = self.card.link.frames_at()
        if not port:
            raise CardError(f"card {self.card.name} takes no frames from a network: start it with `narrowcast sim --listen HOST:PORT`")
        groups: List[List[Operation]] = []
        for rank in range(self.ranks):
            rank_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sockets.append(rank_socket)
            rank_socket.connect((host, port))
            own, own_port = rank_socket.getsockname()
            groups.append([("RANK_INDEX", rank), ("RANK_IP", int.from_bytes(socket.inet_aton(own), "big")), ("RANK_PORT", own_port),
                           ("RANK_COMMIT", 1)])
        self.card._batches(groups, [("JOB_INDEX", self.index)])

    def _codes(self, contribution: Any) -> np.ndarray:
        x = np.asarray(contribution)
        if x.dtype.kind == "f":
            return unpack(cast.encode(x.ravel(), format=self.format).data, self._width)[:x.size]
        if x.dtype.kind != "u":
            raise TypeError(f"a contribution of {x.dtype}: must be floats, or codes as unsigned integers: "
                            "use .astype(np.float32) for values, .astype(np.uint8) for codes")
        if x.size and int(x.max()) >= 1 << self._width:
            raise ValueError(f"a contribution has codes of more than {self._width} bits: {self.format} has codes below {1 << self._width}")
        return x.ravel().astype(np.uint16 if self._width == 16 else np.uint8)

    def cut(self, contributions: Sequence[Any], out_shift: int = 0, saturate: bool = True) -> List[List[Packet]]:
        """Return each rank's packets, [ranks][n], to be sent in order.

        contributions   [ranks] arrays of equal size: floats, or codes as unsigned integers, one per element
        out_shift       0 to 6: the sum is divided by 2^out_shift, then rounded
        saturate        on overflow the largest value, else inf"""
        if not 0 <= out_shift <= layout.PACKET_CONST["MAX_SHIFT"]:
            raise ValueError(f"out_shift={out_shift}: must be 0 to {layout.PACKET_CONST['MAX_SHIFT']}")
        codes = [self._codes(x) for x in contributions]
        if len(codes) != self.ranks or len({c.size for c in codes}) > 1:
            raise ValueError(f"contributions of sizes {[c.size for c in codes]}: need {self.ranks} of equal size, one for each rank")
        wide = max(self._width, self._out_width)
        unit = self._ratio * 8 * BEAT // wide  # elements of the fewest beats
        most = self.beats // self._ratio * unit
        packets: List[List[Packet]] = [[] for _ in codes]
        for at in range(0, codes[0].size, most):
            count = min(most, codes[0].size - at)
            units = -(-count // unit)
            tag = crc32c(struct.pack("<QQI", self._nonce, self._next, count))
            for rank, own in enumerate(codes):
                part = np.zeros(units * unit, own.dtype)
                part[:count] = own[at:at + count]
                packets[rank].append(Packet(
                    pack(part, self._width), rank=rank, key=self.key, job=self.index, slot=self.slot_base + self._next % self.slots,
                    chunk=self._next // self.slots & 0xFFFFFFFF, op=layout.OPS["SUM"], beats=units * self._ratio, in_fmt=self._in,
                    out_fmt=self._out, out_shift=out_shift, flags=layout.PACKET_CONST["FLAG_SATURATE"] * saturate, tag=tag, count=count))
            self._next += 1
        return packets

    def send(self, packet: Union[Packet, bytes], rank: Optional[int] = None) -> None:
        """Send a packet from the socket of its rank, or any bytes from that of `rank`."""
        if not self._sockets:
            raise CardError("the job is closed: open a new one with card.job()")
        frame = packet if isinstance(packet, bytes) else packet.frame()
        number = rank if rank is not None else packet.rank  # type: ignore[union-attr]
        try:
            self._sockets[number].send(frame)
        except ConnectionRefusedError:
            raise CardError(f"card {self.card.name} no longer takes frames: its process has ended; start it again") from None

    def receive(self, rank: int, timeout: Optional[float] = None) -> Packet:
        """Return the next packet of the job to a rank: a RESULT or PONG. Raises CardError for a NAK, and after timeout seconds."""
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            packet = self._poll([rank], max(until - time.monotonic(), 0))
            if packet is not None:
                return packet
            if time.monotonic() >= until:
                raise CardError(f"rank {rank} got no answer of card {self.card.name}: send() again what was lost, "
                                "or look at card.counters() for DROP_*")

    def _poll(self, ranks: Sequence[int], wait: float) -> Optional[Packet]:
        """Return a packet for one of the ranks, None if none comes in time or it is none of this job's."""
        if not self._sockets:
            raise CardError("the job is closed: open a new one with card.job()")
        readable, _, _ = select.select([self._sockets[rank] for rank in ranks], [], [], wait)
        if not readable:
            return None
        rank = self._sockets.index(readable[0])
        try:
            packet = Packet.parse(readable[0].recv(1 << 16))
        except ConnectionRefusedError:
            raise CardError(f"card {self.card.name} no longer takes frames: its process has ended; start it again") from None
        except ValueError:
            packet = Packet()
        ours = (packet.key, packet.job, packet.rank) == (self.key, self.index, rank)
        if not ours or not self.slot_base <= packet.slot < self.slot_base + self.slots:
            self.ignored += 1
            return None
        if packet.op == layout.OPS["NAK"]:
            name, what = layout.NAKS.get(packet.status, (str(packet.status), "unknown"))
            raise CardError(f"card {self.card.name} refuses a packet of rank {rank}: {name}, {what}")
        return packet

    def ping(self, rank: int, slot: int, echo: int = 0) -> None:
        """Ask for the state of a slot; the answer to receive() is a PONG: status, chunk, ranks_in, and echo again."""
        self.send(Packet(rank=rank, key=self.key, job=self.index, slot=slot, op=layout.OPS["PING"], echo=echo))

    def should_repeat(self, packet: Packet, pong: Packet) -> bool:
        """Return whether a packet without a result must be sent again, by the PONG of its slot. Raises CardError if the card lost it."""
        state, is_in = layout.SLOT_STATES.get(pong.status), packet.rank in pong.ranks_in
        ahead = (pong.chunk - packet.chunk + 1 & 0xFFFFFFFF) - 1
        if state == "FILLING" and ahead == 0:
            return not is_in
        if state == "KEPT" and ahead == 0 or state == "FILLING" and ahead == 1 and not is_in:
            return True
        if ahead == -1 and state == ("KEPT" if packet.chunk else "EMPTY"):
            return True
        raise CardError(f"slot {packet.slot} of card {self.card.name} is {state} at chunk {pong.chunk}, not at {packet.chunk}: "
                        "start a new job; packets must be sent in the order of cut()")

    def exchange(self, packets: Sequence[Sequence[Packet]]) -> List[List[Packet]]:
        """Send all ranks' packets, repeat lost ones, and return each rank's results, [ranks][n].

        Raises CardError if a result does not come within the job's timeout."""
        results: List[List[Packet]] = [[] for _ in packets]
        for first in range(0, len(packets[0]), self.slots):
            waiting = {(p.rank, p.slot, p.chunk): p for own in packets for p in own[first:first + self.slots]}
            for packet in waiting.values():
                self.send(packet)
            got = self._collect(waiting)
            for rank, own in enumerate(packets):
                results[rank] += [got[rank, p.slot, p.chunk] for p in own[first:first + self.slots]]
        return results

    def _collect(self, waiting: Dict[Tuple[int, int, int], Packet]) -> Dict[Tuple[int, int, int], Packet]:
        got: Dict[Tuple[int, int, int], Packet] = {}
        progress, missing = time.monotonic(), ""
        while waiting:
            answer = self._poll(sorted({rank for rank, _, _ in waiting}), 0.05)
            if answer is None:
                if time.monotonic() - progress > self.timeout:
                    rank, slot, chunk = next(iter(waiting))
                    raise CardError(f"no result of chunk {chunk} in slot {slot} for rank {rank} in {self.timeout} s{missing}: "
                                    "look at card.counters() for DROP_*, or raise timeout=")
                for rank, slot, chunk in waiting:
                    self.ping(rank, slot, echo=chunk + 1)
            elif answer.op == layout.OPS["PONG"]:
                packet = waiting.get((answer.rank, answer.slot, answer.echo - 1))
                if packet is not None:
                    missing = f" (the card has those of ranks {answer.ranks_in})"
                    if self.should_repeat(packet, answer):
                        self.send(packet)
            else:
                where = answer.rank, answer.slot, answer.chunk
                if where in waiting and (answer.tag, answer.count) == (waiting[where].tag, waiting[where].count):
                    got[where] = answer
                    del waiting[where]
                    progress = time.monotonic()
                else:
                    self.ignored += 1
        return got

    def sum(self, contributions: Sequence[Any], out_shift: int = 0, saturate: bool = True) -> Sum:
        """Return the sum that the card makes of all ranks' contributions: exact, then rounded once. Arguments: see cut().

        Raises CardError, which ends the job, also if two ranks get different results or flags."""
        packets = self.cut(contributions, out_shift, saturate)
        try:
            results = self.exchange(packets)
        except BaseException:
            self.close()  # slots are half full
            raise
        codes = [[unpack(p.payload, self._out_width)[:p.count] for p in own] for own in results]
        whole = [np.concatenate(own) if own else np.zeros(0, np.uint8) for own in codes]
        states = [[p.status for p in own] for own in results]
        if any((own != whole[0]).any() for own in whole) or any(own != states[0] for own in states):
            self.close()
            raise CardError(f"ranks got different sums of card {self.card.name}: this card is broken")
        bits = np.bitwise_or.reduce(states[0] or [0])
        return Sum(whole[0], self.out_format, frozenset(name for name, bit in layout.STATUS_BITS.items() if bits >> bit & 1))

    def close(self) -> None:
        """Stop the job and close its sockets."""
        for rank_socket in self._sockets:
            rank_socket.close()
        self._sockets = []
        if self in self.card._jobs:
            try:
                self.card._operations([("JOB_INDEX", self.index), ("JOB_COMMIT", 0)])
            except CardError:
                pass  # the job has ended with its connection
            self.card._jobs.remove(self)

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
