#!/usr/bin/env python3
"""sta.py: what a netlist of yosys (synth_xilinx, JSON) is made of, and its longest path by a simple delay model.

usage: sta.py [--path] NETLIST.json MODULE      prints LUT FF CARRY URAM BRAM LUTRAM ns; --path: the longest path too, on stderr
The model is described in rtl/README.md: no placement, no routing, so it compares designs and signs nothing off.
"""
import json
import sys
from collections import Counter

CLK_Q = 0.08                # a register's output after its clock
SETUP = 0.04                # a register's input before its clock
LUT = 0.10                  # any input of a LUT to its output; reading a LUT RAM
NET = 0.25                  # a net of up to NET_LOADS inputs,
NET_LOADS = 16
NET_DOUBLE = 0.05           # and this much more each time its loads double
CARRY_IN = 0.05             # S, DI or CYINIT into a carry chain
CARRY_BIT = 0.015           # one bit along it
CARRY_OUT = 0.06            # a sum bit out of it
MUXF = 0.06
RAM_CLK_Q = {'BRAM': 1.00, 'URAM': 1.40, 'LUTRAM': 0.60}  # stored data after the clock, no output register
RAM_SETUP = 0.35            # address, data and enables of a BRAM or URAM

KINDS = (('LUT', ('LUT',)), ('FF', ('FD',)), ('CARRY', ('CARRY4', 'CARRY8')), ('URAM', ('URAM288',)),
         ('BRAM', ('RAMB',)), ('LUTRAM', ('RAM32', 'RAM64', 'RAM128', 'RAM256', 'RAM512', 'SRL')),
         ('MUXF', ('MUXF',)), ('WIRE', ('INV', 'BUFG')))
# LUTs that a LUT RAM occupies, blocks of 18 Kb in a block RAM, where it is not one
SIZE = {'RAMB36E2': 2, 'RAMB36E1': 2, 'RAM32M16': 8, 'RAM64M8': 8, 'RAM32M': 4, 'RAM64M': 4, 'RAM32X1D': 2, 'RAM64X1D': 2,
        'RAM128X1D': 4, 'RAM128X1S': 2, 'RAM256X1S': 4, 'RAM256X1D': 8, 'RAM512X1S': 8}


def kind_of(cell_type):
    for kind, starts in KINDS:
        if cell_type.startswith(starts):
            return kind
    raise SystemExit(f"sta.py: no delay is known for cell '{cell_type}'")


class Netlist:
    """The cells of one flat module; a net is a number, a constant a string."""

    def __init__(self, module):
        self.cells = {name: (kind_of(c['type']), c['type'], c['connections'], c['port_directions'])
                      for name, c in module['cells'].items()}
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
        doubles = max(0, (self.loads[net] - 1) // NET_LOADS).bit_length()
        return NET + NET_DOUBLE * doubles

    def arcs(self, net):
        """(input net, ns from it to `net`) of the cell that drives `net`; input None: from the clock or a port."""
        if net not in self.driver:
            return [(None, CLK_Q)]          # a port of the module: as if from a register outside
        cell, pin, i = self.driver[net]
        kind, cell_type, pins, way = self.cells[cell]
        if kind == 'FF':
            return [(None, CLK_Q)]
        if kind in ('BRAM', 'URAM'):
            return [(None, RAM_CLK_Q[kind])]
        if kind == 'WIRE':                   # an inverter is absorbed by what it drives
            return [(x, 0.0) for x in pins['I']]
        if kind == 'LUTRAM':                 # RAM64M8 and the like: DOx reads ADDRx; others: DPO reads DPRAn, SPO, O and Q An
            address = 'ADDR' + pin[2:] if pin.startswith('DO') else 'DPRA' if pin == 'DPO' else 'A'
            reads = [p for p in pins if p == address or (p.startswith(address) and p[len(address):].isdigit())]
            return [(None, RAM_CLK_Q[kind])] + [(x, self.net_ns(x) + LUT) for p in reads for x in pins[p]]
        if kind == 'CARRY':
            return self.carry_arcs(pin, i, pins)
        ns = MUXF if kind == 'MUXF' else LUT
        return [(x, ns + (0.0 if kind == 'MUXF' and p != 'S' else self.net_ns(x)))
                for p in pins if way[p] == 'input' for x in pins[p]]

    def carry_arcs(self, pin, i, pins):
        """To sum or carry bit i: the carry in, then S and DI of the bits below, S alone (a LUT beside it) without a net."""
        end = CARRY_OUT if pin == 'O' else CARRY_BIT
        found = []
        carry = pins['CI'][0]
        if isinstance(carry, int):
            chained = self.driver.get(carry, ('', '', 0))[1] == 'CO'
            found.append((carry, i * CARRY_BIT + end + (0.0 if chained else self.net_ns(carry) + CARRY_IN)))
        for x in pins.get('CYINIT', []):
            found.append((x, self.net_ns(x) + CARRY_IN + i * CARRY_BIT + end))
        for k in range(i + 1):
            along = (i - k) * CARRY_BIT + end
            found.append((pins['S'][k], self.lut_beside(pins['S'][k]) + CARRY_IN + along))
            if k < i or pin == 'CO':
                found.append((pins['DI'][k], self.net_ns(pins['DI'][k]) + CARRY_IN + along))
        return found

    def lut_beside(self, net):
        """A LUT that only drives the S of a chain is packed beside it; anything else comes over a net."""
        cell = self.driver.get(net, (None,))[0]
        packed = cell is not None and self.cells[cell][0] == 'LUT' and self.loads[net] == 1
        return 0.0 if packed else self.net_ns(net)

    def arrivals(self):
        """Net -> (ns, the net before it on its longest path), for every net that ends somewhere. Without recursion."""
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
        """(what it is, net, ns from the net's driver to the clock) of every register's and memory's input and every port."""
        for port, net in self.outputs:
            if isinstance(net, int):
                yield f'output {port}', net, NET + SETUP
        for cell, (kind, cell_type, pins, way) in self.cells.items():
            if kind in ('FF', 'BRAM', 'URAM', 'LUTRAM'):
                setup = SETUP if kind in ('FF', 'LUTRAM') else RAM_SETUP
                for pin in pins:
                    if way[pin] == 'input' and pin not in ('C', 'CLK', 'WCLK', 'CLKARDCLK', 'CLKBWRCLK'):
                        for net in pins[pin]:
                            if isinstance(net, int):
                                yield f'{cell_type}.{pin}', net, self.net_ns(net) + setup

    def longest(self):
        """(ns, end, [(net, ns)] from the start of the longest path)."""
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
    with open(args[0], encoding='utf-8') as f:
        netlist = Netlist(json.load(f)['modules'][args[1]])
    count = Counter()
    for kind, cell_type, _, _ in netlist.cells.values():
        count[kind] += SIZE.get(cell_type, 1)
    count['LUT'] += count['LUTRAM']
    ns, end, path = netlist.longest()
    print(*(count[kind] for kind in ('LUT', 'FF', 'CARRY', 'URAM', 'BRAM', 'LUTRAM')), f'{ns:.2f}')
    if show:
        for net, at in path:
            cell = netlist.cells[netlist.driver[net][0]][1] if net in netlist.driver else 'input'
            print(f'{at:6.2f} {cell:9s} {netlist.loads[net]:5d} loads  {netlist.name.get(net, ("", "?"))[1][:90]}', file=sys.stderr)
        print(f'{ns:6.2f} {end}', file=sys.stderr)


if __name__ == '__main__':
    main(sys.argv[1:])
