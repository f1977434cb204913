"""sass_loads.py LOG : counts loads in flight, from nvdisasm's output on standard input and that of ptxas -v in LOG. For each
kernel of LOG it prints a line with tabs: name; most loads of 16 bytes, of 8 or 16, and of 4 to 16, with no use of an earlier one's
registers, no branch and no label between them; instructions; registers; bytes spilt."""
import re
import subprocess
import sys

SECTION = re.compile(r"^\.text\.(\w+):")
LABEL = re.compile(r"^\.L_x_\d+:")
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)\s*(.*?)\s*;")
REGISTER = re.compile(r"\bR(\d+)(\.64)?\b")
LOAD = re.compile(r"^LDG?\.E(?!.*\.[US](?:8|16)\b)(?:.*\.(64|128)\b)?")


def touched(operands):
    """Numbers of the registers that an instruction names."""
    found = set()
    for number, wide in REGISTER.findall(operands):
        found.add(int(number))
        if wide:
            found.add(int(number) + 1)
    return found


def kernels(lines):
    name, coming, most = None, [], {}
    for line in lines:
        section = SECTION.match(line)
        if section:
            name, coming = section.group(1), []
            most[name] = [0, 0, 0, 0]
        instruction = INSTRUCTION.match(line)
        if LABEL.match(line):
            coming = []
        if not instruction or name is None:
            continue
        op, operands = instruction.groups()
        load = LOAD.match(op)
        most[name][3] += 1
        if any(touched(operands) & registers for _, registers in coming) or op.startswith(("BRA", "BRX", "JMP", "JMX", "CALL", "RET", "EXIT")):
            coming = []
        if not load:
            continue
        bits = int(load.group(1) or 32)
        first = int(REGISTER.search(operands).group(1))
        coming.append((bits, set(range(first, first + bits // 32))))
        for i, least in enumerate((128, 64, 32)):
            most[name][i] = max(most[name][i], sum(bits >= least for bits, _ in coming))
    return most


def resources(log):
    """Registers and bytes spilt by kernel, as ptxas says them."""
    name, spilt, found = None, 0, {}
    for line in log:
        entry = re.search(r"Compiling entry function '(\w+)'", line)
        if entry:
            name, spilt = entry.group(1), None
        stores = re.search(r"(\d+) bytes spill stores", line)
        if stores and spilt is None:
            spilt = int(stores.group(1))
        used = re.search(r"Used (\d+) registers", line)
        if used and name:
            found[name], name = (int(used.group(1)), spilt), None
    return found


with open(sys.argv[1]) as log:
    costs = resources(log)
for kernel, loads in kernels(sys.stdin).items():
    if kernel in costs:
        plain = subprocess.run(["c++filt", "-p", kernel], capture_output=True, text=True, check=True).stdout.strip()
        print(plain, *loads, *costs[kernel], sep="\t")
