#!/usr/bin/env python3
"""gpu_summary.py : prints the figures of gpu_all.sh beside their goals.
usage: bench/gpu/gpu_summary.py FILE.jsonl... [--json FILE]
Prints one line per figure: met, below, or not measured, with the reason."""
import argparse
import json

# Goals by figure: a lower bound, or exactly 0.
GOALS = [
    ("resnet18 32 px batch 512 tf32 to compile", 1.0), ("resnet18 32 px batch 512 fp16 to compile", 1.0),
    ("resnet18 32 px batch 512 tf32 to eager", 1.3), ("resnet18 32 px batch 512 fp16 to eager", 1.3),
    ("resnet50 224 px batch 128 fp16 to eager", 1.0), ("all-reduce hidden, 2 ranks on one GPU", 0.8),
]
ZEROS = ["all 2^32 floats, six formats: differences", "tests of vectors", "rows of 1024 MiB: failures", "rows of 4096 MiB: failures",
         "tests of GPU memory that fail", "tests of the GPU that fail", "memcheck: findings", "racecheck: findings", "synccheck: findings",
         "initcheck: findings", "NCCL by the plugin: failures", "DDP with each hook: failures"]


def rows_of(files):
    """Return {name: (asked, value, why)} of all figures, in the files' order.

    A name's last figure counts. Partial lines of a part that was stopped are skipped.
    """
    rows, asked = {}, dict(GOALS)
    for name, goal in GOALS:
        rows[name] = (f">= {goal}", None, "not run")
    for name in ZEROS:
        rows[name] = ("0", None, "not run")
    for path in files:
        with open(path) as lines:
            for line in lines:
                if not line.startswith("{"):
                    continue
                try:
                    j = json.loads(line)
                except ValueError:
                    continue
                if j["kind"] == "gpu":
                    name = f"{j['name']}, {j['mib']} MiB, to a copy"
                    failed = j["ratio"] is None
                    rows[name] = (f">= {j['asked']}" if j.get("asked") else "-", j["ratio"], "failed" if failed else f"{j['gbs']:.0f} GB/s")
                elif j["name"] in ZEROS:
                    rows[j["name"]] = ("0", j["value"], j.get("why", ""))
                else:
                    rows[j["name"]] = (f">= {asked[j['name']]}" if j["name"] in asked else "-", j["value"], j.get("why", ""))
    return rows


def verdict(asked, value):
    if value is None:
        return "not measured"
    if asked == "-":
        return ""
    return "met" if (value == 0 if asked == "0" else value >= float(asked[3:])) else "BELOW"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+")
    p.add_argument("--json")
    args = p.parse_args()
    rows = rows_of(args.files)
    print("| | goal | measured | | |\n|---|---|---|---|---|")
    for name, (asked, value, why) in rows.items():
        print(f"| {name} | {asked} | {'-' if value is None else value} | {verdict(asked, value)} | {why} |")
    if args.json:
        with open(args.json, "w") as out:
            json.dump([{"name": name, "asked": asked, "value": value, "verdict": verdict(asked, value)} for name, (asked, value, why) in rows.items()], out,
                      indent=1)
    met = [verdict(asked, value) for asked, value, _ in rows.values() if asked != "-"]
    print(f"{met.count('met')} met, {met.count('BELOW')} below, {met.count('not measured')} not measured")


main()
