#!/usr/bin/env python3
"""ddp_elastic.py : trains on while processes die, and ends with the weights of an undisturbed run.

    ddp_elastic.py --processes 3 [--blocks 6] [--steps 8] [--kill PROCESS:STEP ...]

A batch has `blocks` parts, and the mean over them does not depend on the number of processes (narrowcast.ddp.State, blocks=). After a
death each of the others gets a RuntimeError, leaves its groups, and meets the others in a new one, where the blocks are dealt anew.
The lowest step that one of them has to do is done again by all, from the weights before it, which each has kept. A codec with a
state (onebit, relgrad) would need the lost process's residuals too: go on from a checkpoint then."""
import argparse
import contextlib
import copy
import datetime
import os
import signal
import time
import zlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SETTLE_S = 5  # the library tells all processes of a death within 2 s


def meet(store, me, number, first):
    """Join the group of this number with all processes that live. Return its name."""
    name = f"group{number}"
    place = store.add(name, 1) - 1
    rank = me if first else place
    end = time.monotonic() + 120
    while first and store.add(name, 0) < first and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0 if first else SETTLE_S)
    n_ranks = store.add(name, 0)
    if rank >= n_ranks or (first and n_ranks < first):
        raise SystemExit("this process came too late")
    # no process may count a later one
    if store.add(name + "closed", 1) == 1:
        store.set(name + "size", str(n_ranks))
    if int(store.get(name + "size")) != n_ranks:
        raise SystemExit("the processes count each other differently: SETTLE_S is too short")
    dist.init_process_group("gloo", store=dist.PrefixStore(name, store), rank=rank, world_size=n_ranks,
                            timeout=datetime.timedelta(seconds=60))


def part(step, block):
    """The part of a step's batch for one block."""
    made = torch.Generator().manual_seed(1000 * step + block)
    x = torch.randn(16, 20, generator=made)
    return x, x.abs().sum(1, keepdim=True)


def make():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def one_step(ddp, state, optimizer, step, dies):
    optimizer.zero_grad()
    for block in state.blocks:
        last = block == state.blocks[-1]
        x, y = part(step, block)
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss = torch.nn.functional.mse_loss(ddp(x), y)
            if dies and last:  # in the middle of the backward pass
                ddp.module[0].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
            loss.backward()
        if not last:
            state.next_block()
    optimizer.step()


def work(me, args, port):
    import narrowcast.ddp

    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, is_master=False)
    step, number, kept, ended = 0, 0, {}, False  # kept: weights and the optimizer's state before the last two steps
    while not ended:
        meet(store, me, number, 0 if number else args.processes)
        lowest = torch.tensor([step])
        dist.all_reduce(lowest, dist.ReduceOp.MIN)
        step = int(lowest)
        model, optimizer = make()  # a failed DistributedDataParallel leaves its hooks on the old one
        if step in kept:
            model.load_state_dict(kept[step][0])
            optimizer.load_state_dict(kept[step][1])
        ddp = torch.nn.parallel.DistributedDataParallel(model)
        state = narrowcast.ddp.State(ddp, format="e4m3", scale="aps", blocks=args.blocks, deadline_s=20)
        ddp.register_comm_hook(state, narrowcast.ddp.hook)
        try:
            while True:
                kept = {step - 1: kept.get(step - 1), step: copy.deepcopy((model.state_dict(), optimizer.state_dict()))}
                if step == args.steps:
                    break
                one_step(ddp, state, optimizer, step, f"{me}:{step}" in args.kill)
                step += 1
            dist.barrier()  # all have the last step
            ended = True
        except RuntimeError as lost:
            print(f"process {me} leaves group {number} in step {step}: {str(lost).splitlines()[0]}", flush=True)
        n_ranks = dist.get_world_size()
        state.close()
        dist.destroy_process_group()
        number += 1
    crc = 0
    for p in model.parameters():
        crc = zlib.crc32(p.detach().numpy().tobytes(), crc)
    print(f"process {me} of {n_ranks}: weights {crc:08x} after {step} steps", flush=True)
    os._exit(0)  # a thread of gloo may still wait for a lost process


def main():
    parse = argparse.ArgumentParser()
    for name, default in (("processes", 3), ("blocks", 6), ("steps", 8)):
        parse.add_argument("--" + name, type=int, default=default)
    parse.add_argument("--kill", nargs="*", default=[], help="PROCESS:STEP, from 0")
    args = parse.parse_args()
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    processes = [mp.get_context("spawn").Process(target=work, args=(me, args, store.port)) for me in range(args.processes)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
    bad = [p.exitcode for me, p in enumerate(processes) if p.exitcode and not any(k.startswith(f"{me}:") for k in args.kill)]
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
