"""narrowcast_steps.py : rules R25, R73, R80, R133 to R137 together: the messages of whole steps through cards."""
import re
from dataclasses import dataclass

import narrowcast_codecs as nc
import narrowcast_format as nf
import narrowcast_groups as ng
import narrowcast_packets as pk
import narrowcast_sums as ns
from narrowcast_format import FP32, bits32, f32


@dataclass
class Layer:
    """A layer and its kept quantile (R73): Q for `left` more steps."""
    n: int
    fp32: bool
    weights: list = None
    q: float = 0.0
    left: int = 0

    def asks(self):
        """R28, R73: whether the layer finds its quantile in this step."""
        return not self.fp32 and (self.left == 0 or self.q == 0)


@dataclass
class Message:
    """A vector of cards: bytes of each rank, and the result. asked: positions that rules fix, None: all."""
    kind: str
    n: int
    tag: int
    sent: list
    result: bytes
    asked: list = None


def signed(values):
    return bytes(v % 256 for v in values)


class Steps:
    """Ranks that send steps. buckets: lists of layers in the order of their places (R24)."""

    def __init__(self, fmt, scale, out, c, ranks, codec, tag, seed, layers, buckets, overlap):
        self.fmt, self.out, self.c, self.ranks = fmt, out, c, ranks
        self.tag, self.seed, self.layers, self.buckets, self.overlap = tag, seed, layers, buckets, overlap
        self.scale, self.group = ng.split_scale(scale)
        self.quantile = re.search("q=([^,]*),every=([0-9]+),samples=([0-9]+)", codec)
        self.relative = scale == "relgrad"

    # ---- exponents

    def sent_values(self, layer, xs):
        """R70."""
        weights = layer.weights or [None] * len(xs)
        return [nc.sent_value(f32(x), None if w is None else f32(w)) for x, w in zip(xs, weights)]

    def own_quantile(self, number, rank, index, xs):
        """R71, R72."""
        ds = self.sent_values(self.layers[index], xs)
        k = nf.cast_key(self.seed, number, index, rank)
        places = nc.sample_places(k, len(ds), int(self.quantile[3]))
        return bits32(nc.quantile_of([ds[i] for i in places], float(self.quantile[1])))

    def own(self, layer, xs):
        """R25, R135: a layer's exponents on a rank."""
        m = nf.absmax(xs)
        if layer.fp32:
            return [nf.own_exponent(FP32, "none", self.ranks, m)]
        if self.group:
            return ng.own_exponents(self.fmt, "%s:%d" % (self.scale, self.group), self.ranks, xs)
        if not self.quantile or m >= 0x7F800000:
            return [nf.own_exponent(self.fmt, self.scale, self.ranks, m)]
        if layer.asks():
            return [126]
        e = nf.own_exponent(self.fmt, "none", 1, m)                 # the share of exact sums
        return [0 if self.relative and e != -128 else e]

    def maxima(self, number, k, order, gradients):
        """R133: the four messages; sets Q of the layers that asked."""
        asked = [i for i, index in enumerate(order) if self.layers[index].asks()]
        of_layer = {}
        for i in asked:
            index = order[i]
            own = [self.own_quantile(number, r, index, gradients[r][index]) for r in range(self.ranks)]
            of_layer[i] = pk.maxima(own)
            self.layers[index].q = nc.agreed_quantile(self.fmt, f32(of_layer[i][2]))
        messages = []
        for turn, at in enumerate((24, 16, 8, 0)):
            sent = [signed(of_layer[i][0][turn][r] if i in of_layer else 0 for i in range(len(order)))
                    for r in range(self.ranks)]
            result = signed(of_layer[i][1][turn] if i in of_layer else 0 for i in range(len(order)))
            tag = pk.bucket_tag(at + 1, number, 2**32 - 1 - k, len(order), self.tag)
            messages.append(Message("max", len(order), tag, sent, result, asked))
        return messages

    # ---- codes

    def codes(self, layer, agreed, xs):
        """R29, R74, R136."""
        if self.quantile:
            up = nc.factors(self.fmt, layer.q)[0]
            return [nc.quantile_code(self.fmt, "exact", d, up, 1) for d in self.sent_values(layer, xs)]
        if self.group:
            return ng.group_codes(self.fmt, "%s:%d" % (self.scale, self.group), agreed, xs)
        shift = nf.shift_of(self.fmt, self.scale, agreed[0])
        return [nf.cast(self.fmt, x, shift) for x in xs]

    def means(self, layer, agreed, sums):
        """R48, R76, R137."""
        if self.quantile:
            down = nc.factors(self.fmt, layer.q)[1]
            weights = [None if w is None else f32(w) for w in layer.weights or [None] * layer.n]
            return [bits32(nc.quantile_mean(self.out, s, "exact", self.ranks, down, w)) for s, w in zip(sums, weights)]
        if self.group:
            f = nf.shift_of(self.fmt, self.scale, 0)
            return [ng.power_product(ns.mean(self.out, s, self.c - f, self.ranks), agreed[i // self.group])
                    for i, s in enumerate(sums)]
        f = nf.shift_of(self.fmt, self.scale, agreed[0])
        return [ns.mean(self.out, s, self.c - f, self.ranks) for s in sums]

    def bucket(self, number, i, start, agreed, gradients, means):
        """R24, R80: the SUM of bucket i."""
        places, n = nf.bucket_layout({index: self.layers[index].n for index in self.buckets[i]}, max(8, self.group))
        of_rank = []
        for r in range(self.ranks):
            codes = [0] * n
            for index, at in places.items():
                layer = self.layers[index]
                codes[at:at + layer.n] = self.codes(layer, agreed[index], gradients[r][index])
            of_rank.append(codes)
        sums = [ns.sum_exact(self.fmt, self.out, column, self.c)[0] for column in zip(*of_rank)]
        for index, at in places.items():
            layer = self.layers[index]
            means[index] = self.means(layer, agreed[index], sums[at:at + layer.n])
        tag = pk.bucket_tag(start, number, i, n, self.tag)
        return Message("sum", n, tag, [nf.pack(self.fmt.width, codes) for codes in of_rank],
                       nf.pack(self.out.width, sums))

    # ---- R134

    def groups(self):
        """The buckets whose exponents travel together."""
        numbers = list(range(len(self.buckets)))
        return [[i] for i in numbers] if self.overlap else [numbers]

    def step(self, number, gradients, forced=False):
        """(messages, skipped, means by layer); forced: all layers travel in fp32."""
        messages, means = [], {}
        searched, kept = [layer.asks() for layer in self.layers], [layer.q for layer in self.layers]
        if forced:
            return messages, False, means
        for k, group in enumerate(self.groups()):
            order = [index for i in group for index in self.buckets[i]]
            own = [[self.own(self.layers[index], gradients[r][index]) for index in order] for r in range(self.ranks)]
            flat = [[e for exponents in of_rank for e in exponents] for of_rank in own]
            most = [max(column) for column in zip(*flat)]
            tag = pk.bucket_tag(0, number, 2**32 - 1 - k, len(most), self.tag)
            messages.append(Message("max", len(most), tag, [signed(es) for es in flat], signed(most)))
            if 127 in most:
                for layer, q in zip(self.layers, kept):              # R73: a skipped step leaves Q as it is
                    layer.q = q
                return messages, True, means
            if self.quantile and 126 in most:
                messages += self.maxima(number, k, order, gradients)
            agreed, at = {}, 0
            for index, exponents in zip(order, own[0]):
                agreed[index] = most[at:at + len(exponents)]
                at += len(exponents)
            for i in group:
                if not self.layers[self.buckets[i][0]].fp32:
                    start = pk.exponents_start(most)
                    messages.append(self.bucket(number, i, start, agreed, gradients, means))
        for layer, asked in zip(self.layers, searched):
            if self.quantile:
                layer.left = (int(self.quantile[2]) if asked else layer.left) - 1
        return messages, False, means
