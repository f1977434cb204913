#!/usr/bin/env python3
"""torch_casts.py : measures PyTorch's casts and largest magnitude on a GPU.
They are the reference of bench_gpu's rows. Speeds count bytes moved, as a ratio to a
device-to-device copy in the same run. Prints one JSON line per row.
usage: bench/casts/torch_casts.py [--mib 1024] [--reps 21]"""
import argparse
import json
import statistics
import sys

try:
    import torch
except (ImportError, OSError) as why:  # a library of NVIDIA's that it lacks is the second
    print(f"skip  PyTorch: {why}", file=sys.stderr)
    sys.exit(77)


def timed(run):
    """Return the milliseconds of one launch, between events."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mib", type=int, default=1024)
    p.add_argument("--reps", type=int, default=21)
    args = p.parse_args()
    if min(args.mib, args.reps) < 1:
        p.error("--mib and --reps: must be 1 or more")
    if not torch.cuda.is_available():
        print("skip  PyTorch: it sees no GPU", file=sys.stderr)
        sys.exit(77)
    n = args.mib << 18
    x = torch.randn(n, device="cuda") * 1e-3
    to = torch.empty_like(x)
    rows = [("torch fp32 -> " + name, dtype, 4 + dtype.itemsize) for name, dtype in
            (("e5m2", torch.float8_e5m2), ("e4m3fn", torch.float8_e4m3fn), ("fp16", torch.float16), ("bf16", torch.bfloat16))]
    for name, dtype, bytes_each in rows + [("torch largest magnitude", None, 4)]:
        out = torch.empty(n, dtype=dtype, device="cuda") if dtype else None
        run = (lambda: out.copy_(x)) if dtype else (lambda: torch.linalg.vector_norm(x, float("inf")))
        ratios, speeds = [], []
        for i in range(args.reps + 3):
            copied, ms = timed(lambda: to.copy_(x)), timed(run)
            if i >= 3:
                speeds.append(bytes_each * n / ms * 1e-6)
                ratios.append(bytes_each / ms / (8 / copied))
        print(json.dumps({"kind": "gpu", "mib": args.mib, "name": name, "device": torch.cuda.get_device_name(), "gbs": round(statistics.median(speeds), 1),
                          "ratio": round(statistics.median(ratios), 4)}), flush=True)


main()
