#!/usr/bin/env python3
"""generate.py: generates LiteEth's part of a card's shell: MAC, ARP, ICMP, IP, UDP.

Writes FOLDER/eth_VARIANT.v, with a data path of 32 bits. VARIANT is sim (for Verilator: the ports
carry the MAC's words, with preamble and CRC) or rgmii (a PHY by RGMII, on an ECP5).
Differences from LiteEth and liteeth_gen:
  - eth_guard.sv between the MAC and the layers above passes only complete, correct frames
  - arp_table.sv replaces LiteEth's table, where one address that does not answer blocks all frames
  - the IP checksum is corrected: LiteEth's sum includes the header of a frame dropped just before
  - frames to a multicast group have a TTL of 1 instead of 128
  - the card receives on fixed ports, and sends from and to any port; the addresses and the two
    receive ports are inputs of the module
"""
import argparse
import os
import re

from migen import ClockDomain, ClockSignal, If, Instance, ResetSignal, Signal
from litex.build.generic_platform import Pins, Subsignal
from litex.build.lattice.platform import LatticePlatform
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
import liteeth.core.arp
import liteeth.core.ip
import liteeth.mac
from liteeth.common import arp_table_request_layout, arp_table_response_layout, eth_phy_description
from liteeth.core import LiteEthUDPIPCore
from liteeth.mac.core import LiteEthMACCore

DW = 32
WORD = [("data", DW), ("last", 1), ("last_be", DW // 8), ("valid", 1), ("ready", 1)]
UDP = WORD + [("ip_address", 32), ("src_port", 16), ("dst_port", 16), ("length", 16)]
COUNTS = 5


def ports(name, layout):
    return (name, 0) + tuple(Subsignal(field, Pins(width)) for field, width in layout)


def both_ways(name, layout):
    """Returns a stream's ports: sink_* into LiteEth; source_* out of it, with an error flag."""
    return ports(name, [("sink_" + f, w) for f, w in layout] + [("source_" + f, w) for f, w in layout] + [("source_error", DW // 8)])


COMMON = [
    ("sys_clock", 0, Pins(1)), ("sys_reset", 0, Pins(1)),
    ("mac_address", 0, Pins(48)), ("ip_address", 0, Pins(32)), ("frames_port", 0, Pins(16)), ("control_port", 0, Pins(16)),
    ("guard_count", 0, Pins(COUNTS)),
    both_ways("frames", UDP), both_ways("control", UDP),
]
VARIANTS = {
    "sim": [both_ways("phy", WORD)],
    "rgmii": [
        ports("rgmii_clocks", [("tx", 1), ("rx", 1)]),
        ports("rgmii", [("rst_n", 1), ("mdio", 1), ("mdc", 1), ("rx_ctl", 1), ("rx_data", 4), ("tx_ctl", 1), ("tx_data", 4)]),
    ],
}


class SimPhy(LiteXModule):
    """Passes the MAC's words unchanged, in the system's clock."""
    dw = DW
    integrated_ifg_inserter = True

    def __init__(self, pads):
        self.sink = stream.Endpoint(eth_phy_description(DW))
        self.source = stream.Endpoint(eth_phy_description(DW))
        self.cd_eth_rx = ClockDomain(reset_less=True)
        self.cd_eth_tx = ClockDomain(reset_less=True)
        self.comb += [self.cd_eth_rx.clk.eq(ClockSignal("sys")), self.cd_eth_tx.clk.eq(ClockSignal("sys"))]
        join(self, self.sink, self.source, pads, WORD)


def join(module, out, into, pads, layout):
    """Connects LiteEth's output `out` to ports source_*, and ports sink_* to its input `into`."""
    for f in [f for f, _ in layout if f != "ready"]:
        module.comb += [getattr(pads, "source_" + f).eq(getattr(out, f)), getattr(into, f).eq(getattr(pads, "sink_" + f))]
    module.comb += [pads.source_error.eq(out.error), out.ready.eq(pads.source_ready), pads.sink_ready.eq(into.ready)]


class GuardedMac(LiteEthMACCore):
    """LiteEth's MAC with eth_guard.sv behind it."""
    guards = []

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        raw = self.source
        self.source = good = stream.Endpoint(eth_phy_description(DW))
        self.mac, self.ip, self.count = Signal(48), Signal(32), Signal(COUNTS)
        self.guards.append(self)
        self.specials += Instance(
            "eth_guard", i_clk_i=ClockSignal("sys"), i_rst_i=ResetSignal("sys"), i_mac_i=self.mac, i_ip_i=self.ip,
            i_in_data_i=raw.data, i_in_last_i=raw.last, i_in_last_be_i=raw.last_be, i_in_error_i=raw.error != 0,
            i_in_valid_i=raw.valid, o_in_ready_o=raw.ready,
            o_out_data_o=good.data, o_out_last_o=good.last, o_out_last_be_o=good.last_be, o_out_valid_o=good.valid,
            i_out_ready_i=good.ready, o_count_o=self.count)


class ArpTable(LiteXModule):
    """arp_table.sv with the interface of LiteEthARPTable."""

    def __init__(self, clk_freq, entries=1):
        layout = [("reply", 1), ("request", 1), ("ip_address", 32), ("mac_address", 48)]
        self.sink = heard = stream.Endpoint(layout)
        self.source = send = stream.Endpoint(layout)
        self.request = ask = stream.Endpoint(arp_table_request_layout)
        self.response = answer = stream.Endpoint(arp_table_response_layout)
        self.comb += [heard.ready.eq(1), send.reply.eq(~send.request)]
        self.specials += Instance(
            "arp_table", i_clk_i=ClockSignal("sys"), i_rst_i=ResetSignal("sys"),
            i_ask_ip_i=ask.ip_address, i_ask_valid_i=ask.valid, o_ask_ready_o=ask.ready,
            o_answer_mac_o=answer.mac_address, o_answer_failed_o=answer.failed, o_answer_valid_o=answer.valid,
            i_answer_ready_i=answer.ready,
            i_heard_ip_i=heard.ip_address, i_heard_mac_i=heard.mac_address, i_heard_request_i=heard.request,
            i_heard_valid_i=heard.valid & (heard.request | heard.reply),
            o_send_ip_o=send.ip_address, o_send_mac_o=send.mac_address, o_send_request_o=send.request,
            o_send_valid_o=send.valid, i_send_ready_i=send.ready)


def mend_checksum(tx):
    """Makes LiteEthIPTX restart a header's sum after a dropped frame, not only after a sent one."""
    end = tx.packetizer.source
    dropped = tx.fsm.ongoing("DROP") & end.valid & end.last & end.ready
    sent = tx.source.valid & tx.source.last & tx.source.ready
    tx.comb += tx.checksum.reset.eq(sent | dropped)


def keep_groups_near(tx):
    """Sets the TTL to 1 in frames to a multicast group (224.0.0.0/4): no router forwards them.

    LiteEthIPTX derives the MAC address of a group from its IP address, without ARP.
    """
    header = tx.packetizer.sink
    tx.comb += If(header.target_ip[28:] == 0xe, header.ttl.eq(1))


class Shell(LiteXModule):
    def __init__(self, platform, variant):
        ask = platform.request
        self.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(ask("sys_clock")), self.cd_sys.rst.eq(ask("sys_reset"))]
        mac, ip = ask("mac_address"), ask("ip_address")
        if variant == "sim":
            self.ethphy = SimPhy(ask("phy"))
        else:
            # As litex-boards has it for the ECPIX-5 and the ButterStick: only the transmit clock is delayed here.
            from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
            self.ethphy = LiteEthPHYRGMII(ask("rgmii_clocks"), ask("rgmii"), tx_delay=2e-9, rx_delay=0, with_hw_init_reset=False)
        liteeth.mac.LiteEthMACCore = GuardedMac
        liteeth.core.arp.LiteEthARPTable = ArpTable
        liteeth.core.ip.bcast_ip_mask = 256  # no last byte: an address that ends in 255 is a host's
        self.core = core = LiteEthUDPIPCore(
            self.ethphy, mac_address=mac, ip_address=ip, clk_freq=int(50e6), dw=DW, with_ip_broadcast=False, with_sys_datapath=True)
        mend_checksum(core.ip.tx)
        keep_groups_near(core.ip.tx)
        guard = GuardedMac.guards[-1]
        self.comb += [guard.mac.eq(mac), guard.ip.eq(ip), ask("guard_count").eq(guard.count)]
        for name, number in [("frames", ask("frames_port")), ("control", ask("control_port"))]:
            port = core.udp.crossbar.get_port(number, dw=DW)
            join(self, port.source, port.sink, ask(name), UDP)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=sorted(VARIANTS))
    parser.add_argument("folder")
    o = parser.parse_args()
    platform = LatticePlatform("LFE5UM5G-85F-8BG554I", io=COMMON + VARIANTS[o.variant], toolchain="trellis")
    platform.build(Shell(platform, o.variant), build_dir=os.path.join(o.folder, "litex"), build_name="eth_" + o.variant, run=False)
    # The comments at both ends contain the time; the file must be reproducible.
    name = "eth_%s.v" % o.variant
    with open(os.path.join(o.folder, "litex", name)) as made, open(os.path.join(o.folder, name), "w") as kept:
        text = made.read()
        text = text[text.index("module " + name[:-2]):text.rindex("endmodule")] + "endmodule\n"
        # LiteX declares a pin driven by a TRELLIS_IO as input; it must be inout.
        kept.write(re.sub(r"input  wire( +rgmii_mdio,)", r"inout  wire\1", text))


main()
