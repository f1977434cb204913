"""narrowcast_groups.py : chapter 18 of FORMAT.md: exponents of groups of elements and of blocks of sums."""
import re

import narrowcast_format as nf
import narrowcast_sums as ns
from narrowcast_format import bits32, ceil_log2, f32

SIZES = (16, 32, 64, 128)


def power_product(x, e):
    """R136, R137: x * 2^e as one fp32 operation, on bits; -128 changes nothing."""
    return x if e == -128 else bits32(f32(x) * f32(nf.uncast(nf.FP32, bits32(1.0), e)))


def divided(x, e):
    """R136: v of x, for the agreed exponent e of its group."""
    return x if e == -128 else power_product(x, -e)


def split_scale(text):
    """R135: (scale, G) of aps:G and aps-tight:G; (text, 0) of other scales; ValueError if G is refused."""
    match = re.fullmatch(r"(aps|aps-tight):([0-9]+)", text)
    if not match:
        return text, 0
    if int(match[2]) not in SIZES:
        raise ValueError("R135: no size of groups: " + text)
    return match[1], int(match[2])


def own_exponents(fmt, scale, ranks, xs):
    """R135: a rank's exponents of the groups of a layer of fp32 bits."""
    scale, size = split_scale(scale)
    return [nf.own_exponent(fmt, scale, ranks, nf.absmax(xs[first:first + size]))
            for first in range(0, len(xs), size)]


def group_codes(fmt, scale, agreed, xs, mode="nearest", key=0, at=0):
    """R136: the codes of a layer; its first element has the index at."""
    scale, size = split_scale(scale)
    f = nf.shift_of(fmt, scale, 0)
    return [nf.cast(fmt, divided(x, agreed[i // size]), f, mode, "saturate", nf.rounding_bits(key, at + i))
            for i, x in enumerate(xs)]


def block_exponent(fmt, out, totals):
    """R138: r of sums in units of fmt."""
    most = max((abs(t) for t in totals if isinstance(t, int)), default=0)
    if most == 0:
        return 0
    return ceil_log2(most * fmt.unit / out.magnitude_value(out.largest))


def blocks(fmt, out, size, addends):
    """R138: (bytes, codes, r of each block) of the sums of a list of codes per rank."""
    totals = [ns.exact_sum(fmt, column) for column in zip(*addends)]
    totals += [0] * (-len(totals) % size)
    data, codes, exponents = b"", [], []
    for first in range(0, len(totals), size):
        part = totals[first:first + size]
        r = block_exponent(fmt, out, part)
        own = [ns.finish(out, t, fmt.unit, r) for t in part]
        data += nf.pack(out.width, own) + bytes([r % 256])
        codes += own
        exponents.append(r)
    return data, codes, exponents


def block_mean(out, code, f, ranks, r, e=None):
    """R139: the mean; e is the exponent of the element's group."""
    y = power_product(ns.mean(out, code, -f, ranks), r)
    return y if e is None else power_product(y, e)


def settle(fmt, scale, rule, ranks, acc=None, asked=None):
    """R135, R138, R140: (name of the format of sums, c); ValueError if refused."""
    scale, group = split_scale(scale)
    if group and fmt.x > 6:
        raise ValueError("R135: X")
    out = ns.settle(fmt, scale, rule, ranks, acc)
    block = 0
    if asked:
        name, _, size = asked.partition(":")
        out, block = nf.parse_format(name), int(size or 0)
    elif group and out.x <= 3 and rule == "exact":
        block = group
    if block and (rule != "exact" or out.x > 6 or block not in SIZES):
        raise ValueError("R138: no blocks")
    c = 0 if block else nf.out_shift_of(scale, rule, ranks)
    return out.name + (":%d" % block if block else ""), c
