#!/usr/bin/env python3
"""nccl_plugin.py : tests NCCL, in PyTorch, with libnccl-net-narrowcast.so and a simulated card.
Ranks share a GPU, but appear to NCCL as separate machines. Sums must be right, and NCCL's log must
report that the card made them.
usage: bench/gpu/nccl_plugin.py [--build build] [--ranks 2]
Exits 0, 1, or 77 without a GPU, PyTorch or the plugin."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ELEMENTS = (1 << 20, 1000, 3)


def skip(why):
    print(f"skip  {why}")
    sys.exit(77)


def rank(number, ranks, port):
    """Run a rank: add integers that are small enough for e5m2. Return 1 if a sum is wrong."""
    import torch
    import torch.distributed as dist
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=number, world_size=ranks)
    wrong = 0
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for n in ELEMENTS:
            at = torch.arange(n, device=device)
            x = ((at + number) % 4).to(dtype)
            dist.all_reduce(x)
            wanted = sum(((at + r) % 4) for r in range(ranks)).to(dtype)
            wrong += int((x != wanted).sum())
    torch.cuda.synchronize()
    dist.destroy_process_group()
    print(f"rank {number}: {wrong} wrong sums", flush=True)
    return 1 if wrong else 0


def run(build, ranks):
    """Start a card and all ranks. Return 0 if every sum is right and came from the card."""
    card = subprocess.Popen([f"{build}/narrowcast-sim", "--engine", "c", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        where = card.stdout.readline().split()[-1]
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, NARROWCAST_OFFLOAD=f"udp://{where}", NARROWCAST_FORMAT="e5m2", NARROWCAST_DEADLINE="60",
                       LD_LIBRARY_PATH=os.path.abspath(build) + ":" + os.environ.get("LD_LIBRARY_PATH", ""), NCCL_NET_PLUGIN="narrowcast",
                       NCCL_COLLNET_ENABLE="1", NCCL_COLLNET_NODE_THRESHOLD="2", NCCL_ALGO="CollnetChain", NCCL_SOCKET_IFNAME="lo",
                       NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET")
            port = 20000 + os.getpid() % 20000
            started = [subprocess.Popen([sys.executable, __file__, "--rank", str(r), "--ranks", str(ranks), "--port", str(port)],
                                        env=dict(env, NCCL_HOSTID=f"machine-{r}", NCCL_DEBUG_FILE=f"{folder}/{r}")) for r in range(ranks)]
            codes = [p.wait(timeout=300) for p in started]
            for r in range(ranks):
                with open(f"{folder}/{r}") as log:
                    text = log.read()
                for line in text.splitlines():
                    if "narrowcast" in line.lower() or "collnet" in line.lower():
                        print(line)
                by_card = re.search(r"leaves after (\d+) all-reduces, (\d+) of them by cards", text)
                if not by_card or by_card[1] != by_card[2] or by_card[1] == "0":
                    print(f"FAIL rank {r}: its sums did not come by the card")
                    codes.append(1)
        return 1 if any(codes) else 0
    finally:
        card.kill()
        card.wait()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.environ.get("B", "build"))
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    p.add_argument("--port", type=int, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.rank is not None:
        return rank(args.rank, args.ranks, args.port)
    for name in ("libnccl-net-narrowcast.so", "narrowcast-sim"):
        if not os.path.exists(f"{args.build}/{name}"):
            skip(f"{args.build}/{name} is not there")
    try:
        import torch
    except ImportError as why:
        skip(f"PyTorch: {why}")
    if not torch.cuda.is_available() or not torch.distributed.is_nccl_available():
        skip("PyTorch sees no GPU, or has no NCCL")
    return run(args.build, args.ranks)


if __name__ == "__main__":
    sys.exit(main())
