"""check_wire.py : runs the vectors of chapters 13 to 17: check_OP(vector) raises unless it agrees."""
import narrowcast_card as card
import narrowcast_format as nf
import narrowcast_packets as pk
import narrowcast_sums as ns
from narrowcast_format import parse_format
from vector_tools import need, words


# ---- chapter 13

def check_crc32c(v):
    data = bytes.fromhex(v["bytes"])
    need(pk.crc(0, data), int(v["crc"], 16))
    for cut in range(len(data)):
        need(pk.crc(pk.crc(0, data[:cut]), data[cut:]), int(v["crc"], 16), "continued")


def check_siphash(v):
    need(pk.siphash(int(v["key_low"], 16), int(v["key_high"], 16), bytes.fromhex(v["bytes"])), int(v["hash"], 16))


CODEC_TEXTS = {
    "checksum/codec-0": lambda: pk.minifloat_text(parse_format("e5m2"), "none", "exact", parse_format("e5m2")),
    "checksum/codec-2": lambda: pk.minifloat_text(parse_format("e3m0"), "aps-tight", "exact", parse_format("e4m3")),
    "checksum/codec-3": lambda: pk.minifloat_text(
        parse_format("e4m3fn"), pk.scale_text("const", 0.125), "exact", parse_format("e4m3fn"), overflow="inf"),
    "checksum/codec-4": lambda: pk.minifloat_text(
        parse_format("e5m10"), "none", "nearest", parse_format("e5m10"), parse_format("e5m10"), "stochastic"),
    "checksum/codec-5": lambda: pk.minifloat_text(
        parse_format("e4m3"), "none", "kahan", parse_format("e4m3"), parse_format("e5m7"), "zero"),
    "checksum/codec-6": lambda: pk.minifloat_text(
        parse_format("e4m3"), pk.scale_text("quantile", None, 0.95, 100, 1024), "exact", parse_format("e4m3")),
    "checksum/codec-7": lambda: pk.qsgd_text(4, 512, "max", "sign"),
    "checksum/codec-9": lambda: pk.onebit_text(64, "both"),
    "checksum/codec-11": lambda: pk.ternary_text(2.5),
    "checksum/codec-12": lambda: pk.relgrad_text(0.95, 100, 1024, "weights", "trunc", 1e-5),
    "checksum/codec-13": lambda: pk.minifloat_text(
        parse_format("e5m2"), pk.scale_text("const", 2.0**-20), "exact", parse_format("e5m2")),
    "checksum/codec-14": lambda: pk.ternary_text(2.7182817459106445),
    "checksum/codec-15": lambda: pk.minifloat_text(parse_format("e4m3"), "aps-tight:32", "exact", parse_format("e4m3")),
    "checksum/codec-16": lambda: pk.minifloat_text(
        parse_format("e2m5f"), "aps:16", "exact", parse_format("e2m5f"), block=16),
    "checksum/codec-17": lambda: pk.minifloat_text(
        parse_format("e2m1f"), "none", "exact", parse_format("e2m3f"), block=64),
    "checksum/codec-18": lambda: pk.minifloat_text(
        parse_format("e5m2"), "aps", "nearest", parse_format("e5m2"), parse_format("e5m4")),
    "checksum/codec-19": lambda: "nvfp4",
    "checksum/codec-20": lambda: "mx:e4m3",
}


def check_codec_tag(v):
    need(pk.codec_tag(v["text"]), int(v["tag"], 16))
    if v["id"] in CODEC_TEXTS:
        need(CODEC_TEXTS[v["id"]](), v["text"])


def check_bucket_tag(v):
    if v["kind"] == "sum":
        start = pk.exponents_start([b - 256 if b > 127 else b for b in bytes.fromhex(v["exponents"])])
    else:
        start = v["message"]
    need(pk.bucket_tag(start, int(v["step"], 16), int(v["bucket"], 16), int(v["n"], 16), int(v["codec"], 16)),
         int(v["tag"], 16))


def check_packet_tag(v):
    need(pk.packet_tag(int(v["bucket"], 16), int(v["nonce"], 16), int(v["at"], 16), v["count"]), int(v["tag"], 16))


def check_group_tag(v):
    need(pk.group_tag(int(v["bucket"], 16), int(v["key_low"], 16), int(v["key_high"], 16), int(v["at"], 16),
                      v["count"]), int(v["tag"], 16))


def check_maxima(v):
    sent, results, most = pk.maxima(words(v["of_ranks"]))
    need([b % 256 for message in sent for b in message], words(v["sent"]), "sent")
    need([b % 256 for b in results], words(v["results"]), "results")
    need(most, int(v["max"], 16), "max")


# ---- chapters 14 to 17

def check_packet(v):
    frame = bytes.fromhex(v["frame"])
    need(pk.frame_error(frame), None)
    p = pk.parse(frame)
    fields = {k: int(value, 16) for k, value in v["fields"].items()}
    computed = {"magic": pk.MAGIC, "len": len(frame), "payload_crc": pk.crc(0, frame[64:]),
                "header_crc": pk.crc(0, frame[:60])}
    for name, value in fields.items():
        need(computed[name] if name in computed else getattr(p, name), value, name)
    need(pk.Packet(payload=frame[64:], **{k: x for k, x in fields.items() if k not in computed}).frame(), frame)


def check_format_bytes(v):
    formats = [pk.card_format(b) for b in range(256)]
    need([f.width if f else 0 for f in formats], v["widths"])
    need(all(f is None or pk.format_byte(f) == b for b, f in enumerate(formats)), True)


def check_most_ranks(v):
    formats = [pk.card_format(b) for b in words(v["formats"])]
    need([pk.most_ranks(f) if f else 0 for f in formats], v["ranks"])


def check_place(v):
    need(list(pk.place(int(v["packet"], 16), v["cards"], v["slots"], v["slot_base"])),
         [v["card"], v["slot"], int(v["chunk"], 16)])


def check_may_send(v):
    s = pk.Sender(0, 0, 0, v["slot_base"], v["slots"], 0, 1)
    waiting = pk.Waiting(0, 0, 0, v["slot_base"], v["slots"])
    for n in v["waits"]:
        waiting.sent(s.packet(n))
    need([int(waiting.may_send(s.packet(n))) for n in v["packets"]], v["may"])


def sender(v):
    return pk.Sender(v["rank"], v["job"], int(v["key"], 16), v["slot_base"], v["slots"], int(v["nonce"], 16),
                     v["most_beats"])


def check_cut(v):
    fmt, out = parse_format(v["in"]), parse_format(v["out"])
    codes = nf.unpack(fmt.width, bytes.fromhex(v["codes"]), v["n"])
    packets = sender(v).cut_sum(fmt, out, v["out_shift"], 1, int(v["bucket_tag"], 16), codes)
    need([p.frame().hex() for p in packets], v["frames"], "frames")
    need([pk.result_payload(p) for p in packets], v["result_bytes"], "result_bytes")


def check_cut_max(v):
    values = [b - 256 if b > 127 else b for b in bytes.fromhex(v["values"])]
    packets = sender(v).cut_max(parse_format(v["in"]), parse_format(v["out"]), int(v["bucket_tag"], 16), values)
    need([p.frame().hex() for p in packets], v["frames"], "frames")


def check_pong(v):
    status = {"empty": pk.EMPTY, "filling": pk.FILLING, "kept": pk.KEPT}[v["state"]]
    need([pk.pong_action(int(v["waits_for"], 16), v["first"], status, chunk, is_in)
          for chunk, is_in in zip(words(v["chunks"]), v["in"])], v["actions"])


def check_accept(v):
    sent = pk.parse(bytes.fromhex(v["sent"]))
    waiting = pk.Waiting(sent.rank, sent.job, sent.key, v["slot_base"], v["slots"], bool(v["group"]))
    waiting.sent(sent)
    answer = bytes.fromhex(v["answer"])
    if v["again"]:
        need(waiting.judge(answer), "accepted")
    need(waiting.judge(answer), v["verdict"])


def check_first_pong(v):
    s = pk.Sender(v["rank"], v["job"], int(v["key"], 16), v["slot_base"], 1, 0, v["most_beats"])
    fmt, out = parse_format(v["in"]), parse_format(v["out"])
    ratio = pk.Beats(fmt.width, out.width).ratio
    ping = pk.parse(bytes.fromhex(v["ping"]))
    fields = {"rank": s.rank, "key": s.key, "job": s.job, "slot": s.slot_base, "op": pk.PING, "echo": ping.echo,
              "payload": bytes(64 * (s.most_beats // ratio * ratio))}
    need(ping, pk.Packet(**fields), "ping")
    need(list(pk.first_pong(s, fmt, out, bytes.fromhex(v["pong"]))), [v["verdict"], v["beats"]])


def check_near(v):
    got = pk.near(parse_format(v["format"]), parse_format(v["out"]), v["out_shift"], v["ranks"], v["near"], v["group"])
    need(int(got is not None), v["adds"])
    if got:
        need([got[0].name, got[1], got[2], "inf"], [v["in"], v["near_shift"], v["card_shift"], v["near_overflow"]])


def make_card(job, formats=None):
    a_card = card.Card(formats=formats) if formats else card.Card()
    a_card.enabled = True
    group = int(job["group"], 16)
    a_card.start(job["index"], card.Job(
        job["ranks"], int(job["key"], 16), job["slot_base"], job["slots"], int(job["in_fmt"], 16),
        int(job["out_fmt"], 16), (group, job["group_port"]) if group else None))
    for rank, (ip, port) in enumerate(job["addresses"]):
        a_card.addresses[job["index"]][rank] = int(ip, 16), port
    return a_card


def check_card(v):
    a_card = make_card(v["job"], int(v.get("cap_formats", "0"), 16))
    for i, e in enumerate(v["events"]):
        if "frame" in e:
            before = dict(a_card.counters)
            counter, out = a_card.receive((int(e["from"][0], 16), e["from"][1]), bytes.fromhex(e["frame"]))
            need(counter, e["counter"], i)
            changed = {k: a_card.counters[k] - before[k] for k in before
                       if a_card.counters[k] != before[k] and not k.startswith("OUT_")}
            need(changed, {counter: 1}, i)
            need(sorted(["%08x" % ip, port, frame.hex()] for (ip, port), frame in out), sorted(e["out"]), i)
        elif "write" in e:
            done = a_card.write(int(e["write"][0], 16), int(e["write"][1], 16))
            need(int(not done), e.get("refused", 0), i)
        else:
            value = a_card.read(int(e["read"][0], 16))
            need(int(value is None), e.get("refused", 0), i)
            need(value or 0, int(e["read"][1], 16), (i, e))


def check_lease(v):
    leases = card.Leases(card.Card())
    for i, e in enumerate(v["events"]):
        if "ticks" in e:
            for _ in range(e["ticks"]):
                leases.tick()
        elif "frame" in e:
            leases.card.receive((int(e["from"][0], 16), e["from"][1]), bytes.fromhex(e["frame"]))
        else:
            answer = leases.receive(bytes.fromhex(e["request"]))
            need((answer or b"").hex(), e["answer"], (i, e["request"]))


def check_stream(v):
    stream = card.Stream(card.Card())
    sent = stream.hello()
    for i, e in enumerate(v["events"]):
        if "host" in e:
            need(sent, b"", i)
            sent = stream.feed(bytes.fromhex(e["host"]))
        else:
            expected = bytes.fromhex(e["card"])
            need(sent[:len(expected)], expected, i)
            sent = sent[len(expected):]


def check_step(v):
    fmt, out, ranks = parse_format(v["format"]), parse_format(v["out"]), v["ranks"]
    job = v["job"]
    need(pk.codec_tag(v["codec"]), int(v["codec_tag"], 16), "codec_tag")
    need(pk.minifloat_text(fmt, v["scale"], "exact", out), v["codec"], "codec")
    need(nf.out_shift_of(v["scale"], "exact", ranks), v["out_shift"], "out_shift")
    layers = sorted(v["layers"], key=lambda layer: -layer["index"])     # R134: as they lie in the bucket
    for layer in layers:
        own = [nf.own_exponent(fmt, v["scale"], ranks, nf.absmax(words(g))) for g in layer["gradients"]]
        need(own, layer["own"], "own")
        need(max(own), layer["agreed"], "agreed")
        need(nf.shift_of(fmt, v["scale"], layer["agreed"]), layer["shift"], "shift")
        for g, codes in zip(layer["gradients"], layer["codes"]):
            need(nf.pack(fmt.width, [nf.cast(fmt, x, layer["shift"]) for x in words(g)]).hex(), codes, "codes")
    places, n = nf.bucket_layout({layer["index"]: layer["n"] for layer in layers})
    need([places[layer["index"]] for layer in layers], [layer["at"] for layer in layers], "at")
    codec, agreed = int(v["codec_tag"], 16), [layer["agreed"] for layer in layers]
    max_tag = pk.bucket_tag(0, v["step"], 2**32 - 1, len(layers), codec)
    sum_tag = pk.bucket_tag(pk.exponents_start(agreed), v["step"], 0, n, codec)
    packets, results = [], {}
    for rank in range(ranks):
        s = pk.Sender(rank, job["index"], int(job["key"], 16), job["slot_base"], job["slots"],
                      int(v["nonce"], 16), v["most_beats"])
        bucket = [0] * n
        for layer in layers:
            codes = nf.unpack(fmt.width, bytes.fromhex(layer["codes"][rank]), layer["n"])
            bucket[layer["at"]:layer["at"] + layer["n"]] = codes
        packets.append(s.cut_step(max_tag, [layer["own"][rank] for layer in layers],
                                  [(fmt, out, v["out_shift"], 1, sum_tag, bucket)]))
    a_card = make_card(job)
    waiting = [pk.Waiting(rank, job["index"], int(job["key"], 16), job["slot_base"], job["slots"])
               for rank in range(ranks)]
    addresses = {(int(ip, 16), port): rank for rank, (ip, port) in enumerate(job["addresses"])}
    sent = [set() for _ in range(ranks)]
    for i, e in enumerate(v["events"]):
        frame, rank = bytes.fromhex(e["frame"]), e["rank"]
        p = pk.parse(frame)
        if e["what"] == "send":
            number = [q.frame() for q in packets[rank]].index(frame)
            sent[rank].add(number)
            if number not in results.get(rank, {}):
                need(waiting[rank].may_send(packets[rank][number]), True, i)
                waiting[rank].sent(packets[rank][number])
        else:
            need(p.op, pk.PING, i)
        if e["lost"]:
            need(e["out"], [], i)
            continue
        source = [a for a, r in addresses.items() if r == rank][0]
        counter, out_frames = a_card.receive(source, frame)
        need(counter, e["counter"], i)
        expected = [[o["rank"], o["frame"]] if isinstance(o, dict) else [o[0], o[2]] for o in e["out"]]
        need(sorted([addresses[a], f.hex()] for a, f in out_frames), sorted(expected), i)
        for o in e["out"]:
            to, lost, f = (o["rank"], o["lost"], o["frame"]) if isinstance(o, dict) else o
            f = bytes.fromhex(f)
            if lost or pk.parse(f).op != pk.RESULT:
                continue
            verdict = waiting[to].judge(f)
            if verdict == "accepted":
                q = pk.parse(f)
                number = [(x.slot, x.chunk) for x in packets[to]].index((q.slot, q.chunk))
                results.setdefault(to, {})[number] = q
    for rank in range(ranks):
        need(sorted(results[rank]), list(range(len(packets[rank]))), "results of rank %d" % rank)
        sums = []
        for number in range(1, len(packets[rank])):
            q = results[rank][number]
            sums += nf.unpack(out.width, q.payload, q.count)
        need([b - 256 if b > 127 else b for b in results[rank][0].payload[:len(layers)]], agreed, "agreed")
        for layer in layers:
            part = sums[layer["at"]:layer["at"] + layer["n"]]
            need(nf.pack(out.width, part).hex(), layer["sums"], "sums")
            means = [ns.mean(out, code, v["out_shift"] - layer["shift"], ranks) for code in part]
            need(means, words(layer["means"]), "means")
