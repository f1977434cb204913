"""narrowcast_card.py : chapters 15 and 16 of FORMAT.md: a card's checks, slots, registers, streams and leases."""
import struct
from dataclasses import replace

import narrowcast_format as nf
import narrowcast_packets as pk
import narrowcast_sums as ns
from narrowcast_packets import M32, MAX, PING, SUM, Packet, crc

COUNTERS = ("IN_ADDED IN_RESENT IN_PING "
            "DROP_LENGTH DROP_MAGIC DROP_HEADER_CRC DROP_PAYLOAD_CRC DROP_ROOM "
            "DROP_JOB DROP_KEY DROP_RANK DROP_SOURCE "
            "DROP_SLOT DROP_OP DROP_FORMAT DROP_DESC DROP_DUPLICATE DROP_STALE "
            "DROP_TEST_IN DROP_DISABLED "
            "OUT_RESULT OUT_NAK OUT_PONG LOST_NAK LOST_TEST_OUT").split()


class Slot:
    """R103: DONE(c) or FILLING(c), a bitmap, and perhaps a kept result."""

    def __init__(self):
        self.filling, self.c = False, M32               # DONE(2^32 - 1)
        self.bitmap = 0
        self.kept = None                                # the RESULT, without rank and key
        self.first = None                               # the first contribution: the description
        self.values = []                                # a list of codes (or int8s) for each rank that is in

    def is_in(self, rank):
        return bool(self.bitmap >> rank & 1)

    def verdict(self, p):
        """R104, R106 to R109: what becomes of a contribution."""
        if self.filling:
            if p.chunk == self.c:
                if self.is_in(p.rank):
                    return "DROP_DUPLICATE"
                return "IN_ADDED" if p.description() == self.first.description() else "DROP_DESC"
            if p.chunk == (self.c - 1) & M32 and self.kept and not self.is_in(p.rank):
                return "IN_RESENT"
            return "DROP_STALE"
        if p.chunk == (self.c + 1) & M32:
            return "IN_ADDED"
        if p.chunk == self.c and self.kept:
            return "IN_RESENT"
        return "DROP_STALE"

    def add(self, p):
        """R104."""
        if not self.filling:
            self.filling, self.c, self.bitmap = True, p.chunk, 0
            self.first, self.values = p, []
        self.bitmap |= 1 << p.rank
        self.values.append(values_of(p))

    def complete(self):
        """R105, R94, R95: the sums are rounded into the kept result."""
        p, status = self.first, 0
        if p.op == MAX:
            payload = bytes(max(column) % 256 for column in zip(*self.values))
        else:
            fmt, out = pk.card_format(p.in_fmt), pk.card_format(p.out_fmt)
            policy = "saturate" if p.flags & 1 else "inf"
            codes = []
            for column in zip(*self.values):
                code, bits = ns.sum_exact(fmt, out, column, p.out_shift, policy)
                codes.append(code)
                status |= bits
            payload = nf.pack(out.width, codes)
        self.kept = replace(p, op=pk.RESULT, rank=0, key=0, status=status, payload=payload)
        self.filling = False

    def pong(self, ping):
        """R97: chunk, status and bitmap."""
        if self.filling:
            status = pk.FILLING
        else:
            status = pk.KEPT if self.kept else pk.EMPTY
        return Packet(rank=ping.rank, key=ping.key, job=ping.job, slot=ping.slot, op=pk.PONG, echo=ping.echo,
                      chunk=self.c, status=status, tag=self.bitmap & M32, count=self.bitmap >> 32,
                      payload=bytes(len(ping.payload)))


def values_of(p):
    """R91, R92: codes, or int8 values."""
    if p.op == MAX:
        return [b - 256 if b > 127 else b for b in p.payload]
    width = pk.card_format(p.in_fmt).width
    return nf.unpack(width, p.payload, len(p.payload) * 8 // width)


class Job:
    """Chapter 15: a registered job."""

    def __init__(self, ranks, key, slot_base, slots, in_fmt=0, out_fmt=0, group=None, owner=None):
        self.ranks, self.key = ranks, key
        self.slot_base, self.slots = slot_base, slots
        self.in_fmt, self.out_fmt = in_fmt, out_fmt
        self.group, self.owner = group, owner

    def slot_range(self):
        return range(self.slot_base, self.slot_base + self.slots)


class Card:
    """A card; receive() takes frames, write() and read() its registers."""

    def __init__(self, slots=128, jobs=4, beats=32, ip=0x0A000001, port=4000, formats=7 + 256 * 46 + 65536):
        self.beats, self.ip, self.port = beats, ip, port
        self.formats = formats                          # CAP_FORMATS
        self.slots = [Slot() for _ in range(slots)]
        self.jobs = [None] * jobs
        self.addresses = [{} for _ in range(jobs)]      # of each job: {rank: (ip, port)}
        self.enabled = False
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.latched = dict(self.counters)
        self.seen = (0, 0, 0)
        self.refused = False                            # STATUS bit 1
        self.job_index = self.counter_index = 0
        self.staged = {}
        self.staged_rank = {}

    # ---- chapter 15

    def receive(self, source, frame):
        """R98: (name of the counter, [(address, frame), ...])."""
        counter, out = self._judge(source, frame)
        self.counters[counter] += 1
        sent = []
        for address, p in out:
            self.counters[{pk.RESULT: "OUT_RESULT", pk.NAK: "OUT_NAK", pk.PONG: "OUT_PONG"}[p.op]] += 1
            sent.append((address, p.frame()))
        return counter, sent

    def _judge(self, source, frame):
        if not self.enabled:                                                    # R99
            return "DROP_DISABLED", []
        error = pk.frame_error(frame, self.beats)
        if error:
            return "DROP_" + error, []
        p = pk.parse(frame)
        job = self.jobs[p.job] if p.job < len(self.jobs) else None              # R100
        if job is None:
            return "DROP_JOB", []
        if p.key != job.key:
            return "DROP_KEY", []
        if p.rank >= job.ranks:
            return "DROP_RANK", []
        if source != self.addresses[p.job].get(p.rank):
            self.seen = (2**31 + 65536 * p.job + p.rank, source[0], source[1])  # R118
            return "DROP_SOURCE", []
        if p.slot not in job.slot_range():                                      # R101
            return "DROP_SLOT", self._nak(source, p, pk.BAD_SLOT)
        slot = self.slots[p.slot]
        if p.op == PING:
            return "IN_PING", [(source, slot.pong(p))]                          # R110
        if p.op not in (SUM, MAX):
            return "DROP_OP", self._nak(source, p, pk.BAD_OP)
        if not self._is_contribution(job, p):
            return "DROP_FORMAT", self._nak(source, p, pk.BAD_FORMAT)
        return self._contribution(job, slot, source, p)

    def _nak(self, source, p, status):
        """R96."""
        return [(source, Packet(rank=p.rank, key=p.key, job=p.job, slot=p.slot, chunk=p.chunk, op=pk.NAK,
                                tag=p.tag, status=status))]

    def _is_contribution(self, job, p):
        """R102."""
        if p.flags & ~1 or p.zero0 or p.zero1 or p.status or p.echo or not 1 <= p.beats <= self.beats:
            return False
        if p.op == MAX:
            return (p.in_fmt, p.out_fmt, p.out_shift) == (0, 0, 0) and len(p.payload) == 64 * p.beats
        fmt, out = pk.card_format(p.in_fmt), pk.card_format(p.out_fmt)
        if fmt is None or out is None or not pk.ranks_fit(fmt, job.ranks) or p.out_shift > 6:
            return False
        if not all(self.formats >> {4: 0, 8: 1, 16: 2}[f.width] & 1 for f in (fmt, out)):       # R88
            return False
        if self.formats >> 17 & 1 and fmt.name not in ("e1m6f", "e2m5f"):
            return False
        if job.in_fmt not in (0, p.in_fmt) or job.out_fmt not in (0, p.out_fmt):
            return False
        sizes = pk.Beats(fmt.width, out.width)
        return sizes.permitted(p.beats) and len(p.payload) == 64 * sizes.sum_beats(p.beats)

    def _contribution(self, job, slot, source, p):
        """R104 to R109, R111."""
        verdict = slot.verdict(p)
        if verdict == "DROP_DESC":
            return verdict, self._nak(source, p, pk.BAD_DESC)
        if verdict == "IN_RESENT":
            return verdict, [(source, replace(slot.kept, rank=p.rank, key=job.key))]
        if verdict != "IN_ADDED":
            return verdict, []
        slot.add(p)
        if slot.bitmap != 2**job.ranks - 1:
            return verdict, []
        slot.complete()
        if job.group and p.op == SUM:                                           # R111
            return verdict, [(job.group, replace(slot.kept, rank=pk.GROUP_RANK, key=0))]
        return verdict, [(self.addresses[p.job][rank], replace(slot.kept, rank=rank, key=job.key))
                         for rank in range(job.ranks) if rank in self.addresses[p.job]]

    # ---- chapter 16: registers

    STAGED = {0x024: "ranks", 0x028: "key_lo", 0x02C: "key_hi", 0x030: "slot_base", 0x034: "slots",
              0x038: "formats", 0x080: "group_ip", 0x084: "group_port"}
    STAGED_RANK = {0x040: "index", 0x044: "ip", 0x048: "port"}
    READ_ONLY = (0x000, 0x004, 0x008, 0x00C, 0x010, 0x014, 0x01C, 0x054, 0x058, 0x060, 0x064, 0x068)
    WRITE_ONLY = (0x03C, 0x04C) + tuple(STAGED) + tuple(STAGED_RANK)

    def clear_staged(self):
        """R125."""
        self.staged, self.staged_rank, self.job_index, self.refused = {}, {}, M32, True

    def read(self, offset, host=None):
        """R113: the value, None if the operation is refused."""
        if offset in self.WRITE_ONLY:
            return 0
        counter = COUNTERS[self.counter_index] if self.counter_index < len(COUNTERS) else None
        latched = self.latched.get(counter, 0)
        seen_job = self.jobs[self.seen[0] >> 16 & 0x7FFF] if self.seen[0] else None
        if host is not None and offset in (0x060, 0x064, 0x068) and self.seen[0] and \
                (seen_job is None or seen_job.owner != host):                   # R119
            return None
        values = {0x000: 0x6E637231, 0x004: 1, 0x008: len(self.slots), 0x00C: len(self.jobs) + 65536 * 64,
                  0x010: self.beats, 0x014: self.formats, 0x018: int(self.enabled),
                  0x01C: 2 * self.refused, 0x020: self.job_index, 0x050: self.counter_index,
                  0x054: latched & M32, 0x058: latched >> 32,
                  0x060: self.seen[0], 0x064: self.seen[1], 0x068: self.seen[2]}
        return values.get(offset)

    def write(self, offset, value, host=None):
        """R113: whether the operation is not refused; host is None for the only host of a card (R119)."""
        if offset == 0x018:
            self.enabled = bool(value & 1) or (host is not None and self.enabled)
            if value & 2:
                self.latched = dict(self.counters)                              # R117
        elif offset == 0x020:
            self.job_index = value
        elif offset == 0x050:
            self.counter_index = value
        elif offset in self.STAGED:
            self.staged[self.STAGED[offset]] = value
        elif offset in self.STAGED_RANK:
            self.staged_rank[self.STAGED_RANK[offset]] = value
        elif offset == 0x03C:
            if self._is_foreign(host) or self._takes_too_much(value, host):     # R119: the operation is refused
                return False
            self.refused = not self._job_commit(value, host)
            self.staged = {}                                                    # R114
        elif offset == 0x04C:
            if self._is_foreign(host):                                          # R119
                return False
            self._rank_commit()
            self.staged_rank = {}                                               # R116
        else:
            return offset in self.READ_ONLY
        return True

    def _job_commit(self, value, host):
        """R114, R115, R119: whether the commit is not refused."""
        index = self.job_index
        if index >= len(self.jobs):
            return False
        running = self.jobs[index]
        if not value & 1:
            if running is None:
                return False
            self.jobs[index] = None
            return True
        get = self.staged.get
        ranks, base, slots = get("ranks", 0), get("slot_base", 0), get("slots", 0)
        if running or not 1 <= ranks <= 64 or slots == 0 or base + slots > len(self.slots):
            return False
        if self._taken_slots().intersection(range(base, base + slots)):
            return False
        group_ip, formats = get("group_ip", 0), get("formats", 0)
        group = (group_ip, get("group_port", 0)) if group_ip >> 28 == 0xE else None
        self.start(index, Job(ranks, get("key_lo", 0) | get("key_hi", 0) << 32, base, slots, formats & 255,
                              formats >> 8 & 255, group, host))
        return True

    def start(self, index, job):
        """R103, R114."""
        self.jobs[index] = job
        for s in job.slot_range():
            self.slots[s] = Slot()

    def _is_foreign(self, host):
        """R119: whether JOB_INDEX is a running job of another host."""
        job = self.jobs[self.job_index] if self.job_index < len(self.jobs) else None
        return host is not None and job is not None and job.owner != host

    def _taken_slots(self):
        return {s for job in self.jobs if job for s in job.slot_range()}

    def _takes_too_much(self, value, host):
        """R119: whether a start takes more than half of the free slots, and may not."""
        free = len(self.slots) - len(self._taken_slots())
        last_job = sum(job is None for job in self.jobs) <= 1
        too_much = 2 * self.staged.get("slots", 0) > free
        return host is not None and bool(value & 1) and too_much and not value & 2 and not last_job

    def _rank_commit(self):
        """R116."""
        get = self.staged_rank.get
        if self.job_index < len(self.jobs) and get("index", 0) < 64:
            self.addresses[self.job_index][get("index", 0)] = get("ip", 0), get("port", 0)

    def end_host(self, host):
        """R119: a stream or lease ended."""
        for index, job in enumerate(self.jobs):
            if job is not None and job.owner == host:
                self.jobs[index] = None


# ---- chapter 16: streams

MESSAGE = struct.Struct("<4I3Q")
HELLO, WRITE, READ, QUIT, DONE, BATCH, ADDRESS = 1, 2, 3, 6, 7, 8, 9


class Stream:
    """R120, R121: the card's side of a host's stream."""

    def __init__(self, card):
        self.card, self.open, self.received = card, True, b""

    def hello(self):
        return MESSAGE.pack(HELLO, 0, 0, 0, 3, 0, 0)

    def feed(self, data):
        """The card's answer to bytes of the host."""
        self.received += data
        answer = b""
        while self.open and len(self.received) >= MESSAGE.size:
            kind, _, size, _, a, b, _ = MESSAGE.unpack(self.received[:40])
            if kind not in (WRITE, READ, BATCH, ADDRESS) or (size and kind != BATCH) \
                    or size > 8 * 512 or size % 8 != 0:
                self.end()                              # QUIT, other kinds and lengths
                break
            if len(self.received) < 40 + size:
                break
            body, self.received = self.received[40:40 + size], self.received[40 + size:]
            answer += self._request(kind, a, b, body)
        return answer

    def end(self):
        self.open = False
        self.card.end_host(self)

    def _request(self, kind, a, b, body):
        if kind == ADDRESS:
            return MESSAGE.pack(DONE, 0, 0, 0, self.card.ip, self.card.port, 0)
        if kind == WRITE:
            done = self.card.write(a, b & M32, self)
            return MESSAGE.pack(DONE, int(not done), 0, 0, 0, 0, 0)
        if kind == READ:
            value = self.card.read(a, self)
            return MESSAGE.pack(DONE, int(value is None), 0, 0, 0, value or 0, 0)
        words = struct.unpack("<%dI" % (len(body) // 4), body)
        values = operate(words, lambda offset: self.card.read(offset, self),
                         lambda offset, value: self.card.write(offset, value, self))
        refused = len(values) < len(words) // 2
        return MESSAGE.pack(DONE, int(refused), 4 * len(values), 0, len(values), 0, 0) + \
            struct.pack("<%dI" % len(values), *values)


def operate(words, read, write):
    """R121, R125: the values of the operations done, up to the first that is refused."""
    values = []
    for offset, value in zip(words[0::2], words[1::2]):
        if offset >> 31:
            result = read(offset & 0x7FFFFFFF)
        else:
            result = 0 if write(offset, value) else None
        if result is None:
            break
        values.append(result)
    return values


# ---- chapter 16: leases

LEASE_MAGIC = 0x6E637401
OPEN, DO, KEEP, CLOSE = 1, 2, 3, 4
MOST_LEASES, MOST_OPERATIONS, TICKS = 7, 28, 20
MOST_WORDS = 64


class Lease:
    def __init__(self):
        self.sequence, self.last, self.answer, self.idle = 0, None, None, 0


class Leases:
    """R122 to R126: the card's control port."""

    def __init__(self, card):
        self.card, self.leases = card, {}
        self.dropped = self.silent = 0

    def receive(self, datagram):
        """R122: the answer, or None."""
        if len(datagram) < 24 or len(datagram) % 4 != 0:
            return self._drop()
        words = struct.unpack("<%dI" % (len(datagram) // 4), datagram)
        if words[0] >> 8 != LEASE_MAGIC >> 8 or words[-1] != crc(0, datagram[:-4]):
            return self._drop()
        kind, operations, secret = words[1] & 255, words[1] >> 16 & 255, words[3] | words[4] << 32
        if words[0] != LEASE_MAGIC:
            return self._answer(words, kind, 4) if len(words) <= MOST_WORDS else self._drop()
        body = words[5:-1]
        if words[1] >> 24 or not OPEN <= kind <= CLOSE or len(body) != 2 * operations \
                or operations > MOST_OPERATIONS or (kind != DO and operations):
            return self._drop()
        return self._request(words, kind, secret, body)

    def tick(self):
        """R126: 250 ms."""
        for secret, lease in list(self.leases.items()):
            lease.idle += 1
            if lease.idle == TICKS:
                self._end(secret)
                self.silent += 1

    def _drop(self):
        self.dropped += 1

    def _answer(self, words, kind, status, body=(), done=0):
        """R122, R123: an answer; with a status other than 0 it has no operations."""
        head = (LEASE_MAGIC, kind + 256 * status + 65536 * (len(body) // 2) + (done << 24)) + words[2:5]
        data = struct.pack("<%dI" % (5 + len(body)), *head, *body)
        return data + struct.pack("<I", crc(0, data))

    def _request(self, words, kind, secret, body):
        """R123, R124."""
        lease, sequence = self.leases.get(secret), words[2]
        if lease is None:
            if kind != OPEN:
                return self._answer(words, kind, 1)
            if len(self.leases) == MOST_LEASES:
                return self._answer(words, kind, 2)
            lease = self.leases[secret] = Lease()
            return self._done(lease, words, kind, body, self._answer(words, kind, 0))
        lease.idle = 0                                                          # R126
        if kind == KEEP:
            return self._answer(words, kind, 0)
        if kind == CLOSE:
            self._end(secret)
            return self._answer(words, kind, 0)
        if lease.last == (sequence, len(body)):
            return lease.answer
        if kind == OPEN or sequence != (lease.sequence + 1) & M32:
            return self._answer(words, kind, 3)
        self.card.clear_staged()                                                # R125
        values = operate(body, lambda offset: self._read(offset, secret),
                         lambda offset, value: self.card.write(offset, value, secret))
        padded = values + [0] * (len(body) // 2 - len(values))
        pairs = tuple(word for pair in zip(body[0::2], padded) for word in pair)
        return self._done(lease, words, kind, body, self._answer(words, kind, 0, pairs, len(values)))

    def _done(self, lease, words, kind, body, answer):
        lease.sequence, lease.last, lease.answer = words[2], (words[2], len(body)), answer
        return answer

    def _read(self, offset, secret):
        """R125."""
        values = {0x1004: self.card.port, 0x2000: self.dropped, 0x2004: 0, 0x2008: self.silent,
                  0x200C: len(self.leases) + 65536 * MOST_LEASES, 0x2010: 5000}
        return values[offset] if offset in values else self.card.read(offset, secret)

    def _end(self, secret):
        del self.leases[secret]
        self.card.end_host(secret)
