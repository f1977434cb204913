"""check_vectors.py : runs every vector of ../vectors; prints a line per file, and the vectors that differ.
usage: check_vectors.py [-v] [FILE.jsonl...]"""
import json
import os
import sys

import check_numbers
import check_steps
import check_wire

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors")


def check_of(op):
    """The function that checks vectors of this op."""
    name = "check_" + op
    return getattr(check_numbers, name, None) or getattr(check_steps, name, None) or getattr(check_wire, name)


def run(names, verbose):
    bad = 0
    for name in names:
        passed, failed = 0, []
        with open(os.path.join(VECTORS, name)) as lines:
            for line in lines:
                v = json.loads(line)
                try:
                    check_of(v["op"])(v)
                    passed += 1
                except Exception as error:          # a mutant may raise anything
                    failed.append((v["id"], error))
        print("%-20s passed %3d, failed %d" % (name, passed, len(failed)))
        for identity, error in failed:
            print("    %s%s" % (identity, ": %s" % str(error)[:1500] if verbose else ""))
        bad += len(failed)
    return bad


if __name__ == "__main__":
    arguments = sys.argv[1:]
    chosen = [a for a in arguments if a != "-v"]
    files = sorted(f for f in os.listdir(VECTORS) if f.endswith(".jsonl"))
    sys.exit(min(1, run(chosen or files, "-v" in arguments)))
