"""narrowcast_sums.py : chapters 7 and 8 of FORMAT.md, sums and means, and the choices that R32 and R33 refuse."""
from fractions import Fraction

import numpy as np

from narrowcast_format import (E5M2, FP16, FP32, bits32, ceil_log2, drop, f32, parse_format, recode, round_magnitude,
                               round_number, target, uncast)


# ---------------------------------------------------------------- chapter 7

def sum_bits(fmt, n):
    """R35: B(n)."""
    return 2 ** fmt.x - 1 + fmt.y + fmt.u + ceil_log2(n)


def check_exact(fmt, ranks):
    """R35: refusal of exact sums."""
    if fmt.x > 5 or sum_bits(fmt, ranks) > 62:
        raise ValueError("R35: no exact sums")


NAN, PLUS_INF, MINUS_INF = "nan", "+inf", "-inf"


def exact_add(p, q):
    """R34, R36, R47: p and q are integer numbers of units, or NAN, PLUS_INF, MINUS_INF."""
    if NAN in (p, q) or {p, q} == {PLUS_INF, MINUS_INF}:
        return NAN
    for special in (PLUS_INF, MINUS_INF):
        if special in (p, q):
            return special
    return p + q


def exact_value(fmt, code):
    """A code as an addend of exact_add."""
    kind, sign, value = fmt.decode(code)
    if kind == "nan":
        return NAN
    if kind == "inf":
        return MINUS_INF if sign else PLUS_INF
    units = value / fmt.unit
    assert units.denominator == 1
    return -units.numerator if sign else units.numerator


def finish(out, total, unit, c=0, policy="saturate"):
    """R37, R38: the one rounding of a sum (units, or a special) / 2^c."""
    if total == NAN:
        return out.nan(0)
    if total in (PLUS_INF, MINUS_INF):
        return out.overflow(policy, total == MINUS_INF)
    exact = total * unit / Fraction(2) ** c
    code = round_number(out, exact < 0, abs(exact), "nearest", policy)
    return 0 if code & out.ones == 0 else code


def exact_sum(fmt, codes):
    """R34, R36: the sum in units, or a special."""
    total = 0
    for code in codes:
        total = exact_add(total, exact_value(fmt, code))
    return total


def sum_exact(fmt, out, codes, c=0, policy="saturate"):
    """R34 to R38: (code, status of R95)."""
    values = [exact_value(fmt, code) for code in codes]
    total = exact_sum(fmt, codes)
    status = 0
    if PLUS_INF in values or NAN in values:
        status |= 1
    if MINUS_INF in values or NAN in values:
        status |= 2
    if status == 0 and out.flavour != "f" and round_magnitude(out, abs(total) * fmt.unit / 2**c) > out.largest:
        status |= 4
    return finish(out, total, fmt.unit, c, policy), status


def add_nearest(fmt, a, b, policy):
    """R39: a + b in one format, rounded to it."""
    return finish(fmt, exact_add(exact_value(fmt, a), exact_value(fmt, b)), fmt.unit, 0, policy)


def holds(acc, fmt):
    """R40: whether acc holds fmt."""
    return acc == fmt or (acc.flavour == "ieee" and acc.y >= fmt.y and acc.x >= fmt.x + fmt.u)


def widen(acc, fmt, code):
    """R44: an addend, exactly, in the accumulator's format."""
    return recode(fmt, code, 0, acc, "nearest", "inf")


def real_value(fmt, code):
    """A code's value as a Fraction, or a special."""
    v = exact_value(fmt, code)
    return v * fmt.unit if isinstance(v, int) else v


def add_addend(acc, total, fmt, code, policy):
    """R40: the exact sum of a code of acc and one of fmt, rounded once to acc."""
    return finish(acc, exact_add(real_value(acc, total), real_value(fmt, code)), Fraction(1), 0, policy)


def sum_nearest(fmt, acc, out, codes, policy):
    """R39 to R41."""
    total = 0
    for code in codes:
        total = add_addend(acc, total, fmt, code, policy)
    return finish(out, exact_value(acc, total), acc.unit, 0, policy)


def sum_fp32(fmt, out, codes, policy):
    """R42, R41."""
    total = np.float32(0)
    for code in codes:
        total = total + f32(uncast(fmt, code))
    return finish(out, exact_value(FP32, bits32(total)), FP32.unit, 0, policy)


def sum_kahan(fmt, acc, out, codes, policy):
    """R43, R41."""
    def neg(v):
        return v ^ acc.sign_bit
    s = e = 0
    for code in codes:
        y = add_addend(acc, neg(e), fmt, code, policy)
        t = add_nearest(acc, s, y, policy)
        e = add_nearest(acc, add_nearest(acc, t, neg(s), policy), neg(y), policy)
        s = t
    return finish(out, exact_value(acc, s), acc.unit, 0, policy)


def sum_trunc(out, codes, policy):
    """R44, R41."""
    total = 0
    for code in codes:
        total = drop(add_nearest(FP16, widen(FP16, E5M2, total), widen(FP16, E5M2, code), "inf"))
    return finish(out, exact_value(E5M2, total), E5M2.unit, 0, policy)


def sum_codes(rule, fmt, acc, out, codes, c=0, policy="saturate"):
    """Chapter 7: the code of the sum of codes, in order of ranks."""
    if rule == "exact":
        return sum_exact(fmt, out, codes, c, policy)[0]
    if rule == "nearest":
        return sum_nearest(fmt, acc, out, codes, policy)
    if rule == "kahan":
        return sum_kahan(fmt, acc, out, codes, policy)
    if rule == "fp32":
        return sum_fp32(fmt, out, codes, policy)
    assert rule == "trunc" and fmt == E5M2
    return sum_trunc(out, codes, policy)


def wide_bits(fmt, n):
    """R45: b."""
    return sum_bits(fmt, max(n, 2))


def wide_word(fmt, n, total):
    """R46: the word of a sum in units, or of a special."""
    b = wide_bits(fmt, n)
    words = {NAN: 2 ** (b - 1), MINUS_INF: 2 ** (b - 1) + 1, PLUS_INF: 2 ** (b - 1) - 1}
    return words[total] if total in words else total % 2**b


def wide_value(fmt, n, word):
    """R46: the sum in units, or a special, of a word."""
    b = wide_bits(fmt, n)
    specials = {2 ** (b - 1): NAN, 2 ** (b - 1) + 1: MINUS_INF, 2 ** (b - 1) - 1: PLUS_INF}
    if word in specials:
        return specials[word]
    return word - 2**b if word >= 2 ** (b - 1) else word


def wide_add(fmt, n, p, q):
    """R47: the sum of two words."""
    return wide_word(fmt, n, exact_add(wide_value(fmt, n, p), wide_value(fmt, n, q)))


# ---------------------------------------------------------------- chapter 8

def mean(fmt, code, shift, divisor):
    """R48, R49: the fp32 bits of the mean; shift is c - f."""
    e = fmt.bias if fmt.flavour == "ieee" else fmt.bias + 1
    divisor = np.float32(divisor)
    while e + shift > 127 and divisor > 1:                      # R49
        shift -= 1
        divisor = divisor * np.float32(0.5)
    x = f32(uncast(fmt, code, shift))
    return bits32(x / divisor) if divisor != 1 else bits32(x)


# ---------------------------------------------------------------- choices (chapter 6)

def settle(fmt, scale, sum_rule, ranks, acc=None):
    """R32, R33, R35, R40: the default format of sums; ValueError if refused."""
    if scale == "aps" and 2 ** (target(fmt, scale) + fmt.bias + fmt.y) <= ranks:
        raise ValueError("R32: every code would be 0")
    if scale == "aps-tight" and sum_rule != "exact":
        raise ValueError("R32: aps-tight needs exact sums")
    if sum_rule == "exact":
        check_exact(fmt, ranks)
    if sum_rule in ("nearest", "kahan") and acc is not None and not holds(acc, fmt) \
            and scale != "none" and not scale.startswith("const:"):
        raise ValueError("R40: does not hold")
    own_accumulator = sum_rule in ("nearest", "kahan") and acc is not None and acc != fmt
    if fmt.width <= 4 and (sum_rule in ("exact", "fp32") or own_accumulator):
        return parse_format("e4m3")
    return fmt
