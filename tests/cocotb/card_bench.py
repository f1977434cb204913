"""card_bench.py : a job of two ranks through the card (rtl/nic_core.sv), from Python with cocotb.

The card of tests/conformance/python takes the same register writes and frames: registers, frames and
counters must be equal.
"""
import random

import cocotb
import narrowcast_card as card
import narrowcast_format as nf
import narrowcast_packets as pk
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

JOB, KEY, SLOT_BASE, SLOTS = 1, 0x0123456789ABCDEF, 8, 4
ADDRESSES = (0x0A000100, 1000), (0x0A000101, 1001)      # IP address and UDP port of each rank
CTRL, STATUS, DROP_IN = 0x018, 0x01C, 0x070             # hls/card/regs.def
BEATS = 3                                               # payload beats of a frame
QUIET = 150                                             # clocks without a frame: none comes
SEED = 1


class Bench:
    """The card, its registers and frames; the card of the conformance tests beside it."""

    def __init__(self, dut):
        self.dut, self.model = dut, card.Card()
        self.random = random.Random(SEED)
        self.out = []                                   # frames sent by the card: (address, bytes)

    async def start(self):
        """Start the clock and reset the card."""
        d = self.dut
        for port in (d.rx_data_i, d.rx_keep_i, d.rx_last_i, d.rx_ip_i, d.rx_port_i, d.rx_valid_i, d.tx_ready_i,
                     d.s_awaddr_i, d.s_awvalid_i, d.s_wdata_i, d.s_wvalid_i, d.s_bready_i, d.s_araddr_i,
                     d.s_arvalid_i, d.s_rready_i):
            port.value = 0
        d.s_wstrb_i.value = 15
        d.rst_i.value = 1
        cocotb.start_soon(Clock(d.clk_i, 4, "ns").start())
        await ClockCycles(d.clk_i, 4)
        d.rst_i.value = 0
        cocotb.start_soon(self._take_frames())

    async def _taken(self, valid, ready):
        """Hold valid until the card takes the beat."""
        valid.value = 1
        while True:
            await RisingEdge(self.dut.clk_i)
            if int(ready.value):
                break
        valid.value = 0

    async def write(self, at, value):
        """Write a register over AXI-Lite."""
        d = self.dut
        d.s_awaddr_i.value, d.s_wdata_i.value = at, value
        address = cocotb.start_soon(self._taken(d.s_awvalid_i, d.s_awready_o))
        await self._taken(d.s_wvalid_i, d.s_wready_o)
        await address
        await self._taken(d.s_bready_i, d.s_bvalid_o)

    async def read(self, at):
        """Read a register over AXI-Lite."""
        d = self.dut
        d.s_araddr_i.value = at
        await self._taken(d.s_arvalid_i, d.s_arready_o)
        d.s_rready_i.value = 1
        while True:
            await RisingEdge(d.clk_i)
            if int(d.s_rvalid_o.value):
                break
        d.s_rready_i.value = 0
        return int(d.s_rdata_o.value)

    async def write_both(self, at, value):
        """Write a register of both cards."""
        assert self.model.write(at, value), hex(at)
        await self.write(at, value)

    async def compare_register(self, at):
        value, wanted = await self.read(at), self.model.read(at)
        assert value == wanted, f"register {at:#x} is {value:#x}, not {wanted:#x}"

    async def send(self, source, frame):
        """Send a frame to the card, one beat of 64 bytes per clock."""
        d = self.dut
        d.rx_ip_i.value, d.rx_port_i.value = source
        for at in range(0, len(frame), 64):
            beat = frame[at:at + 64]
            d.rx_data_i.value = int.from_bytes(beat, "little")
            d.rx_keep_i.value = 2**len(beat) - 1
            d.rx_last_i.value = int(at + 64 >= len(frame))
            await self._taken(d.rx_valid_i, d.rx_ready_o)

    async def _take_frames(self):
        """Collect the card's frames; ready falls at random."""
        d, frame, to, ready = self.dut, b"", None, 0
        while True:
            await RisingEdge(d.clk_i)
            if ready and int(d.tx_valid_o.value):
                if not frame:
                    to = int(d.tx_ip_o.value), int(d.tx_port_o.value)
                frame += int(d.tx_data_o.value).to_bytes(64, "little")
                if int(d.tx_last_o.value):
                    self.out.append((to, frame))
                    frame = b""
            ready = int(self.random.random() < 0.75)
            d.tx_ready_i.value = ready

    async def play(self, rank, packet, counter):
        """Send a rank's packet to both cards; return the answers, which must be equal."""
        name, wanted = self.model.receive(ADDRESSES[rank], packet.frame())
        assert name == counter, f"the rules count the packet as {name}, not {counter}"
        self.out.clear()
        await self.send(ADDRESSES[rank], packet.frame())
        await ClockCycles(self.dut.clk_i, QUIET)
        assert sorted(self.out) == sorted(wanted), f"{counter}: sent {self.out}, not {wanted}"
        return {ADDRESSES.index(to): frame for to, frame in self.out}

    async def start_job(self):
        """Register the job and its ranks, as a host does (rules R113 to R116)."""
        await self.write_both(CTRL, 1)
        for at, value in ((0x020, JOB), (0x024, len(ADDRESSES)), (0x028, KEY & 0xFFFFFFFF), (0x02C, KEY >> 32),
                          (0x030, SLOT_BASE), (0x034, SLOTS), (0x03C, 1)):
            await self.write_both(at, value)
        for rank, (ip, port) in enumerate(ADDRESSES):
            for at, value in ((0x020, JOB), (0x040, rank), (0x044, ip), (0x048, port), (0x04C, 1)):
                await self.write_both(at, value)
        await self.compare_register(STATUS)

    async def compare_counters(self):
        await self.write_both(CTRL, 3)
        for index in range(len(card.COUNTERS)):
            await self.write_both(0x050, index)
            await self.compare_register(0x054)


@cocotb.test()
async def job_of_two_ranks(dut):
    """Sums of e4m3 codes, with a lost contribution, a lost result and a duplicate."""
    bench = Bench(dut)
    await bench.start()
    for at in (0x000, 0x004, 0x008, 0x00C, 0x010, 0x014):
        await bench.compare_register(at)
    await bench.start_job()

    fmt = nf.parse_format("e4m3")
    packets, waiting = [], []
    for rank in range(len(ADDRESSES)):
        codes = [bench.random.choice(range(0x70)) | bench.random.choice((0, 0x80)) for _ in range(2 * BEATS * 64)]
        sender = pk.Sender(rank, JOB, KEY, SLOT_BASE, SLOTS, nonce=1, most_beats=BEATS)
        packets.append(sender.cut_sum(fmt, fmt, 1, 1, 2, codes))
        waiting.append(pk.Waiting(rank, JOB, KEY, SLOT_BASE, SLOTS))
        for packet in packets[rank]:
            waiting[rank].sent(packet)

    # Packet 0: the card itself loses rank 0's contribution.
    await bench.play(1, packets[1][0], "IN_ADDED")
    await bench.write(DROP_IN, 0xFFFFFFFF)
    bench.out.clear()
    await bench.send(ADDRESSES[0], packets[0][0].frame())
    await ClockCycles(dut.clk_i, QUIET)
    assert not bench.out, "a lost contribution was answered"
    bench.model.counters["DROP_TEST_IN"] += 1
    await bench.write(DROP_IN, 0)
    # A PONG tells rank 0 to send it again; rank 1's frame a second time is a duplicate.
    ping = pk.Packet(rank=0, key=KEY, job=JOB, slot=SLOT_BASE, op=pk.PING, echo=5)
    pong = pk.parse((await bench.play(0, ping, "IN_PING"))[0])
    assert pk.pong_action(0, True, pong.status, pong.chunk, pk.pong_bit(pong, 0)) == "send again"
    await bench.play(1, packets[1][0], "DROP_DUPLICATE")
    results = await bench.play(0, packets[0][0], "IN_ADDED")
    assert waiting[1].judge(results[1]) == "accepted"
    # Rank 0's result is lost: its contribution again brings the kept result, to it alone.
    kept = await bench.play(0, packets[0][0], "IN_RESENT")
    assert kept == {0: results[0]}
    assert waiting[0].judge(kept[0]) == "accepted" and waiting[0].judge(kept[0]) == "stale"

    # Packet 1: nothing is lost.
    await bench.play(0, packets[0][1], "IN_ADDED")
    results = await bench.play(1, packets[1][1], "IN_ADDED")
    assert [waiting[rank].judge(results[rank]) for rank in (0, 1)] == ["accepted", "accepted"]
    await bench.compare_counters()
