"""check_numbers.py : runs the vectors of chapters 2 to 12 and 18: check_OP(vector) raises unless it agrees."""
import narrowcast_codecs as nc
import narrowcast_format as nf
import narrowcast_groups as ng
import narrowcast_sums as ns
from narrowcast_format import bits32, f32, parse_format
from vector_tools import as_bits, floats, ints, need, refused, same_floats, words


# ---- chapters 2 to 8

def check_format(v):
    fmt = parse_format(v["format"])
    need([fmt.x, fmt.y, fmt.flavour, fmt.width, fmt.bias], [v["e"], v["m"], v["flavour"], v["width"], v["bias"]])
    need([fmt.largest, fmt.overflow("inf", 0), fmt.nan(0), 1 << fmt.y, fmt.sign_bit],
         words(v["max_inf_nan_normal_sign"]))


def check_format_refused(v):
    need(refused(parse_format, v["format"]), 1)


def check_cast(v):
    fmt, xs = parse_format(v["format"]), words(v["x"])
    random = words(v["random"]) if "random" in v else [0] * len(xs)
    need([nf.cast(fmt, x, v["shift"], v["round"], v["overflow"], r) for x, r in zip(xs, random)], words(v["codes"]))


def check_cast_trunc(v):
    need([nf.cast_trunc(x, v["shift"]) for x in words(v["x"])], words(v["codes"]))


def check_cast_stream(v):
    fmt, key = parse_format(v["format"]), int(v["key"], 16)
    codes = [nf.cast(fmt, x, v["shift"], "stochastic", "saturate", nf.rounding_bits(key, v["at"] + i))
             for i, x in enumerate(words(v["x"]))]
    need(nf.pack(fmt.width, codes).hex(), v["packed"])


def check_uncast(v):
    fmt = parse_format(v["format"])
    need([nf.uncast(fmt, code, v["shift"]) for code in words(v["codes"])], words(v["x"]))


def check_philox_block(v):
    need(list(nf.philox(int(v["key"], 16), *words(v["counter"]))), words(v["block"]))


def check_stream_key(v):
    need(nf.stream_key(int(v["seed"], 16), *words(v["tuple"])), int(v["key"], 16))


def check_stream_words(v):
    key, at = int(v["key"], 16), words(v["at"])
    need([nf.stream_word(key, i) for i in at], words(v["words"]), "words")
    need([nf.rounding_bits(key, i) for i in at], words(v["rounding"]), "rounding")


def check_layer_keys(v):
    seed, step, layer = int(v["seed"], 16), int(v["step"], 16), v["layer"]
    k = nf.cast_key(seed, step, layer, v["rank"])
    need([k, nf.sums_key(seed, step, layer), nf.samples_key(k)],
         [int(v[name], 16) for name in ("cast", "sums", "samples")])


def check_pack(v):
    codes = words(v["codes"])
    need(nf.pack(v["width"], codes).hex(), v["packed"])
    need(nf.unpack(v["width"], bytes.fromhex(v["packed"]), len(codes)), codes)


def check_scale(v):
    fmt, scale, ranks = parse_format(v["format"]), v["scale"], v["ranks"]
    need([nf.own_exponent(fmt, scale, ranks, m) for m in words(v["absmax"])], v["exponents"], "exponents")
    need([nf.shift_of(fmt, scale, agreed) for agreed in v["agreed"]], v["shifts"], "shifts")
    need(nf.out_shift_of(scale, "exact", ranks), v["out_shift"], "out_shift")


def check_exponent(v):
    fmt = parse_format(v["format"])
    need([nf.own_exponent(fmt, v["scale"], v["ranks"], m) for m in words(v["absmax"])], v["exponents"])


def check_agree(v):
    agreed, skipped = nf.agree(v["layers"], v["of_ranks"])
    need([agreed, int(skipped)], [v["agreed"], v["skipped"]])


def check_settle(v):
    acc = parse_format(v["acc"]) if "acc" in v else None
    args = parse_format(v["format"]), v["scale"], v["sum"], v["ranks"], acc, v.get("asked")
    need(refused(ng.settle, *args), v["refused"])
    if not v["refused"]:
        out, out_shift = ng.settle(*args)
        need(out, v["out"])
        need(out_shift, v.get("out_shift", out_shift), "out_shift")


def check_sum(v):
    fmt, out = parse_format(v["in"]), parse_format(v["out"])
    acc = parse_format(v["acc"]) if v["acc"] else None
    columns = list(zip(*map(words, v["addends"])))
    need([ns.sum_codes(v["sum"], fmt, acc, out, c, v["out_shift"], v["overflow"]) for c in columns],
         words(v["codes"]))
    if v["sum"] == "exact":
        need([ns.sum_exact(fmt, out, c, v["out_shift"], v["overflow"])[1] for c in columns], ints(v["status"]),
             "status")
        need([ns.sum_codes("exact", fmt, acc, out, c[::-1], v["out_shift"], v["overflow"]) for c in columns],
             words(v["codes"]), "other order")


def check_widths(v):
    fmt = parse_format(v["format"])
    need([ns.sum_bits(fmt, n) for n in v["addends"]], v["bits"])
    need([ns.wide_bits(fmt, n) for n in v["addends"]], v["wide"])


def check_holds(v):
    need(int(ns.holds(parse_format(v["acc"]), parse_format(v["in"]))), v["holds"])


def check_wide(v):
    fmt, n = parse_format(v["format"]), v["most_addends"]
    b = ns.wide_bits(fmt, n)

    def wide(addends):
        return [ns.wide_word(fmt, n, ns.exact_sum(fmt, column)) for column in zip(*map(words, addends))]
    a = wide(v["addends_a"])
    need(nf.pack(b, a).hex(), v["wide_a"], "a")
    if "addends_b" in v:
        other = wide(v["addends_b"])
        need(nf.pack(b, other).hex(), v["wide_b"], "b")
        total = [ns.wide_add(fmt, n, p, q) for p, q in zip(a, other)]
        need(nf.pack(b, total).hex(), v["wide_sum"], "sum")
        rounded = [ns.finish(fmt, ns.wide_value(fmt, n, w), fmt.unit, 1, "saturate") for w in total]
        need(nf.pack(fmt.width, rounded).hex(), v["rounded"], "rounded")


def check_mean(v):
    fmt = parse_format(v["format"])
    got = [ns.mean(fmt, code, v["shift"], v["divisor"]) for code in words(v["codes"])]
    if not same_floats(got, words(v["x"])):
        need(got, words(v["x"]))


# ---- chapters 9 to 12

def check_root(v):
    need(as_bits(nc.root(x) for x in floats(v["x"])), words(v["root"]))


def check_draw(v):
    need([nc.draw(*args) for args in zip(floats(v["at"]), floats(v["slack"]), words(v["random"]))], ints(v["codes"]))


def check_qsgd_value(v):
    need(as_bits(nc.Grid(v["bits"], v["levels"], s).value(int(v["code"], 16)) for s in floats(v["scale"])),
         words(v["x"]))


def check_qsgd_code(v):
    grid = nc.Grid(v["bits"], v["levels"], f32(int(v["scale"], 16)))
    need([grid.code(x, r) for x, r in zip(floats(v["x"]), words(v["random"]))], words(v["codes"]))


def check_qsgd_encode(v):
    data = nc.qsgd_encode(v["bits"], v["levels"], v["norm"], v["bucket"], int(v["key"], 16), v["at"], floats(v["x"]))
    need(len(floats(v["x"])), v["n"])
    need(data.hex(), v["codes"])


def check_qsgd_sum(v):
    parts = [bytes.fromhex(p) for p in v["parts"]]
    data = nc.qsgd_sum(v["bits"], v["levels"], v["norm"], v["bucket"], v["n"], int(v["key"], 16), v["at"], parts)
    need(data.hex(), v["codes"], "codes")
    values = nc.qsgd_decode(v["bits"], v["levels"], v["bucket"], v["n"], data)
    need(as_bits(x / nc.F(v["divisor"]) for x in values), words(v["x"]), "x")


def check_onebit_encode(v):
    residual = floats(v["residual"]) if "residual" in v else None
    data, following = nc.onebit_encode(v["column"], v["stride"], floats(v["x"]), residual)
    need(data.hex(), v["codes"], "codes")
    need(nc.padded_to(v["n"], v["column"] * v["stride"]), v["padded"], "padded")
    if residual:
        need(as_bits(following), words(v["next"]), "next")


def check_onebit_sum(v):
    residual = floats(v["residual"]) if "residual" in v else None
    parts = [bytes.fromhex(p) for p in v["parts"]]
    data, following = nc.onebit_sum(v["column"], v["stride"], v["n"], parts, residual)
    need(data.hex(), v["codes"], "codes")
    if residual:
        need(as_bits(following), words(v["next"]), "next")
    need(as_bits(nc.onebit_decode(v["column"], v["stride"], v["n"], data, v["divisor"])), words(v["x"]), "x")


def check_ternary_clip(v):
    need(bits32(nc.ternary_clip(floats(v["x"]), f32(int(v["times"], 16)))), int(v["own_max"], 16))


def check_ternary_draw(v):
    data = nc.ternary_codes(floats(v["x"]), f32(int(v["own_max"], 16)), f32(int(v["max"], 16)), int(v["key"], 16),
                            v["at"])
    need(data.hex(), v["codes"])
    need(len(data) * 4, v["padded"])


def check_ternary_sum(v):
    columns = [nf.unpack(2, bytes.fromhex(p), len(p) * 2) for p in v["parts"]]
    sums = [sum(map(nc.ternary_number, codes)) for codes in zip(*columns)]
    need(nc.ternary_sums(v["ranks"], sums).hex(), v["sums"], "sums")
    most = f32(int(v["max"], 16))
    need(as_bits(nc.ternary_mean(s, v["ranks"], most) for s in sums[:v["n"]]), words(v["x"]), "x")


def check_ternary_card(v):
    codes = nf.unpack(2, bytes.fromhex(v["codes"]), len(v["codes"]) * 2)
    need(nf.pack(4, [nc.ternary_contribution(c) for c in codes]).hex(), v["contribution"], "contribution")
    sums = [nc.ternary_result(c) for c in bytes.fromhex(v["result"])]
    need(nc.ternary_sums(v["ranks"], sums).hex(), v["sums"], "sums")


def check_quantile_rank(v):
    need(nc.quantile_rank(float(v["q"]), v["n"]), v["rank"])


def check_quantile_samples(v):
    need(nc.sample_places(int(v["key"], 16), int(v["elements"], 16), v["samples"]), words(v["at"]))


def check_quantile_factors(v):
    fmt = parse_format(v["format"])
    qs = [nc.agreed_quantile(fmt, m) for m in floats(v["max"])]
    need(as_bits(qs), words(v["q"]), "q")
    need(as_bits(nc.factors(fmt, q)[0] for q in qs), words(v["up"]), "up")
    need(as_bits(nc.factors(fmt, q)[1] for q in qs), words(v["down"]), "down")


def check_quantile_step(v):
    fmt, rule, ranks, node = parse_format(v["format"]), v["sum"], v["ranks"], v["node"]
    weights = floats(v["weights"]) if v["of"] == "weights" else None
    eps = f32(int(v["eps"], 16)) if "eps" in v else f32(0x3727C5AC)
    own, sent = [], []
    for rank, gradients in enumerate(v["gradients"]):
        gs = floats(gradients)
        ds = [nc.sent_value(g, w, eps) for g, w in zip(gs, weights or [None] * len(gs))]
        k = nf.cast_key(int(v["seed"], 16), v["step"], v["layer"], rank)
        own.append(nc.quantile_of([ds[i] for i in nc.sample_places(k, len(ds), v["samples"])], float(v["q"])))
        sent.append(ds)
    need(as_bits(own), words(v["own_q"]), "own_q")
    up, down = nc.factors(fmt, nc.agreed_quantile(fmt, max(own)))
    share = 1 if rule == "exact" else node
    codes = [[nc.quantile_code(fmt, rule, d, up, share) for d in ds] for ds in sent]
    need([nf.pack(fmt.width, c).hex() for c in codes], v["codes"], "codes")
    nodes, sums = nc.quantile_sums(fmt, rule, fmt, fmt, ranks, node, codes)
    for i in range(ranks // node):
        if "node_%d" % i in v:
            need(nf.pack(fmt.width, nodes[i]).hex(), v["node_%d" % i], "node")
    need(nf.pack(fmt.width, sums).hex(), v["sum_codes"], "sum_codes")
    means = [nc.quantile_mean(fmt, s, rule, ranks, down, w, eps)
             for s, w in zip(sums, weights or [None] * len(sums))]
    need(as_bits(means), words(v["means"]), "means")


# ---- chapter 18

def check_group(v):
    fmt, xs = parse_format(v["format"]), words(v["x"])
    need(ng.own_exponents(fmt, v["scale"], v["ranks"], xs), v["exponents"], "exponents")
    need(ng.group_codes(fmt, v["scale"], v["exponents"], xs, v["round"], int(v["key"], 16), v["at"]),
         words(v["codes"]), "codes")


def check_block(v):
    fmt, out, exponents = parse_format(v["in"]), parse_format(v["out"]), v["exponents"]
    addends = [words(a) for a in v["addends"]]
    data, codes, rs = ng.blocks(fmt, out, v["block"], addends)
    need(data.hex(), v["blocks"], "blocks")
    means = [ng.block_mean(out, codes[i], v["shift"], len(addends), rs[i // v["block"]],
                           exponents[i // v["group"]] if exponents else None) for i in range(len(addends[0]))]
    if not same_floats(means, words(v["means"])):
        need(means, words(v["means"]), "means")
