"""mutants.py : plants each mutant of mutants_list.py into the modules and runs the vectors.
usage: mutants.py        fails if a mutant is not caught, or a rule of FORMAT.md has none
       mutants.py all    also names the equivalent mutants that a vector catches"""
import json
import os
import re
import signal
import sys
import types

from mutants_list import CAUGHT, EQUIVALENT

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, "..", "vectors")
MODULES = ["narrowcast_format", "narrowcast_sums", "narrowcast_groups", "narrowcast_codecs", "narrowcast_packets",
           "narrowcast_card", "narrowcast_steps", "narrowcast_blocks"]
CHECKS = ["vector_tools", "check_numbers", "check_steps", "check_wire", "check_vectors"]


def load(sources):
    """Execute these sources as the modules; return check_vectors on top of them."""
    for name in MODULES + CHECKS:
        module = types.ModuleType(name)
        module.__file__ = os.path.join(HERE, name + ".py")
        sys.modules[name] = module
        exec(compile(sources[name], name, "exec"), module.__dict__)
    return sys.modules["check_vectors"]


def read_sources():
    sources = {}
    for name in MODULES + CHECKS:
        with open(os.path.join(HERE, name + ".py")) as text:
            sources[name] = text.read()
    return sources


def read_vectors():
    vectors = []
    for name in sorted(os.listdir(VECTORS)):
        if name.endswith(".jsonl"):
            with open(os.path.join(VECTORS, name)) as lines:
                vectors += [json.loads(line) for line in lines]
    return vectors


def too_long(*_):
    raise RuntimeError("too long")


def first_failure(sources, vectors, rule):
    """The id of the first vector that fails, those of the rule first; None if all pass."""
    try:
        checks = load(sources)
    except Exception as error:
        return "does not load: %s" % error
    for v in sorted(vectors, key=lambda v: rule not in v["rules"].split()):
        signal.setitimer(signal.ITIMER_VIRTUAL, 10)
        try:
            checks.check_of(v["op"])(v)
        except Exception:           # a mutant may raise anything
            return v["id"]
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def plant(sources, old, new):
    """The sources with the mutant; exit if its old text does not occur exactly once."""
    places = [name for name in MODULES if old in sources[name]]
    if len(places) != 1 or sources[places[0]].count(old) != 1:
        sys.exit("mutants.py: occurs not once: %r" % old)
    return {**sources, places[0]: sources[places[0]].replace(old, new)}


def main():
    signal.signal(signal.SIGVTALRM, too_long)
    sources, vectors = read_sources(), read_vectors()
    if first_failure(sources, vectors, "R1"):
        sys.exit("mutants.py: the modules themselves fail")
    survivors = 0
    for rule, old, new in CAUGHT:
        if first_failure(plant(sources, old, new), vectors, rule) is None:
            print("SURVIVED %s: %r -> %r" % (rule, old, new), flush=True)
            survivors += 1
    for rule, old, new in EQUIVALENT if sys.argv[1:] == ["all"] else []:
        killer = first_failure(plant(sources, old, new), vectors, rule)
        if killer:
            print("now caught by %s: %s: %r -> %r" % (killer, rule, old, new), flush=True)
    with open(os.path.join(HERE, "..", "FORMAT.md")) as text:
        rules = re.findall(r"^\*\*(R\d+)\.", text.read(), re.M)
    bare = [rule for rule in rules if rule not in [mutant[0] for mutant in CAUGHT]]
    if bare:
        print("rules without a mutant: " + " ".join(bare))
    print("mutants: %d for %d rules planted, %d survived; %d equivalent" % (
        len(CAUGHT), len(rules), survivors, len(EQUIVALENT)))
    sys.exit(survivors > 0 or bool(bare))


if __name__ == "__main__":
    main()
