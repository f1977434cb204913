"""narrowcast_format.py : chapters 1 to 6 of FORMAT.md: formats, casts, random bits, packing, scaling.
Numbers are exact (int, Fraction); fp32 operations are numpy's float32.
Codes and fp32 values are passed as bit patterns (int).
"""
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

np.seterr(all="ignore")

M32 = 2**32 - 1


# ---------------------------------------------------------------- chapter 1

def ceil_log2(v):
    """ceil(log2 v), exactly, of a positive Fraction or int."""
    e = floor_log2(v)
    return e if v == Fraction(2) ** e else e + 1


def floor_log2(v):
    """floor(log2 v), exactly, of a positive Fraction or int."""
    v = Fraction(v)
    e = v.numerator.bit_length() - v.denominator.bit_length()
    if Fraction(2) ** e > v:
        e -= 1
    return e


def f32(bits):
    """The float32 with these bits."""
    return np.array(bits, dtype=np.uint32).view(np.float32)[()]


def bits32(value):
    """The bits of a float32."""
    return int(np.array(value, dtype=np.float32).view(np.uint32)[()])


# ---------------------------------------------------------------- chapter 2

@dataclass(frozen=True)
class Format:
    """A format eXmY with its flavour (R1 to R5)."""
    x: int
    y: int
    flavour: str                        # "ieee", "fn" or "f"

    @property
    def width(self):
        """R2."""
        return 1 + self.x + self.y

    @property
    def bias(self):
        """R3."""
        return 2 ** (self.x - 1) - 1

    @property
    def ones(self):
        """R4."""
        return 2 ** (self.x + self.y) - 1

    @property
    def special(self):
        """R4: the first magnitude that is no number."""
        if self.flavour == "ieee":
            return self.ones - (2 ** self.y - 1)
        return self.ones if self.flavour == "fn" else self.ones + 1

    @property
    def largest(self):
        """R4."""
        return self.special - 1

    @property
    def unit(self):
        """The value of code 1: 2^(1 - bias - Y) (R3, R34)."""
        return Fraction(2) ** (1 - self.bias - self.y)

    @property
    def u(self):
        """R35: 1 in flavours fn and f."""
        return 0 if self.flavour == "ieee" else 1

    @property
    def sign_bit(self):
        return 1 << (self.width - 1)

    @property
    def name(self):
        """The short name where there is one (R1, R79)."""
        text = "e%dm%d%s" % (self.x, self.y, "" if self.flavour == "ieee" else self.flavour)
        return {"e8m23": "fp32", "e5m10": "fp16", "e8m7": "bf16"}.get(text, text)

    def magnitude_value(self, magnitude):
        """R3: the value of a magnitude that is a number."""
        field, fraction = magnitude >> self.y, magnitude & (2 ** self.y - 1)
        if field == 0:
            return Fraction(fraction, 2 ** self.y) * Fraction(2) ** (1 - self.bias)
        return (1 + Fraction(fraction, 2 ** self.y)) * Fraction(2) ** (field - self.bias)

    def decode(self, code):
        """R2 to R6: (kind, sign, |value|), kind being "number", "inf" or "nan"."""
        code &= 2 ** self.width - 1
        sign, magnitude = code >> (self.width - 1), code & self.ones
        if magnitude < self.special:
            return "number", sign, self.magnitude_value(magnitude)
        if self.flavour == "ieee" and magnitude == self.special:
            return "inf", sign, None
        return "nan", sign, None

    def encode(self, magnitude, sign):
        return magnitude | (self.sign_bit if sign else 0)

    def nan(self, sign):
        """R6."""
        return self.encode(self.ones, sign)

    def overflow(self, policy, sign):
        """R12: the result of an overflow."""
        if policy == "saturate" or self.flavour == "f":
            return self.encode(self.largest, sign)
        return self.encode(self.special if self.flavour == "ieee" else self.ones, sign)


def parse_format(text):
    """R1: the format of a name; ValueError if it is refused."""
    text = {"fp32": "e8m23", "fp16": "e5m10", "bf16": "e8m7"}.get(text, text)
    match = re.fullmatch(r"e([1-9][0-9]?)m(0|[1-9][0-9]?)(fn|f|)", text)
    if not match:
        raise ValueError("no format: " + text)
    fmt = Format(int(match[1]), int(match[2]), match[3] or "ieee")
    if fmt.x > (8 if fmt.flavour == "ieee" else 7) or fmt.y > 23 or (fmt.flavour == "fn" and fmt.y < 1):
        raise ValueError("no format: " + text)
    if fmt.largest == 0:
        raise ValueError("only number is 0: " + text)
    return fmt


FP32 = parse_format("fp32")
FP16 = parse_format("fp16")
E5M2 = parse_format("e5m2")


# ---------------------------------------------------------------- chapter 3

def round_magnitude(fmt, a, mode="nearest", random=0):
    """R8 to R11: the magnitude of the exact number a >= 0, exponents having no upper limit."""
    if a == 0:
        return 0
    top = max(floor_log2(a), 1 - fmt.bias)
    scaled = a / Fraction(2) ** (top - fmt.y)                   # a / unit of R8
    k = scaled.numerator // scaled.denominator
    r = scaled - k
    if mode == "nearest":                                       # R8, R9
        if r > Fraction(1, 2) or (r == Fraction(1, 2) and k % 2 == 1):
            k += 1
    elif mode == "stochastic":                                  # R11
        if (r.numerator << 32) // r.denominator > random:
            k += 1
    else:
        assert mode == "zero"                                   # R10
    # Magnitude + 1 is the next number, also across binades (R4).
    return (top - (1 - fmt.bias)) * 2 ** fmt.y + k


def round_number(fmt, sign, a, mode="nearest", policy="saturate", random=0):
    """R8 to R12, R15: the code of the exact magnitude a (Fraction) with this sign."""
    magnitude = round_magnitude(fmt, a, mode, random)
    if magnitude <= fmt.largest:
        return fmt.encode(magnitude, sign)                      # R15
    if mode == "zero":
        return fmt.encode(fmt.largest, sign)                    # R10
    return fmt.overflow(policy, sign)                           # R12


def recode(source, code, shift, target, mode="nearest", policy="saturate", random=0):
    """The value of a code * 2^shift, rounded once to another format (R7 to R15)."""
    kind, sign, value = source.decode(code)
    if kind == "nan":
        return target.nan(sign)                                 # R14
    if kind == "inf":
        return target.overflow(policy, sign)                    # R13
    return round_number(target, sign, value * Fraction(2) ** shift, mode, policy, random)


def cast(fmt, x, shift=0, mode="nearest", policy="saturate", random=0):
    """R7 to R15: the cast of the fp32 bits x."""
    return recode(FP32, x, shift, fmt, mode, policy, random)


def drop(h):
    """R16: e5m2 from fp16 bits."""
    c = h >> 8
    return c - 1 if (c >> 2) & 31 == 31 else c


def cast_trunc(x, shift=0):
    """R16."""
    return drop(cast(FP16, x, shift, "nearest", "inf"))


def uncast(fmt, code, shift=0):
    """R17: the fp32 bits of a code * 2^shift."""
    return recode(fmt, code, shift, FP32, "nearest", "inf")


# ---------------------------------------------------------------- chapter 4

def philox(key, c0, c1, c2, c3):
    """R18: Philox4x32-10."""
    k0, k1 = key & M32, key >> 32
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & M32, (p0 >> 32) ^ c3 ^ k1, p0 & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c0, c1, c2, c3


def stream_key(seed, a, b, c, d):
    """R19."""
    x = philox(seed, a, b, c, d)
    return x[0] + (x[1] << 32)


def stream_word(key, i):
    """R20."""
    q = i // 4
    return philox(key, q & M32, q >> 32, 0, 0)[i % 4]


def rounding_bits(key, i):
    """R21."""
    q = i // 8

    def half(h):
        word = philox(key, q & M32, q >> 32, h, 0)[(i // 2) % 4]
        return word & 0xFFFF if i % 2 == 0 else word >> 16
    return half(0) * 2**16 + half(1)


def cast_key(seed, step, layer, rank):
    """R22: K, for a rank's casts, levels and ternary numbers."""
    return stream_key(seed, step & M32, layer, rank, 0x63617374)


def sums_key(seed, step, layer):
    """R22: for the levels of a sum."""
    return stream_key(seed, step & M32, layer, 0, 0x73756D73)


def samples_key(k):
    """R22: for the samples of a layer."""
    return stream_key(k, 0x73616D70, 0, 0, 0)


# ---------------------------------------------------------------- chapter 5

def pack(width, codes):
    """R23: dense codes as bytes."""
    number = 0
    for i, code in enumerate(codes):
        number |= (code & (2**width - 1)) << (width * i)
    return number.to_bytes(-(-width * len(codes) // 8), "little")


def unpack(width, data, n):
    """R23: the first n codes of a byte string."""
    number = int.from_bytes(data, "little")
    return [(number >> (width * i)) & (2**width - 1) for i in range(n)]


def bucket_layout(lengths, unit=8):
    """R24: {layer: first element} and the bucket's length, from {layer: elements}."""
    at, places = 0, {}
    for layer in sorted(lengths, reverse=True):
        places[layer] = at
        at += -(-lengths[layer] // unit) * unit
    return places, at


# ---------------------------------------------------------------- chapter 6

def absmax(xs):
    """R25: the largest magnitude of fp32 bits."""
    return max((x & 0x7FFFFFFF for x in xs), default=0)


def significand(fmt):
    """R27: L, the significand of the largest number."""
    value = fmt.magnitude_value(fmt.largest)
    return value / Fraction(2) ** floor_log2(value)


def own_exponent(fmt, scale, ranks, m):
    """R25 to R28: a rank's int8 exponent; m are fp32 bits of the largest magnitude."""
    if m >= 0x7F800000:
        return 127
    if scale == "quantile":                                     # R28
        return 126
    if m == 0:
        return -128
    value = FP32.magnitude_value(m)
    if scale == "aps-tight":
        e = ceil_log2(value / significand(fmt))                 # R27
    else:
        e = ceil_log2(ranks * value)                            # R26
    return min(max(e, -126), 126)


def agree(layers, of_ranks):
    """R28, R30: the agreed exponents and whether the step is skipped."""
    agreed = [max(of_ranks[layer::layers]) for layer in range(layers)]
    return agreed, 127 in agreed


def target(fmt, scale):
    """R29: T."""
    flavours = ("f",) if scale == "aps" else ("fn", "f")
    return fmt.bias + (1 if fmt.flavour in flavours else 0)


def shift_of(fmt, scale, agreed):
    """R29: f."""
    if scale == "none":
        return 0
    if scale.startswith("const:"):
        return floor_log2(Fraction(float(scale[6:])))
    if agreed in (-128, 127):
        return 0
    return target(fmt, scale) - agreed


def out_shift_of(scale, sum_rule, ranks):
    """R31: c.  The sums of chapter 12 have the scale "quantile" here."""
    if scale == "aps-tight" or (scale == "quantile" and sum_rule == "exact"):
        return ceil_log2(ranks)
    return 0
