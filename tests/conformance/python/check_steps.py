"""check_steps.py : runs the vectors of whole steps and of chapter 19: check_OP(vector) raises unless it agrees."""
import narrowcast_blocks as nb
import narrowcast_format as nf
import narrowcast_packets as pk
import narrowcast_steps as st
from narrowcast_format import parse_format
from vector_tools import need, same_floats, words


def check_exchange(v):
    fmt, out = parse_format(v["format"]), parse_format(v["out"])
    layers = [st.Layer(each["n"], bool(each["fp32"]), words(each["weights"]) if "weights" in each else None)
              for each in v["layers"]]
    need(pk.codec_tag(v["codec"]), int(v["codec_tag"], 16), "codec_tag")
    steps = st.Steps(fmt, v["scale"], out, v["out_shift"], v["ranks"], v["codec"], int(v["codec_tag"], 16),
                     int(v["seed"], 16), layers, v["buckets"], bool(v["overlap"]))
    for s in v["steps"]:
        gradients = [[words(xs) for xs in of_rank] for of_rank in s["gradients"]]
        messages, skipped, means = steps.step(s["step"], gradients, bool(s["forced"]))
        where = "step %d" % s["step"]
        need(int(skipped), s["skipped"], where)
        need([[m.kind, m.n, "%08x" % m.tag] for m in messages], [[m["kind"], m["n"], m["tag"]] for m in s["messages"]],
             where)
        for m, expected in zip(messages, s["messages"]):
            for got, text in zip(m.sent + [m.result], expected["sent"] + [expected["result"]]):
                data = bytes.fromhex(text)
                places = range(len(data)) if m.asked is None else m.asked
                need(len(got), len(data), where)
                need([got[i] for i in places], [data[i] for i in places], (where, m.kind))
        for index, text in enumerate(s["means"]):
            if text and not same_floats(means[index], words(text)):
                need(means[index], words(text), (where, index))


def check_nvfp4(v):
    gradients = [words(g) for g in v["gradients"]]
    need([nb.exponent(nf.absmax(g)) for g in gradients], v["exponents"], "exponents")
    t = max(v["exponents"])
    need([nb.nvfp4_words(g, t).hex() for g in gradients], v["words"], "words")
    total = nb.nvfp4_sum([bytes.fromhex(w) for w in v["words"]])
    need(total.hex(), v["sum"], "sum")
    need(nb.nvfp4_values(total, len(gradients[0]), t), words(v["means"]), "means")


def check_mx(v):
    xs = words(v["x"])
    data = nb.mx_words(v["element"], xs)
    need(data.hex(), v["words"], "words")
    values = nb.mx_values(v["element"], data, len(xs))
    if not same_floats(values, words(v["values"])):
        need(values, words(v["values"]), "values")
