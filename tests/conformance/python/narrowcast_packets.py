"""narrowcast_packets.py : chapters 13, 14 and 17 of FORMAT.md: checksums, tags, packets, and a rank's rules."""
import struct
from dataclasses import dataclass

import narrowcast_format as nf
import narrowcast_sums as ns

M32 = 2**32 - 1
M64 = 2**64 - 1


# ---------------------------------------------------------------- chapter 13

def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def crc(c, data):
    """R77: CRC32C; continues the message whose CRC is c."""
    state = c ^ M32
    for byte in data:
        state = state >> 8 ^ _CRC[(state ^ byte) & 0xFF]
    return state ^ M32


def siphash(key_low, key_high, data):
    """R78: SipHash-2-4."""
    v = [key_low ^ 0x736F6D6570736575, key_high ^ 0x646F72616E646F6D,
         key_low ^ 0x6C7967656E657261, key_high ^ 0x7465646279746573]

    def rotate(x, n):
        return (x << n | x >> (64 - n)) & M64

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & M64
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & M64
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & M64
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & M64
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    last = bytes(data) + b"\0" * (7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(last), 8):
        m = int.from_bytes(last[at:at + 8], "little")
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def shortest(value):
    """R79: %.Ng for the smallest N whose text reads back as the same binary64."""
    for n in range(1, 18):
        text = "%.*g" % (n, value)
        if float(text) == value:
            return text
    raise ValueError(value)


def scale_text(scale, constant=None, q=None, every=None, samples=None):
    """R79: SCALE."""
    if scale == "const":
        return "const:%.17g" % constant
    if scale == "quantile":
        return "quantile:q=%s,every=%d,samples=%d" % (shortest(q), every, samples)
    return scale                                        # aps and aps-tight with their ":G"


def minifloat_text(fmt, scale, rule, out, acc=None, mode="nearest", overflow="saturate", block=0):
    """R79: the text of a codec of minifloats. block: B of F:B."""
    text = "%s, scale %s, %s sums in %s" % (fmt.name, scale, rule, out.name)
    if block:
        text += ":%d" % block
    if acc is not None and acc != fmt:
        text += ", partial ones in " + acc.name
    if mode != "nearest":
        text += ", rounded " + mode
    if overflow != "saturate":
        text += ", overflow to inf"
    return text


def qsgd_text(bits, bucket, norm, levels):
    return "qsgd:%d,bucket=%d,norm=%s,levels=%s" % (bits, bucket, norm, levels)


def onebit_text(column, residual):
    return "onebit:%s,residual=%s" % (column, residual)


def ternary_text(clip):
    return "ternary:clip=%.9g" % clip


def relgrad_text(q, every, samples, of, rule, eps=None):
    return "relgrad:%sq=%s,every=%d,samples=%d,of=%s, %s sums" % (
        "" if eps is None else "eps=%s," % shortest(eps), shortest(q), every, samples, of, rule)


def codec_tag(text):
    """R79."""
    return crc(0, text.encode("ascii"))


def exponents_start(exponents):
    """R80: start for sums, of agreed exponents (signed) in the order in which they were sent."""
    return crc(0, bytes(e % 256 for e in exponents))


def bucket_tag(start, step, bucket, n, codec):
    """R80."""
    return crc(start, struct.pack("<4Q", step, bucket, n, codec))


def packet_tag(bucket, nonce, at, count):
    """R81."""
    return crc(bucket, struct.pack("<QQI", nonce, at, count))


def group_tag(bucket, key_low, key_high, at, count):
    """R82."""
    return siphash(key_low, key_high, struct.pack("<IIQ", bucket, count, at)) & M32


# ---------------------------------------------------------------- chapter 14

MAGIC = 0x0173636E
SUM, MAX, PING, RESULT, NAK, PONG = 1, 2, 3, 4, 5, 6
BAD_OP, BAD_FORMAT, BAD_DESC, BAD_SLOT = 1, 2, 3, 4
EMPTY, FILLING, KEPT = 0, 1, 2
GROUP_RANK = 0xFFFF
HEADER = struct.Struct("<IHHQHHIBBBBBBHIIQIIII")
RESIDUE = 0x48674BC7


@dataclass(frozen=True)
class Packet:
    """R84: the fields that a sender chooses; the others are computed by frame()."""
    rank: int = 0
    key: int = 0
    job: int = 0
    slot: int = 0
    chunk: int = 0
    op: int = 0
    flags: int = 0
    beats: int = 0
    in_fmt: int = 0
    out_fmt: int = 0
    out_shift: int = 0
    zero0: int = 0
    tag: int = 0
    status: int = 0
    echo: int = 0
    count: int = 0
    zero1: int = 0
    payload: bytes = b""

    def description(self):
        """R104: bytes 24 .. 31, tag and count."""
        return (self.op, self.flags, self.beats, self.in_fmt, self.out_fmt, self.out_shift, self.zero0,
                self.tag, self.count)

    def header(self, payload_crc, header_crc):
        return HEADER.pack(MAGIC, 64 + len(self.payload), self.rank, self.key, self.job, self.slot, self.chunk,
                           self.op, self.flags, self.beats, self.in_fmt, self.out_fmt, self.out_shift,
                           self.zero0, self.tag, self.status, self.echo, self.count, self.zero1,
                           payload_crc, header_crc)

    def frame(self):
        """R83 to R86: the bytes of the datagram."""
        payload_crc = crc(0, self.payload)
        header_crc = crc(0, self.header(payload_crc, 0)[:60])
        return self.header(payload_crc, header_crc) + self.payload


def frame_error(frame, most_beats=None):
    """R85, R86, R99: the first check that fails: LENGTH, MAGIC, HEADER_CRC, PAYLOAD_CRC, or None."""
    if len(frame) < 64 or len(frame) % 64 != 0 or int.from_bytes(frame[4:6], "little") != len(frame):
        return "LENGTH"
    if most_beats is not None and len(frame) > 64 + 64 * most_beats:
        return "LENGTH"
    if int.from_bytes(frame[0:4], "little") != MAGIC:
        return "MAGIC"
    if crc(0, frame[:64]) != RESIDUE:
        return "HEADER_CRC"
    if int.from_bytes(frame[56:60], "little") != crc(0, frame[64:]):
        return "PAYLOAD_CRC"
    return None


def parse(frame):
    """The packet of a frame that frame_error accepts."""
    f = HEADER.unpack(frame[:64])
    return Packet(*f[2:19], payload=bytes(frame[64:]))


def format_byte(fmt):
    """R87."""
    return 128 * (fmt.flavour != "ieee") + 16 * fmt.x + fmt.y


def card_format(byte):
    """R87, R88: the format of a byte, None if it is none of cards."""
    x, y, flavour = byte >> 4 & 7, byte & 15, "ieee"
    if byte & 128:
        flavour = "fn" if x == 4 else "f"
    most = 16 if flavour == "ieee" else 8
    if not 1 <= x <= (5 if flavour == "ieee" else 4) or y > 10:
        return None
    if 1 + x + y not in (4, 8, 16) or 1 + x + y > most:
        return None
    return nf.Format(x, y, flavour)


def ranks_fit(fmt, ranks):
    """R88: whether a card adds so many ranks."""
    return ranks <= 64 and ns.sum_bits(fmt, ranks) <= (15 if fmt.width == 4 else 46)


def most_ranks(fmt):
    """R88: the largest P."""
    return max(p for p in range(1, 65) if ranks_fit(fmt, p))


@dataclass(frozen=True)
class Beats:
    """R89: sizes of packets of two formats' widths."""
    w_in: int
    w_out: int

    @property
    def w(self):
        return max(self.w_in, self.w_out)

    @property
    def ratio(self):
        return self.w // min(self.w_in, self.w_out)

    def permitted(self, beats):
        return beats >= 1 and beats % self.ratio == 0

    def elements(self, beats):
        return beats * 512 // self.w

    def sum_beats(self, beats):
        return beats * self.w_in // self.w

    def result_beats(self, beats):
        return beats * self.w_out // self.w

    def fewest(self, n):
        """R90: the smallest permitted beats for n elements."""
        per = self.elements(self.ratio)
        return -(-n // per) * self.ratio


# ---------------------------------------------------------------- chapter 17

def place(n, cards, slots, slot_base):
    """R127: (card, slot, chunk) of packet n."""
    m = n // cards
    return n % cards, slot_base + m % slots, m // slots & M32


@dataclass(frozen=True)
class Sender:
    """What a rank's packets have in common."""
    rank: int
    job: int
    key: int
    slot_base: int
    slots: int
    nonce: int
    most_beats: int
    cards: int = 1

    def packet(self, n, **fields):
        _, slot, chunk = place(n, self.cards, self.slots, self.slot_base)
        return Packet(rank=self.rank, key=self.key, job=self.job, slot=slot, chunk=chunk, **fields)

    def cut_sum(self, in_fmt, out_fmt, out_shift, flags, tag, codes, first_packet=0):
        """R90, R91, R129: the SUM packets of a vector of codes."""
        sizes = Beats(in_fmt.width, out_fmt.width)
        most = self.most_beats // sizes.ratio * sizes.ratio
        packets, at = [], 0
        while at < len(codes):
            part = codes[at:at + sizes.elements(most)]
            beats = sizes.fewest(len(part))
            padded = part + [0] * (sizes.elements(beats) - len(part))
            packets.append(self.packet(
                first_packet + len(packets), op=SUM, flags=flags, beats=beats, in_fmt=format_byte(in_fmt),
                out_fmt=format_byte(out_fmt), out_shift=out_shift,
                tag=packet_tag(tag, self.nonce, at, len(part)), count=len(part),
                payload=nf.pack(in_fmt.width, padded)))
            at += len(part)
        return packets

    def cut_max(self, in_fmt, out_fmt, tag, values, first_packet=0):
        """R90, R92, R129: the MAX packets of a vector of int8 values, in a job with SUMs of these formats."""
        ratio = Beats(in_fmt.width, out_fmt.width).ratio
        most = self.most_beats // ratio * ratio
        packets, at = [], 0
        while at < len(values):
            part = values[at:at + 64 * most]
            beats = -(-len(part) // 64)
            padded = part + [-128] * (64 * beats - len(part))
            packets.append(self.packet(
                first_packet + len(packets), op=MAX, beats=beats,
                tag=packet_tag(tag, self.nonce, at, len(part)), count=len(part),
                payload=bytes(v % 256 for v in padded)))
            at += len(part)
        return packets

    def cut_step(self, max_tag, exponents, buckets, first_packet=0):
        """R134: the packets of a step; buckets: arguments of cut_sum in ascending order."""
        packets = self.cut_max(*buckets[0][:2], max_tag, exponents, first_packet)
        for bucket in buckets:
            packets += self.cut_sum(*bucket, first_packet + len(packets))
        return packets


def result_payload(packet):
    """R89, R92: bytes of payload of the RESULT of a SUM or MAX."""
    if packet.op == MAX:
        return 64 * packet.beats
    sizes = Beats(card_format(packet.in_fmt).width, card_format(packet.out_fmt).width)
    return 64 * sizes.result_beats(packet.beats)


def first_pong(sender, in_fmt, out_fmt, frame):
    """R141: (verdict, beats) of a card's answer to the first PINGs."""
    p, beats = parse(frame), len(frame) // 64 - 1
    ours = (p.op, p.rank, p.key, p.job, p.slot) == (PONG, sender.rank, sender.key, sender.job, sender.slot_base)
    if frame_error(frame) or not ours or not Beats(in_fmt.width, out_fmt.width).permitted(beats):
        return "foreign", 0
    return ("accepted" if (p.status, p.chunk) == (EMPTY, M32) else "abandon"), beats


def near(fmt, out, c, ranks, k, group):
    """R142: (format of sums of k ranks, s, out_shift of the card), or None: each rank sends its codes."""
    if k < 2 or ranks % k or fmt.x > 5:
        return None
    w_out = 0 if group else out.width
    own, best = k * max(fmt.width, w_out), None
    for byte in range(256):
        to = card_format(byte)
        if to is None or (best and to.width >= best[0].width):
            continue
        finer = nf.floor_log2(fmt.unit) - nf.floor_log2(to.unit)
        s = min(c, finer)
        most = k * fmt.magnitude_value(fmt.largest) / fmt.unit          # in units of fmt
        holds = most <= 2 ** (to.y + 1) and most * 2 ** (finer - s) <= to.magnitude_value(to.largest) / to.unit
        if fmt.flavour != "f" and (to.flavour != "ieee" or to.y == 0):
            holds = False
        pays = ranks > 64 or max(to.width, w_out) < own
        if holds and pays and ranks_fit(to, ranks // k) and 0 <= c - s <= 6:
            best = to, s, c - s
    return best


class Waiting:
    """R130, R132: a rank's packets that wait, and the judgement of datagrams of a card."""

    def __init__(self, rank, job, key, slot_base, slots, group=False):
        self.rank, self.job, self.key = rank, job, key
        self.slot_base, self.slots, self.group = slot_base, slots, group
        self.packets = {}                               # (slot, chunk): packet

    def sent(self, packet):
        self.packets[packet.slot, packet.chunk] = packet

    def may_send(self, packet):
        """R128: whether the chunk before in the packet's slot does not wait."""
        return (packet.slot, packet.chunk - 1 & M32) not in self.packets

    def is_ours(self, p):
        """R130: key, job, rank and slot."""
        if p.job != self.job or not self.slot_base <= p.slot < self.slot_base + self.slots:
            return False
        if (p.key, p.rank) == (self.key, self.rank):
            return True
        return self.group and (p.key, p.rank, p.op) == (0, GROUP_RANK, RESULT)

    def judge(self, frame):
        """R130, R132: damaged, foreign, stale, accepted, abandon, or pong."""
        if frame_error(frame):
            return "damaged"
        p = parse(frame)
        if not self.is_ours(p):
            return "foreign"
        sent = self.packets.get((p.slot, p.chunk))
        if p.op == RESULT:
            if sent is None:
                return "stale"
            same = p.description()[1:] == sent.description()[1:] and p.zero1 == sent.zero1
            if len(p.payload) != result_payload(sent) or not same or p.status & ~7 or p.echo != 0:
                return "foreign"
            del self.packets[p.slot, p.chunk]
            return "accepted"
        if p.op == NAK:
            return "abandon" if sent is not None and sent.tag == p.tag else "stale"
        return "pong" if p.op == PONG else "foreign"


def pong_action(waits_for, first, status, chunk, is_in):
    """R131: "wait", "send again" or "abandon"."""
    c, before, after = waits_for, (waits_for - 1) & M32, (waits_for + 1) & M32
    if status == FILLING and chunk == c:
        return "wait" if is_in else "send again"
    if status == (EMPTY if first else KEPT) and chunk == before:
        return "send again"
    if status == KEPT and chunk == c:
        return "send again"
    if status == FILLING and chunk == after and not is_in:
        return "send again"
    return "abandon"


def pong_bit(p, rank):
    """R97: whether a rank's bit is set in a PONG."""
    return bool((p.count << 32 | p.tag) >> rank & 1)


def maxima_byte(value, found, at):
    """R133: the int8 that a rank sends for its maximum (fp32 bits), given the bits found above at + 7."""
    byte = value >> at & 255 if value >> (at + 8) == found else 0
    return byte - 128


def maxima(values):
    """R133: (the int8s of every message, the results, the maximum)."""
    found, sent, results = 0, [], []
    for at in (24, 16, 8, 0):
        message = [maxima_byte(v, found, at) for v in values]
        sent.append(message)
        results.append(max(message))
        found = found << 8 | max(message) + 128
    return sent, results, found
