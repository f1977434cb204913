#!/usr/bin/env python3
"""pieces.py: compares the delay model of sta.py with nextpnr-ecp5 on single modules.

usage: pieces.py [MODULE...]       lines of pieces.list [all], or those of the modules named
Environment: B, the build folder; SEED, the placement seed [1].
Prints one line per module: its LUTs and registers; the longest path in ns by the model, after
placement and after routing; the clock in MHz; for the routed path, ns in logic, ns in nets, the
number of nets and their mean. Netlists and logs stay in $B/ecp5/piece-MODULE.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ among sources
import bitstream
import tools

BOARD = bitstream.Board('piece', 'piece', '', 200, '-', [], '--um5g-85k --package CABGA554 --speed 8'.split())


def routed_path(report):
    """Returns (ns, ns in nets, number of nets) of the longest path from clock to clock.

    A net from a LUT to the register beside it does not count.
    """
    inside = [p for p in report['critical_paths'] if 'posedge' in p['from'] and 'posedge' in p['to']]
    hops = max(inside, key=lambda p: sum(h['delay'] for h in p['path']))['path']
    nets = [h['delay'] for h in hops if h['type'] == 'routing' and h['delay'] > 0.11]
    return sum(h['delay'] for h in hops), sum(nets), len(nets)


def main(wanted):
    os.chdir(os.path.join(tools.HERE, '../..'))
    tools.catch_signals()
    tools.need('yosys')
    bin_folder = tools.router(f'{bitstream.B}/ecp5')
    tools.use_cache(f'{bitstream.B}/ecp5')
    with open(os.path.join(tools.HERE, 'pieces.list'), encoding='utf-8') as f:
        lines = [line.split() for line in f if line.strip() and not line.startswith('#')]
    rows = []
    for module, *params in lines:
        if wanted and module not in wanted:
            continue
        folder = f'{bitstream.B}/ecp5/piece-{module}'
        os.makedirs(folder, exist_ok=True)
        bitstream.piece(module, params, folder)
        luts, ffs, *_, model = subprocess.run([sys.executable, 'rtl/check/sta.py', f'{folder}/piece.json', module], capture_output=True,
                                              text=True, check=True).stdout.split()
        seed = os.environ.get('SEED', '1')
        report, _ = bitstream.route(BOARD, seed, folder, bin_folder)
        with open(f'{folder}/route-{seed}.log', encoding='utf-8') as f:
            estimate = float(re.search(r'Max frequency for clock.*: ([0-9.]+) MHz', f.read()).group(1))
        ns, in_nets, n = routed_path(report)
        rows.append(f'{" ".join([module, *params]):30s} {luts:>6s} {ffs:>6s} {float(model):6.2f} {1000 / estimate:6.2f} {ns:6.2f} {1000 / ns:5.0f}'
                    f' {ns - in_nets:6.2f} {in_nets:6.2f} {n:5d} {in_nets / max(n, 1):5.2f}')
    print(f'{"module":30s} {"LUT":>6s} {"FF":>6s} {"model":>6s} {"placed":>6s} {"routed":>6s} {"MHz":>5s} {"logic":>6s} {"nets":>6s} {"of":>5s} {"mean":>5s}')
    print(*rows, sep='\n')


if __name__ == '__main__':
    main(sys.argv[1:])
