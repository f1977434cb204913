#!/usr/bin/env python3
"""sta.py: counts the cells of a netlist of yosys and estimates its longest path by a delay model.

usage: sta.py [--path] NETLIST.json MODULE
  NETLIST.json  written by yosys after synth_xilinx or synth_ecp5
  --path        print the longest path on stderr
Prints LUT FF CARRY URAM BRAM LUTRAM ns. LUT includes LUTRAM, and on an ECP5 the two LUTs of each
carry cell, so it shows how full the part gets. rtl/README.md describes the model. It knows neither
placement nor routing: it can compare designs, but not sign off a clock.
"""
import json
import sys
from collections import Counter
from types import SimpleNamespace

ULTRASCALE = SimpleNamespace(
    clk_q=0.08,             # clock to a register's output
    setup=0.04,             # of a register
    lut=0.10,               # any input of a LUT to its output; reading a LUT RAM
    net=0.25,               # a net of up to net_loads inputs
    # from a LUT, MUXF or chain to its only load, a register; an ECP5 has both in one slice
    net_packed=0.25,
    net_loads=16,
    net_double=0.05,        # each time the loads double
    carry_in=0.05,          # S, DI or CYINIT into a carry chain; on ECP5 a LUT's inputs
    carry_bit=0.015,        # one bit along it
    carry_out=0.06,         # a sum bit out of it
    muxf=0.06,
    # to stored data, without output register
    ram_clk_q={'BRAM': 1.00, 'URAM': 1.40, 'LUTRAM': 0.60},
    ram_setup=0.35)         # address, data and enables of a BRAM or URAM
# nextpnr's for grade 8; nets: the mean over routed pieces (rtl/ecp5/README.md)
ECP5 = SimpleNamespace(
    clk_q=0.31, setup=0.0, lut=0.14, net=0.50, net_packed=0.11, net_loads=4, net_double=0.1, carry_in=0.28, carry_bit=0.0215, carry_out=0.26, muxf=0.12,
    ram_clk_q={'BRAM': 3.3, 'LUTRAM': 0.31}, ram_setup=0.0)

KINDS = (('LUT', ('LUT',)), ('FF', ('FD', 'TRELLIS_FF')), ('CARRY', ('CARRY4', 'CARRY8', 'CCU2C')), ('URAM', ('URAM288',)),
         ('BRAM', ('RAMB', 'DP16KD')), ('LUTRAM', ('RAM32', 'RAM64', 'RAM128', 'RAM256', 'RAM512', 'SRL', 'TRELLIS_DPR16X4')),
         ('MUXF', ('MUXF', 'PFUMX', 'L6MUX21')), ('WIRE', ('INV', 'BUFG')))
# if not 1: LUTs per LUT RAM, 18 Kb blocks per block RAM
SIZE = {'RAMB36E2': 2, 'RAMB36E1': 2, 'RAM32M16': 8, 'RAM64M8': 8, 'RAM32M': 4, 'RAM64M': 4, 'RAM32X1D': 2, 'RAM64X1D': 2,
        'RAM128X1D': 4, 'RAM128X1S': 2, 'RAM256X1S': 4, 'RAM256X1D': 8, 'RAM512X1S': 8, 'TRELLIS_DPR16X4': 4}
SELECTS = ('S', 'C0', 'SD')  # of a MUXF


def kind_of(cell_type):
    for kind, starts in KINDS:
        if cell_type.startswith(starts):
            return kind
    raise SystemExit(f"sta.py: no delay is known for cell '{cell_type}'")


class Netlist:
    """The cells of one flat module. A net is a number, a constant is a string."""

    def __init__(self, module):
        self.cells = {name: (kind_of(c['type']), c['type'], c['connections'], c['port_directions'])
                      for name, c in module['cells'].items()}
        self.is_ecp5 = any(t in ('TRELLIS_FF', 'CCU2C') or (t == 'LUT4' and 'Z' in pins) for _, t, pins, _ in self.cells.values())
        self.part = ECP5 if self.is_ecp5 else ULTRASCALE
        self.driver, self.loads, self.name = {}, Counter(), {}
        for cell, (_, _, pins, way) in self.cells.items():
            for pin, nets in pins.items():
                for i, net in enumerate(nets):
                    if way[pin] == 'output':
                        self.driver[net] = (cell, pin, i)
                    else:
                        self.loads[net] += 1
        self.outputs = [(f'{port}[{i}]', net) for port, p in module['ports'].items() if p['direction'] == 'output'
                        for i, net in enumerate(p['bits'])]
        for name, n in module['netnames'].items():
            for net in n['bits']:
                if net not in self.name or (n['hide_name'], len(name)) < self.name[net][0]:
                    self.name[net] = ((n['hide_name'], len(name)), name)

    def net_ns(self, net):
        doubles = max(0, (self.loads[net] - 1) // self.part.net_loads).bit_length()
        return self.part.net + self.part.net_double * doubles

    def arcs(self, net):
        """Lists (input net, ns from there to `net`) of the cell that drives `net`.

        An input of None is the clock or a port.
        """
        if net not in self.driver:
            return [(None, self.part.clk_q)]  # a port, as if from an outside register
        cell, pin, i = self.driver[net]
        kind, cell_type, pins, way = self.cells[cell]
        if kind == 'FF':
            return [(None, self.part.clk_q)]
        if kind in ('BRAM', 'URAM'):
            return [(None, self.part.ram_clk_q[kind])]
        if kind == 'WIRE':                   # its load absorbs an inverter
            return [(x, 0.0) for x in pins['I']]
        # RAM64M8 and similar: DOx reads ADDRx. TRELLIS_DPR16X4: RAD. Others:
        # DPO DPRAn, SPO, O and Q An.
        if kind == 'LUTRAM':
            address = 'RAD' if 'RAD' in pins else 'ADDR' + pin[2:] if pin.startswith('DO') else 'DPRA' if pin == 'DPO' else 'A'
            reads = [p for p in pins if p == address or (p.startswith(address) and p[len(address):].isdigit())]
            return [(None, self.part.ram_clk_q[kind])] + [(x, self.net_ns(x) + self.part.lut) for p in reads for x in pins[p]]
        if kind == 'CARRY':
            return self.ccu2c_arcs(pin, pins) if cell_type == 'CCU2C' else self.carry_arcs(pin, i, pins)
        ns = self.part.muxf if kind == 'MUXF' else self.part.lut
        return [(x, ns + (0.0 if kind == 'MUXF' and p not in SELECTS else self.net_ns(x)))
                for p in pins if way[p] == 'input' for x in pins[p]]

    def carry_arcs(self, pin, i, pins):
        """Lists the arcs to sum or carry bit i: from the carry in, S and DI of bits 0 to i.

        A sum does not depend on its own bit's DI. An S from a LUT beside the chain costs no net.
        """
        end = self.part.carry_out if pin == 'O' else self.part.carry_bit
        found = []
        carry = pins['CI'][0]
        if isinstance(carry, int):
            chained = self.driver.get(carry, ('', '', 0))[1] == 'CO'
            found.append((carry, i * self.part.carry_bit + end + (0.0 if chained else self.net_ns(carry) + self.part.carry_in)))
        for x in pins.get('CYINIT', []):
            found.append((x, self.net_ns(x) + self.part.carry_in + i * self.part.carry_bit + end))
        for k in range(i + 1):
            along = (i - k) * self.part.carry_bit + end
            found.append((pins['S'][k], self.lut_beside(pins['S'][k]) + self.part.carry_in + along))
            if k < i or pin == 'CO':
                found.append((pins['DI'][k], self.net_ns(pins['DI'][k]) + self.part.carry_in + along))
        return found

    def ccu2c_arcs(self, pin, pins):
        """Lists the arcs to S0, S1 or COUT of a CCU2C: two bits of a chain with their LUTs.

        They begin at the carry in and at the inputs of the output's bit and of lower bits.
        """
        top = {'S0': 0, 'S1': 1, 'COUT': 2}[pin]
        end = 0.0 if pin == 'COUT' else self.part.carry_out
        found = []
        carry = pins['CIN'][0]
        if isinstance(carry, int):
            chained = self.driver.get(carry, ('', '', 0))[1] == 'COUT'
            found.append((carry, top * self.part.carry_bit + end + (0.0 if chained else self.net_ns(carry) + self.part.carry_in)))
        for bit in range(min(top + 1, 2)):
            into = self.part.lut if bit == top else self.part.carry_in + end
            found += [(x, self.net_ns(x) + into) for p in 'ABCD' for x in pins[f'{p}{bit}']]
        return found

    def lut_beside(self, net):
        """Returns the net's ns to the S input of a chain: 0 for a LUT that drives only this input.

        Such a LUT is packed beside the chain.
        """
        cell = self.driver.get(net, (None,))[0]
        packed = cell is not None and self.cells[cell][0] == 'LUT' and self.loads[net] == 1
        return 0.0 if packed else self.net_ns(net)

    def kind_before(self, net):
        return self.cells[self.driver[net][0]][0] if net in self.driver else None

    def arrivals(self):
        """Maps each net on a path to an end to (ns, the net before it on its longest path).

        Uses a stack instead of recursion.
        """
        found, opened = {}, set()
        for start in {net for _, net, _ in self.ends()}:
            todo = [start]
            while todo:
                net = todo[-1]
                inputs = [(x, ns) for x, ns in self.arcs(net) if x is None or isinstance(x, int)]
                missing = [x for x, _ in inputs if x is not None and x not in found]
                if net in found or not missing:
                    todo.pop()
                    found[net] = max((((found[x][0] if x is not None else 0.0) + ns, x or 0) for x, ns in inputs), default=(0.0, 0))
                elif net in opened:
                    raise SystemExit('sta.py: the logic has a loop')
                else:
                    opened.add(net)
                    todo += missing
        return found

    def ends(self):
        """Yields (name, net, ns from the net's driver to the clock) of each end of a path.

        Ends are the inputs of registers and memories, and the output ports.
        """
        for port, net in self.outputs:
            if isinstance(net, int):
                yield f'output {port}', net, self.part.net + self.part.setup
        for cell, (kind, cell_type, pins, way) in self.cells.items():
            if kind in ('FF', 'BRAM', 'URAM', 'LUTRAM'):
                setup = self.part.setup if kind in ('FF', 'LUTRAM') else self.part.ram_setup
                for pin in pins:
                    if way[pin] == 'input' and pin not in ('C', 'CLK', 'WCLK', 'WCK', 'CLKA', 'CLKB', 'CLKARDCLK', 'CLKBWRCLK'):
                        for net in pins[pin]:
                            if isinstance(net, int):
                                beside = pin in ('D', 'DI') and kind == 'FF' and self.loads[net] == 1 and self.kind_before(net) in ('LUT', 'CARRY', 'MUXF')
                                yield f'{cell_type}.{pin}', net, (self.part.net_packed if beside else self.net_ns(net)) + setup

    def longest(self):
        """Returns (ns, end, [(net, ns)] from its start) of the longest path."""
        found = self.arrivals()
        ns, end, net = max(((found[net][0] + more, end, net) for end, net, more in self.ends()), default=(0.0, '', 0))
        path = []
        while net:
            path.insert(0, (net, found[net][0]))
            net = found[net][1]
        return ns, end, path


def main(args):
    show = '--path' in args
    args = [a for a in args if a != '--path']
    if len(args) != 2:
        raise SystemExit(__doc__)
    try:
        with open(args[0], encoding='utf-8') as f:
            modules = json.load(f)['modules']
    except OSError as e:
        raise SystemExit(f"sta.py: cannot open '{args[0]}': {e.strerror}; `make synth MODULE=NAME` writes it") from None
    # Yosys may add parameters to the name of a top: $paramod, name, parameters.
    derived = [m for m in modules if m.split('\\')[:2] == ['$paramod', args[1]]]
    netlist = Netlist(modules[args[1] if args[1] in modules else derived[0]])
    count = Counter()
    for kind, cell_type, _, _ in netlist.cells.values():
        count[kind] += SIZE.get(cell_type, 1)
    count['LUT'] += count['LUTRAM'] + (2 * count['CARRY'] if netlist.is_ecp5 else 0)
    ns, end, path = netlist.longest()
    print(*(count[kind] for kind in ('LUT', 'FF', 'CARRY', 'URAM', 'BRAM', 'LUTRAM')), f'{ns:.2f}')
    if show:
        for net, at in path:
            cell = netlist.cells[netlist.driver[net][0]][1] if net in netlist.driver else 'input'
            print(f'{at:6.2f} {cell:9s} {netlist.loads[net]:5d} loads  {netlist.name.get(net, ("", "?"))[1][:90]}', file=sys.stderr)
        print(f'{ns:6.2f} {end}', file=sys.stderr)


if __name__ == '__main__':
    main(sys.argv[1:])
