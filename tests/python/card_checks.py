"""card_checks.py : compares narrowcast.card with a card and with the Python of tests/conformance, for test_card.sh.

usage: card_checks.py PART [ADDRESS]     PART: rules (needs no card), sums, narrow, errors, losses, lease, renewal"""

import gc
import itertools
import random
import socket
import struct
import sys
import threading
import time
import weakref

import numpy as np

import narrowcast_card
import narrowcast_format as nf
import narrowcast_packets as pk
import narrowcast_sums as ns
from narrowcast import _link, _packet, card as nc
from narrowcast._packet import Packet, card_format, layout

SEED = 7
FORMATS = [f"e{e}m{w - 1 - e}{kind}" for w in (4, 8) for e in range(1, 6) for kind in ("", "f", "fn") if w - 1 - e >= 0] + ["fp16"]


def rules():
    """Formats, packets and the judgement of PONGs are those of FORMAT.md."""
    known = 0
    for name in FORMATS + ["e6m1", "e5m9", "e4m3x", "fp32", "bf16", ""]:
        try:
            byte, width = card_format(name)
        except ValueError:
            byte = None
        try:
            fmt = nf.parse_format(name)
            wanted = pk.format_byte(fmt) if pk.card_format(pk.format_byte(fmt)) == fmt else None
        except ValueError:
            wanted = None
        assert byte == wanted and (byte is None or width == fmt.width), (name, byte, wanted)
        known += byte is not None
    assert known == 16, known
    assert _packet._HEADER.format == pk.HEADER.format and list(layout.COUNTERS) == list(narrowcast_card.COUNTERS)
    assert _link._MESSAGE.format == narrowcast_card.MESSAGE.format
    data = bytes(range(256)) * 3
    assert _packet.crc32c(data) == pk.crc(0, data)
    fields = dict(rank=3, key=2**63 + 5, job=2, slot=17, chunk=2**32 - 1, op=1, flags=1, beats=2, in_fmt=0x43, out_fmt=0x30, out_shift=6,
                  tag=2**31, status=4, echo=9, count=99, payload=data[:128])
    frame = Packet(**fields).frame()
    assert frame == pk.Packet(**fields).frame() and pk.frame_error(frame) is None
    read = Packet.parse(frame)
    assert all(getattr(read, name) == value for name, value in fields.items())
    for at in (0, 4, 40, 59, 60, 64, 191):
        fails(ValueError, "damaged", Packet.parse, frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1:])
    fails(ValueError, "must be beats", Packet.parse, frame[:-1])
    fails(ValueError, "no field of a packet 'chunks': did you mean 'chunk'?", Packet, chunks=1)

    job = nc.Job.__new__(nc.Job)
    job.card = type("AnyCard", (), {"name": "any"})
    for c, move, state, is_in in itertools.product((0, 1, 2**32 - 1), (-2, -1, 0, 1, 2), layout.SLOT_STATES, (False, True)):
        chunk = (c + move) % 2**32
        wanted = pk.pong_action(c, c == 0, state, chunk, is_in)
        pong = Packet(op=layout.OPS["PONG"], status=state, chunk=chunk, tag=2 * is_in)
        try:
            action = "send again" if job.should_repeat(Packet(rank=1, chunk=c), pong) else "wait"
        except nc.CardError:
            action = "abandon"
        assert action == wanted, (c, move, state, is_in, action, wanted)


    # datagrams that are not the job's
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    job._sockets, job.key, job.index, job.slot_base, job.slots, job.ignored, job.timeout = [None, ours], 77, 2, 16, 8, 0, 5
    right = dict(rank=1, key=77, job=2, slot=16, op=layout.OPS["RESULT"], tag=6, count=1, payload=bytes(64))
    for other in (dict(rank=0), dict(key=78), dict(job=1), dict(slot=15), dict(slot=24)):
        theirs.send(Packet(**{**right, **other}).frame())
    theirs.send(Packet(**right).frame()[:-1] + b"x")
    theirs.send(Packet(**right).frame())
    assert job.receive(1, 1).frame() == Packet(**right).frame() and job.ignored == 6, job.ignored
    for other in (dict(tag=7), dict(count=2), dict(chunk=1), {}):
        theirs.send(Packet(**{**right, **other}).frame())
    waiting = {(1, 16, 0): Packet(**{**right, "op": layout.OPS["SUM"]})}
    assert list(job._collect(waiting)) == [(1, 16, 0)] and not waiting and job.ignored == 9, job.ignored


    leases()
    late_answer()
    foreign_answers()


def late_answer():
    """The answer to a request that was given up is not taken for the next one's."""
    model = narrowcast_card.Card()

    def serve(server):
        for late in (True, False):
            stream, host = narrowcast_card.Stream(model), server.accept()[0]
            host.sendall(stream.hello())
            n = 0
            while data := host.recv(1 << 12):
                n += 1
                if late and n == 2:
                    time.sleep(0.4)
                try:
                    host.sendall(stream.feed(data))
                except OSError:
                    break

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        with nc.Card("127.0.0.1:%d" % server.getsockname()[1], timeout=20) as card:
            card.link.timeout = 0.2
            fails(nc.CardError, "does not answer within", card.read, "CAP_SLOTS")
            time.sleep(0.4)
            card.link.timeout = 20
            assert card.read("VERSION") == 1


def foreign_answers():
    """A program that is no card, or a slow one, is refused in time: its answers are not believed."""
    hello = _link._MESSAGE.pack(layout.LINK_KINDS["HELLO"], 0, 0, 0, layout.LINK_CONST["VERSION"], 0, 0)
    answers = [_link._MESSAGE.pack(layout.LINK_KINDS[kind], 0, n_bytes, 0, n_done, 0, 0)  # of 6 operations
               for kind, n_bytes, n_done in (("DONE", 2**32 - 1, 6), ("DONE", 0, 6), ("DONE", 24, 7), ("DONE", 28, 7), ("HELLO", 24, 6))]

    def serve(server):
        for answer in answers:
            host = server.accept()[0]
            host.sendall(hello)
            host.recv(1 << 12)
            host.sendall(answer + bytes(28))
        slow = server.accept()[0]
        for byte in hello:  # each in time, all together late
            time.sleep(0.1)
            try:
                slow.sendall(bytes([byte]))
            except OSError:
                break

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        at = "127.0.0.1:%d" % server.getsockname()[1]
        for _ in answers:
            fails(nc.CardError, "no card of this version", nc.Card, at, timeout=20)
        began = time.monotonic()
        fails(nc.CardError, "no card answers", nc.Card, at, timeout=0.3)
        assert time.monotonic() - began < 3


def leases():
    """The card of the reference takes requests; wrong answers before each right one are ignored."""
    model = narrowcast_card.Leases(narrowcast_card.Card())
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def serve():
        while True:
            request, host = server.recvfrom(1 << 12)
            if request == b"end":
                return
            answer = model.receive(request)
            words = list(struct.unpack(f"<{len(answer) // 4}I", answer))[:-1]
            for at in (1, 2, 3, 4):  # kind, sequence number, secret
                other = struct.pack(f"<{len(words)}I", *words[:at], words[at] ^ 1, *words[at + 1:])
                server.sendto(other + struct.pack("<I", pk.crc(0, other)), host)
            server.sendto(answer[:-8] + bytes([answer[-8] ^ 1]) + answer[-7:], host)  # a value
            server.sendto(answer[:8], host)
            server.sendto(answer, host)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    address = "eth://127.0.0.1:%d" % server.getsockname()[1]
    with nc.Card(address) as card:
        assert card.slots == len(model.card.slots) and card.read("ID") == model.card.read(0) and len(model.leases) == 1
        assert model.dropped == 0 and card.counters() == dict.fromkeys(narrowcast_card.COUNTERS, 0)
    assert not model.leases
    failures(model, address)
    server.sendto(b"end", server.getsockname())
    thread.join()


def failures(model, address):
    """A lease ends with a card of another version; its thread ends with a Card that is dropped."""
    layout.REGISTER_CONST["VERSION_VALUE"] += 1
    fails(nc.CardError, "use this package with a card of its version", nc.Card, address)
    layout.REGISTER_CONST["VERSION_VALUE"] -= 1
    assert not model.leases
    card = nc.Card(address)
    card.link._socket.close()
    fails(nc.CardError, f"cannot reach card {address}: Bad file descriptor", card.read, "ID")
    time.sleep(1.2)  # a renewal
    dropped, until = weakref.ref(card.link), time.monotonic() + 5
    del card
    while dropped() and time.monotonic() < until:
        gc.collect()
        time.sleep(0.1)
    assert not dropped(), "the thread of a dropped card keeps its lease"


def fails(kind, text, function, *args, **kwargs):
    """function must raise kind with text, in one line."""
    try:
        function(*args, **kwargs)
    except kind as e:
        assert text in str(e) and "\n" not in str(e), f"'{e}' does not say '{text}'"
    else:
        raise AssertionError(f"no {kind.__name__} '{text}'")


def reference(fmt, out, codes, shift, saturate):
    """Codes and status bits of the sum, by chapter 7."""
    pairs = [ns.sum_exact(fmt, out, [int(c) for c in column], shift, "saturate" if saturate else "inf") for column in zip(*codes)]
    return [code for code, _ in pairs], {name for name, bit in layout.STATUS_BITS.items() if any(s >> bit & 1 for _, s in pairs)}


def sums(address):
    """Jobs of two and three ranks in several formats: sums, flags and frames are those of the reference."""
    rng = random.Random(SEED)
    with nc.Card(address) as card:
        assert card.read("ID") == layout.REGISTER_CONST["ID_VALUE"] and card.read("CAP_SLOTS") == card.slots
        before = card.counters()
        for ranks, name, out_name, shift, saturate, n in ((2, "e4m3", "e4m3", 0, True, 300), (2, "e5m2", "e4m3", 1, False, 70),
                                                        (3, "e3m0", "e3m0", 0, True, 513), (2, "fp16", "e4m3fn", 0, True, 33),
                                                        (2, "e2m1f", "fp16", 0, True, 200), (2, "e2m5f", "e2m5f", 1, True, 64)):
            fmt, out = nf.parse_format(name), nf.parse_format(out_name)
            codes = [np.array([rng.randrange(2**fmt.width) for _ in range(n)], np.uint16) for _ in range(ranks)]
            with card.job(ranks, name, out_name, slots=2, beats=4) as job:
                total = job.sum(codes, shift, saturate)
                wanted, status = reference(fmt, out, codes, shift, saturate)
                assert total.codes.tolist() == wanted, (name, out_name)
                assert total.status == status, (name, total.status, status)
                assert job.ignored == 0, job.ignored
        with card.job(2) as job:
            x = [np.linspace(-3, 3, 100, dtype=np.float32), np.ones(100)]
            codes = [nc.cast.encode(v, format="e4m3").data for v in x]
            total = job.sum(x)
            wanted, _ = reference(nf.parse_format("e4m3"), nf.parse_format("e4m3"), codes, 0, True)
            assert total.codes.tolist() == wanted and total.values.dtype == np.float32
            assert total.values.tolist() == [float(nf.f32(nf.uncast(nf.parse_format("e4m3"), c))) for c in wanted]
            assert job.sum([[], []]).codes.size == 0
            lost(job)
        after = card.counters()
        assert after["IN_RESENT"] - before["IN_RESENT"] == 1 and after["DROP_DUPLICATE"] == before["DROP_DUPLICATE"]
        assert after["OUT_RESULT"] - before["OUT_RESULT"] == after["IN_ADDED"] - before["IN_ADDED"] + 1 > 20


def narrow(address):
    """A card with Narrow=1."""
    with nc.Card(address) as card:
        fails(nc.CardError, "take format e1m6f or e2m5f", card.job, 2)
        with card.job(2, "e2m5f", "e4m3") as job:
            assert job.sum([[1.5], [2.25]]).values.tolist() == [3.75]


def lease(address):
    """Control by a lease."""
    fails(nc.CardError, "--control 1`", nc.Card, "eth://127.0.0.1:1")
    with nc.Card(address) as card:
        fails(ValueError, "at most 28", card.batch, [("ID", None)] * 29)
        fails(nc.CardError, "do not tell clocks", card.clocks)
        with card.job(20) as job:  # more ranks than a request has room for
            assert job.sum([[1.0]] * 20).values.tolist() == [20]
            card.link._request("CLOSE")
            fails(nc.CardError, "has ended, as after 5 s of silence", card.read, "ID")
        assert card.read("ID") == layout.REGISTER_CONST["ID_VALUE"]  # by a new lease
        with card.job(2) as job:
            card.link._sequence += 1
            fails(nc.CardError, "missed a request", card.read, "ID")
    opened = []
    try:
        while len(opened) < 20:
            opened.append(nc.Card(address))
    except nc.CardError as e:
        assert "no free lease: close another Card" in str(e), e
    assert len(opened) == layout.LEASE["MAX"], len(opened)
    for each in opened:
        each.close()


def renewal(address):
    """A lease outlives a pause."""
    with nc.Card(address) as card, card.job(1) as job:
        time.sleep(6.5)
        assert job.sum([[1.0]]).values.tolist() == [1] and card.read("ID")


def lost(job):
    """A contribution is lost, then a result; both are sent again."""
    codes = [np.arange(64, dtype=np.uint8), np.full(64, 0x38, np.uint8)]
    first, second = (own[0] for own in job.cut(codes))
    waiting = pk.Waiting(0, job.index, job.key, job.slot_base, job.slots)
    waiting.sent(pk.parse(first.frame()))
    job.send(first)
    pongs = []
    for rank in (0, 1):  # rank 1's packet is lost
        job.ping(rank, first.slot, echo=rank + 10)
        pongs.append(job.receive(rank))
        assert (pongs[rank].op_name, pongs[rank].ranks_in, pongs[rank].echo) == ("PONG", [0], rank + 10), pongs[rank]
    assert not job.should_repeat(first, pongs[0]) and job.should_repeat(second, pongs[1])
    job.send(second)
    result = job.receive(0)  # lost
    assert waiting.judge(result.frame()) == "accepted"
    assert job.receive(1).payload == result.payload
    job.ping(0, first.slot)
    pong = job.receive(0)
    assert layout.SLOT_STATES[pong.status] == "KEPT" and job.should_repeat(first, pong)
    job.send(first)
    assert job.receive(0).frame() == result.frame()
    fmt = nf.parse_format("e4m3")
    assert list(result.payload) == reference(fmt, fmt, codes, 0, True)[0]


def losses(address):
    """A network that loses, repeats and reorders: the sum stays."""
    fmt, rng = nf.parse_format("e4m3"), np.random.default_rng(SEED)
    codes = [rng.integers(0, 0x70, 8000, dtype=np.uint8) for _ in range(2)]
    with nc.Card(address) as card, card.job(2, beats=8) as job:
        total = job.sum(codes)
        table = {pair: ns.sum_exact(fmt, fmt, pair)[0] for pair in set(zip(*(c.tolist() for c in codes)))}
        assert total.codes.tolist() == [table[pair] for pair in zip(*(c.tolist() for c in codes))]
        counters = card.counters()
        assert counters["IN_PING"] > 0 and counters["IN_RESENT"] + counters["DROP_DUPLICATE"] > 0, counters


def errors(address):
    """Each mistake raises one line that has the remedy."""
    for place in "127.0.0.1", "127.0.0.1:\u00b2":
        fails(ValueError, "must be HOST:PORT", nc.Card, place)
    for seconds in 0, -1, float("nan"), float("inf"):
        fails(ValueError, f"timeout={seconds}: need seconds above 0", nc.Card, address, timeout=seconds)
    fails(nc.CardError, "cannot reach card eth://255.255.255.255:1: ", nc.Card, "eth://255.255.255.255:1")
    fails(nc.CardError, "start one with `narrowcast sim --listen 127.0.0.1:1`", nc.Card, "127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].sendall(bytes(40)), daemon=True).start()
        fails(nc.CardError, "no card of this version", nc.Card, "127.0.0.1:%d" % server.getsockname()[1])
    with nc.Card(address) as card:
        fails(ValueError, "did you mean 'CAP_SLOTS'?", card.read, "CAP_SLOT")
        fails(ValueError, "register STATUS is RO", card.write, "STATUS", 1)
        fails(ValueError, "register JOB_KEY_LO is WO", card.read, "JOB_KEY_LO")
        for value in -1, 1 << 32:
            fails(ValueError, f"JOB_INDEX takes 0 to 4294967295, not {value}", card.write, "JOB_INDEX", value)
        fails(nc.CardError, "refuses register DROP_IN", card.write, "DROP_IN", 1)
        fails(ValueError, "at most 512", card.batch, [("ID", None)] * 513)
        fails(ValueError, "takes 1 to 64", card.job, 65)
        fails(ValueError, f"takes 1 to {card.slots}", card.job, 2, slots=card.slots + 1)
        fails(ValueError, "e4m3fn", card.job, 2, "e4m4")
        fails(ValueError, "takes 2 to", card.job, 2, "e3m0", "e4m3", beats=1)
        fails(nc.CardError, "more than half", card.job, 2, slots=card.slots)
        jobs = [card.job(1, slots=1) for _ in range(card.jobs)]
        fails(nc.CardError, "no free job", card.job, 1, slots=1)
        jobs.pop().close()
        job = card.job(2, slots=1)
        fails(ValueError, "need 2 of equal size", job.sum, [[1.0], [1.0, 2.0]])
        fails(ValueError, "need 2 of equal size", job.sum, [[1.0]])
        fails(ValueError, "more than 8 bits", job.sum, [np.array([256], np.uint16), np.array([1], np.uint16)])
        for wrong in ["a"], [1], [-1], np.array([1], np.int8), [True]:
            fails(TypeError, "must be floats", job.sum, [wrong, wrong])
        for shift in (-1, 7):
            fails(ValueError, f"out_shift={shift}: must be 0 to 6", job.sum, [[1.0], [1.0]], shift)
        bad = job.cut([[1.0], [1.0]])
        for own in bad:
            own[0].out_shift = 7
        job.cut = lambda *_: bad
        fails(nc.CardError, "BAD_FORMAT", job.sum, [[1.0], [1.0]])  # ends the job
        del job.cut
        fails(nc.CardError, "the job is closed", job.sum, [[1.0], [1.0]])
        for field, value in ("payload", bytes(64)), ("status", 1):
            job = card.job(2, slots=1)
            results = job.exchange(job.cut([[1.0], [1.0]]))
            setattr(results[1][0], field, value)
            job.exchange = lambda _: results
            fails(nc.CardError, "this card is broken", job.sum, [[1.0], [1.0]])  # ends the job
        fails(nc.CardError, "the job is closed", job.send, b"", 0)
        job = card.job(2, slots=1, timeout=1)
        fails(nc.CardError, "the card has those of ranks [0]", job.exchange, [job.cut([[1.0], [1.0]])[0]])
        fails(nc.CardError, "rank 1 got no answer", job.receive, 1, 0.1)
        card.link._socket.shutdown(socket.SHUT_RDWR)
        fails(nc.CardError, "its jobs have ended: open a new Card", card.read, "ID")
    fails(nc.CardError, "is closed: open a new Card", card.read, "ID")
    card = nc.Card(address)
    card.link._socket.shutdown(socket.SHUT_RDWR)  # as the card does after 10 s without a job
    assert card.read("VERSION") == 1
    opened = [card]
    try:
        while len(opened) < 100:
            opened.append(nc.Card(address))
    except nc.CardError as e:
        assert "close another Card" in str(e), e
    else:
        raise AssertionError("100 control connections")
    for each in opened:
        each.close()


PARTS = {"rules": rules, "sums": sums, "narrow": narrow, "errors": errors, "losses": losses, "lease": lease, "renewal": renewal}
PARTS[sys.argv[1]](*sys.argv[2:])
