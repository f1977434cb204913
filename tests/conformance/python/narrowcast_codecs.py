"""narrowcast_codecs.py : chapters 9 to 12 of FORMAT.md: QSGD levels, 1bitSGD signs, ternary numbers, quantiles.

All operations are fp32 operations (numpy.float32) unless stated otherwise; words and codes are ints.
"""
import math
from fractions import Fraction

import numpy as np

import narrowcast_format as nf
import narrowcast_sums as ns
from narrowcast_format import bits32, f32

F = np.float32
ZERO, ONE = F(0), F(1)
MOST = f32(0x7F7FFFFF)                  # M of R52


def power(n):
    """2^n as an fp32 (exact for the exponents used here)."""
    return F(math.ldexp(1.0, n))


def clamp(v):
    """R52: v limited to -M .. M."""
    return MOST if v > MOST else -MOST if v < -MOST else v


def is_negative(x):
    """The sign bit of an fp32."""
    return bits32(x) >> 31


# ---------------------------------------------------------------- chapter 9

def up_down(m):
    """R52: (up, down) for the largest magnitude m."""
    if m > power(40):
        return power(-88), power(88)
    if m < power(-95):
        return power(110), power(-110)
    if m < power(-40):
        return power(68), power(-68)
    return ONE, ONE


def root(v):
    """R52: the square root by four Newton steps."""
    r = ONE
    if v < ONE:
        v, r = v * power(96), power(-48)
    for k in (32, 16, 8, 4, 2, 1):
        s = power(k)
        if v >= s * s:
            v, r = (v / s) / s, r * s
    y = F(0.5) * (ONE + v)
    for _ in range(4):
        y = F(0.5) * (y + v / y)
    return r * y


def join(lanes):
    """R52: the 16 lanes joined, with clamps."""
    lanes = list(lanes)
    for d in (8, 4, 2, 1):
        for j in range(d):
            lanes[j] = clamp(lanes[j] + lanes[j + d])
    return lanes[0]


def sum_of_squares(xs, up):
    """R52: the joined lanes of (x * up)^2."""
    lanes = [ZERO] * 16
    for i, x in enumerate(xs):
        y = x * up
        lanes[i % 16] = lanes[i % 16] + y * y
    return join(lanes)


def largest(xs):
    """R51: the largest |x|."""
    return max((abs(x) for x in xs), default=ZERO)


def qsgd_scale(xs, norm):
    """R51 ("max") and R52 ("2")."""
    m = largest(xs)
    if norm == "max":
        return m
    up, down = up_down(m)
    value = ZERO if m == 0 else root(sum_of_squares(xs, up)) * down
    return max(min(value, MOST), m)


class Grid:
    """R53: the grid of a bucket with the scale S."""

    def __init__(self, bits, levels, scale):
        self.bits, self.sign = bits, levels == "sign"
        self.up, self.down = up_down(scale)
        self.top = F(2 ** (bits - 1) - 1) if self.sign else F(2**bits - 1)
        self.half = self.top if self.sign else F(0.5) * self.top
        self.most = scale * self.up
        self.step = self.most / self.half
        self.per = ZERO if scale == 0 else self.half / self.most

    def code(self, x, random):
        """R54, R55."""
        if self.sign:
            at = min((abs(x) * self.up) * self.per, self.top)
            return draw(at, at * power(-22), random) + 2 ** (self.bits - 1) * is_negative(x)
        at = max(ZERO, min((x * self.up) * self.per + self.half, self.top))
        return draw(at, self.top * power(-22), random)

    def value(self, code):
        """R57."""
        if self.sign:
            v = self.level_value(F(code % 2 ** (self.bits - 1)))
            v = -v if code >> (self.bits - 1) else v
        else:
            v = self.level_value(F(code) - self.half)
        return v + ZERO

    def level_value(self, n):
        return max(-self.most, min(n * self.step, self.most)) * self.down


def draw(at, slack, random):
    """R56."""
    low = int(at + slack)
    rest = at - F(low)
    d = F((random >> 8) * 2.0**-24)
    return low + 1 if rest > slack and d < rest else low


def buckets_of(n, size):
    """The ranges (first, end) of the buckets of n elements."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def padded_to(n, unit):
    return -(-n // unit) * unit


def qsgd_encode(bits, levels, norm, bucket, key, at, xs):
    """R50 to R56: the bytes of the float32 list xs, whose first element has index at in its layer."""
    data = b""
    for first, end in buckets_of(len(xs), bucket):
        part = xs[first:end]
        scale = qsgd_scale(part, norm)
        grid = Grid(bits, levels, scale)
        codes = [grid.code(x, nf.stream_word(key, at + first + i)) for i, x in enumerate(part)]
        codes += [0] * (padded_to(len(codes), 32) - len(codes))
        data += bits32(scale).to_bytes(4, "little") + nf.pack(bits, codes)
    return data


def qsgd_decode(bits, levels, bucket, n, data):
    """R50, R57: the n values of the bytes."""
    values, at = [], 0
    for first, end in buckets_of(n, bucket):
        grid = Grid(bits, levels, f32(int.from_bytes(data[at:at + 4], "little")))
        size = padded_to(end - first, 32) * bits // 8
        values += [grid.value(code) for code in nf.unpack(bits, data[at + 4:at + 4 + size], end - first)]
        at += 4 + size
    return values


def qsgd_sum(bits, levels, norm, bucket, n, key, at, parts):
    """R58: the codes of the sum."""
    acc = [ZERO] * n
    for part in parts:
        acc = [clamp(a + v) for a, v in zip(acc, qsgd_decode(bits, levels, bucket, n, part))]
    return qsgd_encode(bits, levels, norm, bucket, key, at, acc)


# ---------------------------------------------------------------- chapter 10

def columns(n, column, stride):
    """R59: the elements of every column (indices below n only)."""
    count = -(-n // (column * stride)) * stride
    result = []
    for i in range(count):
        first = i // stride * column * stride + i % stride
        places = [first + j * stride for j in range(column)]
        result.append([p for p in places if p < n])
    return result


def sign_mean(values, negative):
    """R61: the mean of the elements of one sign."""
    lanes, count = [ZERO] * 16, 0
    for j, v in enumerate(values):
        if (v < 0) == negative:
            lanes[j % 16] = clamp(lanes[j % 16] + v)
            count += 1
    return join(lanes) / F(count) if count else ZERO


def onebit_encode(column, stride, xs, residual=None):
    """R59 to R62: (bytes, next residual or None)."""
    vs = xs if residual is None else [clamp(x + e) for x, e in zip(xs, residual)]
    following = None if residual is None else list(residual)
    words = -(-column // 32)
    data = b""
    for places in columns(len(xs), column, stride):
        values = [vs[p] for p in places]
        plus, minus = sign_mean(values, False), sign_mean(values, True)
        signs = 0
        for j, v in enumerate(values):
            if v < 0:
                signs |= 1 << j
            if following is not None:
                following[places[j]] = v - (minus if v < 0 else plus)
        data += bits32(plus).to_bytes(4, "little") + bits32(minus).to_bytes(4, "little")
        data += signs.to_bytes(4 * words, "little")
    return data, following


def onebit_decode(column, stride, n, data, divisor=1):
    """R60, R64: the n values of the bytes, divided by divisor."""
    size = 8 + 4 * -(-column // 32)
    values = [ZERO] * n
    for i, places in enumerate(columns(n, column, stride)):
        one = data[i * size:(i + 1) * size]
        plus = f32(int.from_bytes(one[0:4], "little")) / F(divisor)
        minus = f32(int.from_bytes(one[4:8], "little")) / F(divisor)
        signs = int.from_bytes(one[8:], "little")
        for j, p in enumerate(places):
            values[p] = minus if signs >> j & 1 else plus
    return values


def onebit_sum(column, stride, n, parts, residual=None):
    """R63: (bytes, next residual of sums or None)."""
    vs = [ZERO] * n
    for part in parts:
        vs = [clamp(v + x) for v, x in zip(vs, onebit_decode(column, stride, n, part))]
    return onebit_encode(column, stride, vs, residual)


# ---------------------------------------------------------------- chapter 11

def ternary_clip(xs, times=F(2.5)):
    """R65: own."""
    if not all(np.isfinite(x) for x in xs):
        return f32(nf.absmax(bits32(x) for x in xs))
    m = largest(xs)
    if m == 0:
        return m
    up, down = up_down(m)
    return min(m, (times * (root(sum_of_squares(xs, up)) / root(F(len(xs))))) * down)


def ternary_codes(xs, own, most, key, at):
    """R66: the 2-bit codes, packed, zero codes up to a multiple of 8."""
    grid = Grid(2, "sign", most)
    codes = []
    for i, x in enumerate(xs):
        limited = F(np.copysign(min(abs(x), own), x))
        codes.append(grid.code(limited, nf.stream_word(key, at + i)))
    codes += [0] * (padded_to(len(codes), 8) - len(codes))
    return nf.pack(2, codes)


def ternary_number(code):
    """R66: 1, -1, 0 or (-)0."""
    return (-1 if code & 2 else 1) * (code & 1)


def ternary_sum_bits(ranks):
    """R67: b."""
    b = 2
    while 2**b < 2 * ranks + 1:
        b += 1
    return b


def ternary_sums(ranks, sums):
    """R67: sums s, packed."""
    return nf.pack(ternary_sum_bits(ranks), [s + ranks for s in sums])


def ternary_mean(s, ranks, most):
    """R68."""
    return (F(s) / F(ranks)) * most


def ternary_contribution(code):
    """R69: e2m1 of a 2-bit code."""
    return (code & 1) | (code & 2) << 2


def ternary_result(code):
    """R69: s of a card's e2m5."""
    magnitude = code & 0x7F
    return -magnitude if code & 0x80 else magnitude


# ---------------------------------------------------------------- chapter 12

def top_of(fmt):
    """Chapter 12: top."""
    if fmt.x > 6:
        return power(32)
    return F(float(fmt.magnitude_value(fmt.largest)))


def sent_value(g, w=None, eps=f32(0x3727C5AC)):
    """R70: d; w is None where d = g."""
    return g if w is None else g / (abs(w) + eps)


def sample_places(k, n, samples=1024):
    """R71: the elements that are samples; k is K of R22."""
    if n <= samples:
        return list(range(n))
    key = nf.samples_key(k)
    return [min(n, 2**32 - 1) * nf.stream_word(key, i) >> 32 for i in range(samples)]


def quantile_rank(q, m):
    """R72: rank, by binary64 operations."""
    return min(max(math.ceil(q * m - 1e-9 * m), 1), m)


def quantile_of(values, q=0.95):
    """R72: the rank-th smallest |d|."""
    sizes = sorted(min(bits32(d) & 0x7FFFFFFF, 0x7F7FFFFF) for d in values)
    return f32(sizes[quantile_rank(q, len(sizes)) - 1])


def agreed_quantile(fmt, most):
    """R73: Q."""
    if most == 0:
        return ZERO
    return min(max(most, top_of(fmt) * power(-126)), power(126))


def factors(fmt, q):
    """R74, R76: (U, Q / top)."""
    return (ZERO if q == 0 else top_of(fmt) / q), q / top_of(fmt)


def quantile_cast(fmt, rule, value, mode="nearest", random=0):
    """R74: the cast of a value that is sent (float32)."""
    if rule == "trunc":
        return nf.cast_trunc(bits32(value))
    return nf.cast(fmt, bits32(value), 0, mode, "saturate", random)


def quantile_code(fmt, rule, d, u, share):
    """R74: the code of d."""
    return quantile_cast(fmt, rule, (d * u) / F(share))


def quantile_sums(fmt, rule, acc, out, ranks, node, codes, policy="saturate"):
    """R74, R75: (the nodes' sums or None, the sums); codes is a list for each rank."""
    def add(columns, c=0, fmt=fmt, out=out):
        return [ns.sum_codes(rule, fmt, acc, out, column, c, policy) for column in columns]

    if rule == "exact":
        return None, add(zip(*codes), nf.out_shift_of("quantile", rule, ranks))
    if ranks == node:
        sums = add(zip(*codes))
        return [sums], sums
    nodes = [add(zip(*codes[first:first + node]), out=acc) for first in range(0, ranks, node)]
    parts = F(ranks // node)
    nodes = [[quantile_cast(acc, rule, f32(nf.uncast(acc, s)) / parts) for s in sums] for sums in nodes]
    return nodes, add(zip(*nodes), fmt=acc)


def quantile_mean(out, code, rule, ranks, down, w=None, eps=f32(0x3727C5AC)):
    """R76: the mean."""
    if rule == "exact":
        y = ns.mean(out, code, nf.out_shift_of("quantile", rule, ranks), ranks)
    else:
        y = ns.mean(out, code, 0, 1)
    x = f32(y) * down
    return x if w is None else x * (abs(w) + eps)
