"""narrowcast_blocks.py : chapter 19 of FORMAT.md: NVFP4 and MX, blocks with scales of their own."""
from fractions import Fraction

import narrowcast_format as nf
from narrowcast_format import FP32, ceil_log2, floor_log2, parse_format

ELEMENT, SCALE = parse_format("e2m1f"), parse_format("e4m3fn")
NAN = 0x7FC00000
MX_ELEMENTS = {"e4m3": "e4m3fn", "e5m2": "e5m2", "e2m3": "e2m3f", "e3m2": "e3m2f", "e2m1": "e2m1f"}


def number(x):
    """The (sign, magnitude) of fp32 bits that are a number."""
    return x >> 31, FP32.magnitude_value(x & 0x7FFFFFFF)


def exponent(m):
    """R143: a rank's t; m are fp32 bits of the layer's largest magnitude."""
    if m >= 0x7F800000:
        return 127
    if m == 0:
        return -128
    return min(max(ceil_log2(FP32.magnitude_value(m) / (6 * 448)), -126), 126)


def power(t):
    """R143: 2^t of the agreed t."""
    return Fraction(1) if t == -128 else Fraction(2) ** t


def put_block(numbers, tensor):
    """R143: the 9 bytes of 16 (sign, magnitude)."""
    numbers = numbers + [(0, Fraction(0))] * (16 - len(numbers))
    scale = nf.round_number(SCALE, 0, max(a for _, a in numbers) / (6 * tensor))
    one = SCALE.magnitude_value(scale) * tensor
    elements = [nf.round_number(ELEMENT, s, a / one if one else Fraction(0)) for s, a in numbers]
    return bytes([scale]) + nf.pack(4, elements)


def nvfp4_words(xs, t):
    """R143: a rank's words of a layer of fp32 bits."""
    return b"".join(put_block([number(x) for x in xs[at:at + 16]], power(t)) for at in range(0, len(xs), 16))


def elements_of(words):
    """The (scale, element) of every element of words."""
    return [(words[at], code) for at in range(0, len(words), 9) for code in nf.unpack(4, words[at + 1:at + 9], 16)]


def value(scale, code):
    """R144: element * scale, a multiple of 2^-10."""
    _, sign, a = ELEMENT.decode(code)
    return (-1 if sign else 1) * a * SCALE.magnitude_value(scale)


def nvfp4_sum(parts):
    """R144: the words of the mean of the ranks' words."""
    if len(parts) == 1:
        return parts[0]
    sums = [sum(value(*e) for e in column) for column in zip(*map(elements_of, parts))]
    numbers = [(int(s < 0), abs(s)) for s in sums]
    return b"".join(put_block(numbers[at:at + 16], Fraction(len(parts))) for at in range(0, len(numbers), 16))


def nvfp4_values(words, n, t):
    """R144: the fp32 bits of words' values, each rounded once."""
    return [nf.round_number(FP32, code >> 3, abs(value(scale, code)) * power(t), "nearest", "inf")
            for scale, code in elements_of(words)[:n]]


def mx_scale(fmt, xs):
    """R145: the byte of a block."""
    m = nf.absmax(xs)
    if m >= 0x7F800000:
        return 255
    if m == 0:
        return 0
    e = floor_log2(FP32.magnitude_value(m)) - floor_log2(fmt.magnitude_value(fmt.largest))
    return min(max(e + 127, 0), 254)


def mx_words(element, xs):
    """R145: the words of a layer of fp32 bits."""
    fmt, data = parse_format(MX_ELEMENTS[element]), b""
    for at in range(0, len(xs), 32):
        part = xs[at:at + 32]
        byte = mx_scale(fmt, part)
        codes = [nf.cast(fmt, x, 127 - byte) for x in part] + [0] * (32 - len(part))
        data += bytes([byte]) + nf.pack(fmt.width, codes)
    return data


def mx_values(element, words, n):
    """R145: the fp32 bits of words' values."""
    fmt, values = parse_format(MX_ELEMENTS[element]), []
    size = 1 + 4 * fmt.width
    for at in range(0, len(words), size):
        byte, codes = words[at], nf.unpack(fmt.width, words[at + 1:at + size], 32)
        values += [NAN if byte == 255 else nf.uncast(fmt, code, byte - 127) for code in codes]
    return values[:n]
