"""self_checks.py : the examples of FORMAT.md's rules, and random checks of self-consistency."""
import random
import sys
from fractions import Fraction

import narrowcast_blocks as nb
import narrowcast_codecs as nc
import narrowcast_format as nf
import narrowcast_groups as ng
import narrowcast_packets as pk
import narrowcast_sums as ns
from narrowcast_format import FP16, FP32, E5M2, bits32, f32, parse_format as pf

COUNT = BAD = 0


def eq(got, expected, what=""):
    global COUNT, BAD
    COUNT += 1
    if got != expected:
        BAD += 1
        print("DIFFERS", what, "got", got, "expected", expected)


def exact(rule, name, codes, c=0, policy="saturate", out=None):
    return ns.sum_codes(rule, pf(name), pf(name), pf(out or name), codes, c, policy)


def examples_formats_and_casts():
    e4m3, e5m2, fn, e3m0, e2m1f = map(pf, ("e4m3", "e5m2", "e4m3fn", "e3m0", "e2m1f"))
    eq(e4m3.decode(0xB9), ("number", 1, Fraction(9, 8)), "R3")
    eq(e4m3.decode(0x77)[2], 240, "R3")
    eq([e5m2.decode(c)[2] for c in (0x3C, 1, 4)], [1, Fraction(1, 2**16), Fraction(1, 2**14)], "R3")
    eq([fn.largest, fn.decode(0x7E)[2], e2m1f.decode(7)[2]], [0x7E, 448, 6], "R4")
    eq([e3m0.decode(c)[2] for c in range(1, 7)], [Fraction(2) ** n for n in range(-2, 4)], "R5")
    eq(nf.cast(e4m3, 0x40400000, -10), 2, "R7")
    eq(nf.cast(e4m3, 1, 142), 4, "R7")
    for x, code in ((0x3F880000, 0x38), (0x3F980000, 0x3A), (0x3F980001, 0x3A), (0x3F87FFFF, 0x38)):
        eq(nf.cast(e4m3, x), code, "R8")
    eq([nf.cast(e3m0, 0x3FC00000), nf.cast(e3m0, 0x3E000000)], [4, 0], "R9")
    eq([nf.cast(e4m3, 0x3FFFFFFF, 0, "zero"), nf.cast(e4m3, 0x43780000, 0, "zero", "inf")], [0x3F, 0x77], "R10")
    eq([nf.cast(e4m3, 0x3F810000, 0, "stochastic", random=r) for r in (0xFFFFFFF, 0x10000000)], [0x39, 0x38], "R11")
    eq([nf.cast(e4m3, 0x4377FFFF), nf.cast(e4m3, 0x43780000), nf.cast(e4m3, 0x43780000, policy="inf")],
       [0x77, 0x77, 0x78], "R12")
    eq([nf.cast(fn, 0x43E80000), nf.cast(fn, 0x43E80001), nf.cast(fn, 0x43E80001, policy="inf")],
       [0x7E, 0x7E, 0x7F], "R12")
    eq(nf.cast(fn, 0x43E80000, policy="inf"), 0x7E, "R12")
    eq([nf.cast(e5m2, 0x7F800000), nf.cast(e5m2, 0x7F800000, policy="inf"), nf.cast(e2m1f, 0xFF800000)],
       [0x7B, 0x7C, 0xF], "R13")
    eq([nf.cast(e5m2, 0x7FC00000), nf.cast(e5m2, 0xFF800001), nf.cast(e2m1f, 0x7FC00000)], [0x7F, 0xFF, 7], "R14")
    eq([nf.cast(e4m3, 0x80000000), nf.cast(e4m3, 0x80000001)], [0x80, 0x80], "R15")
    eq([nf.cast_trunc(x) for x in (0x3F9FFFFF, 0x3F8FFFFF, 0x7F800000, 0xFF800001)], [0x3D, 0x3C, 0x7B, 0xFE], "R16")
    eq([nf.uncast(e5m2, c, s) for c, s in ((3, -134), (1, -134), (0x7B, 113), (0x7D, 0))],
       [2, 0, 0x7F800000, 0x7FFFFFFF], "R17")


def examples_random_packing_scaling():
    key = 0x1811461B47A0E8D1
    eq(nf.stream_key(1, 3, 2, 1, 0x63617374), key, "R19")
    eq(nf.cast_key(1, 3 + 2**32, 2, 1), key, "R22: step mod 2^32")
    eq([nf.stream_word(key, 0), nf.stream_word(key, 5)], [0xA4C0B8F2, 0x9A4DA773], "R20")
    eq([nf.rounding_bits(key, 0), nf.rounding_bits(key, 9)], [0xB8F2F88B, 0x73B4830A], "R21")
    eq([nf.samples_key(key), nf.sums_key(1, 3, 2)], [0xD763891A57503975, 0xCB7618B594990DD3], "R22")
    eq([nf.pack(4, [1, 2, 15]).hex(), nf.pack(6, [0x21, 0x3F, 2, 0x15]).hex(), nf.pack(12, [0xABC, 0x123]).hex(),
        nf.pack(3, [1, 2, 3, 4, 5, 6, 7, 0]).hex()], ["210f", "e12f54", "bc3a12", "d1581f"], "R23")
    eq(nf.bucket_layout({0: 100, 1: 60}), ({1: 0, 0: 64}, 168), "R24")
    e = nf.own_exponent
    eq([e(E5M2, "aps", 4, 1), e(E5M2, "aps", 4, 0x7F800000)], [-126, 127], "R25")
    eq([e(E5M2, "aps", 4, 0x3F800000), e(E5M2, "aps", 4, 0x3F800001), e(E5M2, "aps", 3, 0x3EAAAAAB)], [2, 3, 1], "R26")
    eq([e(pf("e4m3"), "aps-tight", 4, m) for m in (0x3FF00000, 0x3FF00001)], [0, 1], "R27")
    eq(e(pf("e4m3fn"), "aps-tight", 4, 0x3FE00000), 0, "R27")
    eq(nf.significand(pf("e1m2")), Fraction(3, 2), "R27")
    eq([nf.shift_of(pf(n), s, 7) for n, s in (("e5m2", "aps"), ("e4m3fn", "aps"), ("e4m3fn", "aps-tight"),
                                              ("e2m1f", "aps"), ("e2m1f", "aps-tight"), ("e5m2", "const:1024"))],
       [8, 0, 1, -5, -5, 10], "R29")
    eq([nf.out_shift_of("aps-tight", "exact", p) for p in (4, 5, 1)], [2, 3, 0], "R31")


def examples_sums():
    eq(exact("exact", "e4m3", (0x77, 1, 0xF7, 0x81, 9)), 9, "R34")
    eq([ns.sum_bits(E5M2, 1), ns.sum_bits(E5M2, 4), ns.sum_bits(pf("e4m3fn"), 4), ns.sum_bits(FP16, 2**20),
        ns.sum_bits(FP16, 2**21)], [33, 35, 21, 61, 62], "R35")
    eq([exact("exact", "e5m2", c, 0, "inf") for c in ((0x7C, 0x3C), (0x7C, 0xFC), (0xFF, 0))], [0x7C, 0x7F, 0x7F], "R36")
    eq([exact("exact", "e5m2", (0x3C, 0x30, 0x30)), exact("exact", "e5m2", (0x3C, 0x3C, 0x30)),
        exact("exact", "e5m2", (0x3C, 0x3C, 0x30), 2)], [0x3D, 0x40, 0x38], "R37")
    eq([exact("exact", "e4m3", (0x80, 0x80)), exact("exact", "e4m3", (0x81,), 4)], [0, 0], "R38")
    eq(exact("nearest", "e5m2", (0x3C, 0x30, 0x30)), 0x3C, "R39")
    eq(ns.sum_codes("nearest", pf("e4m3"), FP16, pf("e4m3"), (0x38, 0x20, 0x20)), 0x3A, "R40")
    eq([ns.holds(pf("e5m3"), pf("e4m3fn")), ns.holds(pf("e4m3"), pf("e4m3fn"))], [True, False], "R40")
    eq(exact("fp32", "bf16", (0x4B80, 0x3F80, 0x3F80)), 0x4B80, "R42")
    eq([exact(r, "e4m3", (0x38, 0x1D, 0x1D, 0x1D)) for r in ("kahan", "nearest")], [0x3A, 0x3B], "R43")
    eq([exact("trunc", "e5m2", (0x3C, 0x2F)), exact("trunc", "e5m2", (0x7B, 0x7B))], [0x3C, 0x7B], "R44")
    e4m3 = pf("e4m3")
    eq([ns.wide_bits(e4m3, 5), ns.wide_bits(E5M2, 8)], [21, 36], "R45")
    eq([ns.wide_word(e4m3, 5, t) for t in (512, -512, ns.PLUS_INF, ns.MINUS_INF, ns.NAN)],
       [0x200, 0x1FFE00, 0xFFFFF, 0x100001, 0x100000], "R46")
    eq(nf.pack(21, [0x200, 0x1FFE00]).hex(), "000200c0ff03", "R46")
    eq(ns.mean(e4m3, 0x3A, -5, 3), 0x3C555555, "R48")
    eq(ns.mean(e4m3, 0x77, 121, 12), 0x7E200000, "R49")


def examples_codecs():
    F = nc.F
    eq([bits32(nc.root(F(2))), bits32(nc.root(F(3))), bits32(nc.qsgd_scale([F(3), F(4)], "2"))],
       [0x3FB504F3, 0x3FDDB3D8, 0x40A00000], "R52")
    grid = nc.Grid(4, "sign", F(1))
    eq([bits32(v) for v in (grid.top, grid.half, grid.per, grid.step)], [0x40E00000] * 3 + [0x3E124925], "R53")
    even = nc.Grid(2, "even", F(1))
    eq([bits32(v) for v in (even.top, even.half, even.per, even.step)],
       [0x40400000, 0x3FC00000, 0x3FC00000, 0x3F2AAAAB], "R53")
    key = 0x1811461B47A0E8D1
    data = nc.qsgd_encode(4, "sign", "max", 32, key, 0, [F(1), F(-0.5), F(0.25)])
    eq(data[:6].hex(), "0000803fb702", "R54")
    eq([even.code(F(0.25), r) for r in (0x5FFFFFFF, 0xE0000000, 0xDFFFFFFF)], [2, 1, 2], "R55, R56")
    eq([bits32(grid.value(c)) for c in (3, 0xB)], [0x3EDB6DB8, 0xBEDB6DB8], "R57")
    eq([bits32(even.value(c)) for c in range(4)], [0xBF800000, 0xBEAAAAAB, 0x3EAAAAAB, 0x3F800000], "R57")
    total = nc.qsgd_sum(4, "sign", "max", 32, 3, key, 0, [data, data])
    eq(bits32(f32(int.from_bytes(total[:4], "little"))), 0x40000000, "R58")
    eq(nc.columns(10, 2, 3), [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]], "R59")
    vs = [F(1), F(-1), F(3), F(-2)]
    data, residual = nc.onebit_encode(32, 1, vs, [F(0)] * 4)
    eq(data.hex(), "000000400000c0bf0a000000", "R60")
    eq([bits32(r) for r in residual], [0xBF800000, 0x3F000000, 0x3F800000, 0xBF000000], "R62")
    eq([float(v) for v in nc.onebit_decode(32, 1, 4, nc.onebit_sum(32, 1, 4, [data, data])[0], 2)],
       [2, -1.5, 2, -1.5], "R64")
    eq([bits32(nc.root(F(67))), bits32(nc.ternary_clip([F(1), F(-1), F(1), F(8)]))], [0x4102F734, 0x41000000], "R65")
    eq([nc.ternary_sum_bits(3), bits32(nc.ternary_mean(1, 3, F(1.75)))], [3, 0x3F155556], "R67, R68")
    eq([nf.pack(4, [nc.ternary_contribution(c) for c in (1, 3)]).hex(), nc.ternary_result(0x82)], ["91", -2], "R69")
    eq(bits32(nc.sent_value(F(0.5), F(-1))), 0x3EFFFF58, "R70")
    eq([nc.quantile_rank(0.95, 1024), nc.quantile_rank(0.95, 20), nc.quantile_rank(0.7, 10)], [973, 19, 7], "R72")
    eq(bits32(nc.agreed_quantile(E5M2, f32(1))), 0x08600000, "R73")
    up, down = nc.factors(E5M2, F(0.5))
    eq([bits32(up), bits32(down), nc.quantile_code(E5M2, "trunc", F(0.25), up, 4)], [0x47E00000, 0x37124925, 0x6F], "R74")
    eq(nc.quantile_code(E5M2, "nearest", F(0.25), up, 4), 0x6F, "R74")
    eq(bits32(nc.quantile_mean(E5M2, 0x6F, "trunc", 4, down)), 0x3D800000, "R76")


def examples_wire():
    eq(pk.crc(0, b"123456789"), 0xE3069283, "R77")
    eq(pk.siphash(0x0706050403020100, 0x0F0E0D0C0B0A0908, b""), 0x726FDB47DD0E0E31, "R78")
    eq(pk.codec_tag("e4m3, scale aps, exact sums in e4m3"), 0x41E526E3, "R79")
    tag = pk.bucket_tag(pk.exponents_start([-3, 0, -128, 5]), 7, 0, 1000, 0x12345678)
    eq([tag, pk.packet_tag(tag, 0x0123456789ABCDEF, 0, 2048)], [0x15CBD46A, 0xE5CF6715], "R80, R81")
    eq(pk.group_tag(tag, 0x1111111111111111, 0x2222222222222222, 0, 2048), 0x2ABAA7E1, "R82")
    p = pk.Packet(rank=2, key=0x0123456789ABCDEF, job=1, slot=9, chunk=0x01020304, op=1, flags=1, beats=2, in_fmt=0x43,
                  out_fmt=0xC3, out_shift=2, tag=0xCAFE1234, count=120, payload=bytes(128))
    eq(p.frame()[:56].hex(), "6e637301c0000200efcdab8967452301010009000403020101010243c30200003412feca"
                             "00000000000000000000000078000000" "00000000", "R84")
    eq([hex(pk.format_byte(pf(n))) for n in ("e5m2", "e4m3", "e4m3fn", "e3m0", "e2m1", "fp16", "e2m5")],
       ["0x52", "0x43", "0xc3", "0x30", "0x21", "0x5a", "0x25"], "R87")
    eq([pk.most_ranks(FP16), pk.card_format(0x22), pk.card_format(0x60), pk.card_format(0xD2)],
       [32, None, None, None], "R88")
    eq(pk.maxima([0x3F800000, 0x3F000001])[0], [[-65, -65], [0, -128], [-128, -128], [-128, -128]], "R133")
    eq(pk.place(29, 1, 8, 16), (0, 21, 3), "R127")
    sizes = pk.Beats(4, 8)
    eq([sizes.elements(2), sizes.sum_beats(2), sizes.result_beats(2)], [128, 1, 2], "R89")
    eq([pk.pong_action(5, False, pk.KEPT, 4, True), pk.pong_action(5, False, pk.FILLING, 6, True)],
       ["send again", "abandon"], "R131")


def examples_groups():
    fmt, one = pf("e2m5f"), 0x3F800000
    eq(ng.own_exponents(fmt, "aps-tight:16", 4, [1] * 16 + [one, 0, one, 0])[1], 0, "R135")
    eq(ng.group_codes(fmt, "aps-tight:16", [-32], [0x2F800000]), [0x60], "R136")
    eq(ng.block_mean(fmt, 0x60, 2, 4, 0, -32), 0x2E800000, "R137")
    eq([ng.block_exponent(pf("e4m3"), fmt, [t * 2**9, 0]) for t in (9, -9)], [1, 1], "R138")
    eq(ng.blocks(pf("e4m3"), fmt, 16, [[0x30]])[1:], ([0x60] + [0] * 15, [-3]), "R138")
    eq(ng.block_mean(fmt, 0x64, 2, 4, 1, 5), 0x41900000, "R139")
    eq([ng.settle(pf(n), "aps-tight:32", "exact", 4) for n in ("e2m5f", "e4m3")], [("e2m5f:32", 0), ("e4m3", 2)], "R140")


def examples_blocks():
    word = bytes.fromhex("30d7000000000000 00")
    eq(nb.nvfp4_words([0x40400000, 0xBFC00000], 0), word, "R143")
    eq(nb.nvfp4_sum([word, word]), word, "R144")
    eq(nb.mx_words("e2m1", [0x40C00000])[:2], bytes([0x7F, 7]), "R145")


def examples_ranks():
    eq(ns.sum_codes("nearest", E5M2, pf("e4m3"), pf("e4m3"), (0x7B,)), 0x77, "R40")
    s = pk.Sender(0, 0, 0, 0, 8, 0, 22)
    eq([p.count for p in s.cut_max(pf("e3m0"), FP16, 0, [0] * 1408)], [1280, 128], "R129")
    eq(pk.near(pf("e3m0"), pf("e4m3"), 0, 8, 4, False), (FP16, 0, 0), "R142")
    eq(nf.own_exponent(pf("e4m3"), "none", 1, 0x3F800000), 0, "R25")
    eq(pk.codec_tag("e4m3, scale aps-tight:32, exact sums in e4m3"), 0x0B23609C, "R79")


def random_checks(rng):
    names = ["e5m2", "e4m3", "e4m3fn", "e3m0", "e2m1f", "e1m2", "e2m5", "fp16", "bf16", "e2m3f", "e3m2f", "e5m7"]
    for name in names:
        fmt = pf(name)
        codes = [rng.randrange(2 ** fmt.width) for _ in range(40)] + [fmt.largest, fmt.ones, 0, fmt.sign_bit]
        for code in codes:
            kind = fmt.decode(code)[0]
            back = nf.cast(fmt, nf.uncast(fmt, code), policy="inf")
            expected = code if kind == "number" else fmt.overflow("inf", code >> fmt.width - 1) if kind == "inf" \
                else fmt.nan(code >> fmt.width - 1)
            eq(back, expected, "cast(uncast) " + name)
            shift = rng.randrange(-40, 40)
            if kind == "number" and fmt.x <= 5:         # no fp32 subnormals or overflows between
                eq(nf.cast(fmt, nf.uncast(fmt, code, shift), -shift), code, "shifted cast(uncast) " + name)
        for _ in range(10):
            n = rng.randrange(1, 40)
            part = [rng.randrange(2 ** fmt.width) for _ in range(n)]
            eq(nf.unpack(fmt.width, nf.pack(fmt.width, part), n), part, "pack " + name)
        for _ in range(20):                             # casts bracket the number and are monotone
            x, y = sorted(rng.randrange(0x7F800000) for _ in range(2))
            for mode in ("nearest", "zero"):
                eq(nf.cast(fmt, x, 0, mode) <= nf.cast(fmt, y, 0, mode), True, "monotone " + name)
            low = nf.cast(fmt, x, 0, "zero")
            eq(nf.cast(fmt, x) in (low, min(low + 1, fmt.largest)), True, "neighbours " + name)
            eq(nf.cast(fmt, x, 0, "stochastic", random=2**32 - 1), low, "R = all ones is toward zero " + name)
    for name in ("e5m2", "e4m3", "e4m3fn", "e3m0", "e2m1f", "e1m2", "fp16"):
        fmt = pf(name)
        out = pf("e5m2") if name == "fp16" else fmt
        for _ in range(60):                             # wide words against sums (R47)
            n = rng.randrange(2, 9)
            codes = [rng.randrange(2 ** fmt.width) for _ in range(n)]
            cut, c, policy = rng.randrange(1, n), rng.randrange(4), rng.choice(("saturate", "inf"))
            halves = [ns.wide_word(fmt, n, ns.exact_sum(fmt, part)) for part in (codes[:cut], codes[cut:])]
            total = ns.wide_value(fmt, n, ns.wide_add(fmt, n, *halves))
            eq(ns.finish(out, total, fmt.unit, c, policy), ns.sum_exact(fmt, out, codes, c, policy)[0], "wide " + name)
            rng.shuffle(codes)
            eq(ns.finish(out, total, fmt.unit, c, policy), ns.sum_exact(fmt, out, codes, c, policy)[0], "order " + name)
        most = ns.wide_word(fmt, 8, ns.exact_sum(fmt, [fmt.largest] * 8))
        eq(ns.wide_value(fmt, 8, most), 8 * ns.exact_value(fmt, fmt.largest), "room " + name)
    for _ in range(150):                                # fp32 holds e4m3 sums of two exactly: nearest equals exact
        codes = [rng.randrange(256) for _ in range(2)]
        fmt = pf("e4m3")
        eq(ns.sum_codes("nearest", fmt, FP32, fmt, codes, 0, "inf"), ns.sum_codes("exact", fmt, None, fmt, codes, 0, "inf"),
           "nearest in fp32")
        eq(ns.sum_codes("fp32", fmt, None, fmt, codes, 0, "inf"), ns.sum_codes("exact", fmt, None, fmt, codes, 0, "inf"),
           "fp32")
    for _ in range(60):                                 # packets: encode, decode; one flipped bit is found
        payload = bytes(rng.randrange(256) for _ in range(64 * rng.randrange(4)))
        p = pk.Packet(rng.randrange(64), rng.getrandbits(64), rng.randrange(4), rng.randrange(128), rng.getrandbits(32),
                      rng.randrange(1, 7), rng.randrange(2), rng.randrange(8), 0x43, 0x52, rng.randrange(7), 0,
                      rng.getrandbits(32), rng.getrandbits(3), rng.getrandbits(64), rng.getrandbits(32), 0, payload)
        frame = p.frame()
        eq([pk.frame_error(frame), pk.parse(frame)], [None, p], "packet")
        eq(pk.crc(0, frame[:64]), pk.RESIDUE, "R86")
        bad = bytearray(frame)
        bit = rng.randrange(8 * len(frame))
        bad[bit // 8] ^= 1 << bit % 8
        eq(pk.frame_error(bytes(bad)) is not None, True, "flipped bit")
    for _ in range(100):
        values = [rng.getrandbits(31) for _ in range(rng.randrange(1, 6))]
        eq(pk.maxima(values)[2], max(values), "maxima")
    floats = [f32(0x3F000000 + rng.getrandbits(24) | rng.getrandbits(1) << 31) for _ in range(100)]
    for levels, bits in (("sign", 4), ("even", 8), ("even", 1), ("sign", 16), ("even", 16)):
        data = nc.qsgd_encode(bits, levels, "max", 32, 7, 0, floats)
        eq(len(data), 4 * 4 + 128 * bits // 8, "R50 length")
        for x, y, (first, _) in zip(floats, nc.qsgd_decode(bits, levels, 32, 100, data),
                                    [b for b in nc.buckets_of(100, 32) for _ in range(32)]):
            grid = nc.Grid(bits, levels, nc.qsgd_scale(floats[first:first + 32], "max"))
            eq(abs(float(x) - float(y)) <= float(grid.step * grid.down) * 1.001, True, "QSGD error")
    for n in (1, 5, 24):
        codes = [rng.randrange(4) for _ in range(24)]
        sums = [sum(nc.ternary_number(c) for c in codes[i::3]) for i in range(3)]
        b = nc.ternary_sum_bits(8)
        eq([s - 8 for s in nf.unpack(b, nc.ternary_sums(8, sums), 3)], sums, "ternary sums")
        card = [ns.sum_exact(pf("e2m1"), pf("e2m5"), [nc.ternary_contribution(c) for c in codes[i::3]], 4)[0]
                for i in range(3)]
        eq([nc.ternary_result(c) for c in card], sums, "R69 by the card's arithmetic")


if __name__ == "__main__":
    for part in (examples_formats_and_casts, examples_random_packing_scaling, examples_sums, examples_codecs,
                 examples_wire, examples_groups, examples_blocks, examples_ranks):
        part()
    print("examples: %d compared" % COUNT)
    random_checks(random.Random(1))
    print("in all %d compared" % COUNT)
    sys.exit(BAD != 0)
