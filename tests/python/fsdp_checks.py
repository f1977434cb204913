# fsdp_checks.py : checks narrowcast.fsdp on 3 CPU ranks over gloo, for test_fsdp.sh: means of known gradients, weights, inf and nan,
# refusals, a killed rank.
#
#     fsdp_checks.py FOLDER
#     fsdp_checks.py FOLDER gpu    the means and weights in memory of the GPUs' emulator, $NARROWCAST_CUDA
#     fsdp_checks.py FOLDER cuda   the same on this machine's GPUs, which the ranks may share
import os
import signal
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "python"))
import narrowcast.ddp as nd  # noqa: E402
import narrowcast.fsdp as nf  # noqa: E402
from narrowcast import cast  # noqa: E402
from ddp_runs import check, use_emulator  # noqa: E402

RANKS = 3
EXACT = {"format": "fp16", "scale": "none", "quantise": "all"}  # holds the numbers below and their sums
DEVICE = "cuda" if sys.argv[2:] == ["cuda"] else "cpu"
SHAPES = [(7, 5), (3,), (2, 3, 2), (6, 4), (1, 1)]  # of rows that 3 ranks do not divide, and fewer than ranks


class Unit(torch.nn.Module):
    """Its call takes the parameters' gradients. A parameter gets none where the call has None."""

    def __init__(self, *shapes):
        super().__init__()
        self.all = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(s, device=DEVICE)) for s in shapes])

    def forward(self, grads):
        return sum((p * g.to(p.dtype)).sum() for p, g in zip(self.all, grads) if g is not None)


class Units(torch.nn.Module):
    """Two modules of equal shapes, and parameters of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.own = Unit(*SHAPES), Unit(*SHAPES), Unit((4, 3), (1,))

    def forward(self, grads):
        n = len(SHAPES)
        return self.first(grads[:n]) + self.second(grads[n:2 * n]) + self.own(grads[2 * n:])


def sharded(model=None, **options):
    model = model or Units()
    for child in model.children():
        if isinstance(child, Unit) and child is not getattr(model, "own", None):
            fully_shard(child, **options)
    return fully_shard(model, **options)


def numbers(p, rank, i):
    n = torch.arange(p.numel(), dtype=torch.float64, device=p.device).reshape(p.shape)
    return (((n + i) * (rank + 3) + rank) % 61 / 32).to(torch.float32)


def mean_of(p, i):
    return (sum(numbers(p, r, i).double() for r in range(RANKS)) / RANKS).to(torch.float32)


def step(model, rank, change=lambda grads: grads):
    model(change([numbers(p, rank, i) for i, p in enumerate(model.parameters())])).backward()


def whole(tensor):
    """The tensor of all shards. PyTorch 2.11's full_tensor() crashes over gloo on a GPU."""
    if DEVICE == "cpu":
        return tensor.full_tensor()
    shards = [None] * RANKS
    dist.all_gather_object(shards, tensor.to_local().cpu())
    return torch.cat(shards).to(DEVICE)


def grads_of(model):
    grads = [None if p.grad is None else whole(p.grad) for p in model.parameters()]
    model.zero_grad()
    return grads


def are_means(model, what, times=1, scale=1):
    for i, (p, grad) in enumerate(zip(model.parameters(), grads_of(model))):
        # the mean is rounded once, the sum of several once more
        same = grad.dtype == torch.float32 and torch.allclose(grad, mean_of(p, i) * times * scale, rtol=1e-6, atol=0)
        check(same, f"{what}: {grad}, not {mean_of(p, i) * times * scale}")


def means(rank):
    model = sharded()
    with torch.device("meta"):  # a default of the caller's
        state = nf.State(model, **EXACT)
    check(len(state.comms) == 2, f"{len(state.comms)} communicators for two kinds of modules")
    for _ in range(2):
        step(model, rank)
        for i, (p, grad) in enumerate(zip(model.parameters(), grads_of(model))):
            check(torch.equal(grad, mean_of(p, i)), f"{grad}, not {mean_of(p, i)}")
    check(state.sent_bytes > 0 and state.gathered_bytes == 0, f"{state.sent_bytes} and {state.gathered_bytes} bytes")
    for sync in (False, True):
        model.set_requires_gradient_sync(sync)
        step(model, rank)
    are_means(model, "gradients of two passes", times=2)
    units = (model.first, model.second, model)
    for unit in units:
        unit.set_gradient_divide_factor(6)
    step(model, rank)
    are_means(model, "a factor", scale=0.5)
    for unit in units:
        unit.set_force_sum_reduction_for_comms(True)
    step(model, rank)
    are_means(model, "a sum", scale=0.5)
    state.close()


def kinds(rank):
    """Types of gradients, frozen and unused parameters, residuals."""
    for kind in (torch.bfloat16, torch.float16, torch.float64):
        model = sharded(Unit(*SHAPES), mp_policy=MixedPrecisionPolicy(reduce_dtype=kind))
        state = nf.State(model, **EXACT)
        step(model, rank, lambda grads: [g.to(kind) for g in grads])
        for i, (p, grad) in enumerate(zip(model.parameters(), grads_of(model))):
            near = torch.allclose(grad, mean_of(p, i), rtol=0.02, atol=0.01)
            check(near and grad.dtype == torch.float32, f"{kind}: {grad}, not {mean_of(p, i)}")
        state.close()

    model = Unit(*SHAPES)
    model.all[1].requires_grad = False
    model = sharded(model)
    state = nf.State(model, **EXACT)
    for unused, n_comms in ((None, 1), (3, 2)):
        step(model, rank, lambda grads: [None if i == unused else g for i, g in enumerate(grads)])
        for i, (p, grad) in enumerate(zip(model.parameters(), grads_of(model))):
            has_none = i in (1, unused)
            same = grad is None if has_none else torch.equal(grad, mean_of(p, i))
            check(same, f"parameter {unused} is not used: {i}: {grad}")
        check(len(state.comms) == n_comms, f"{len(state.comms)} communicators")
    state.close()

    # an exponent for each parameter
    model = sharded(Unit((6, 4), (6, 4)))
    state = nf.State(model, format="e4m3", scale="aps", quantise="all")
    step(model, rank, lambda grads: [grads[0], grads[1] * 2.0 ** -40])
    big, small = grads_of(model)
    for grad, mean in ((big, mean_of(big, 0)), (small * 2.0 ** 40, mean_of(small, 1))):
        check((grad - mean).abs().max() <= mean.max() / 16 and not torch.equal(grad, mean), f"e4m3: {grad}, not {mean}")
    state.close()

    # what a codec keeps belongs to one module
    for keeps in ({"codec": "onebit:32"}, {"scale": "quantile"}, {"scale": "quantile:every=8"}):
        model = sharded()
        state = nf.State(model, quantise="all", **keeps)
        check(len(state.comms) == 3, f"{keeps}: {len(state.comms)} communicators of three modules")
        step(model, rank)
        state.close()


def special(rank):
    model = sharded()
    state = nf.State(model, format="e4m3", scale="aps")
    n = len(SHAPES)

    def change(grads):
        if rank == 1:
            grads[n][0, 0] = float("nan")
            grads[0][0, 0] = float("inf")
        return grads
    step(model, rank, change)
    for i, p in enumerate(model.parameters()):
        local = p.grad.to_local()
        check(torch.isnan(local).all() if i < 2 * n else torch.isfinite(local).all(), f"{i}: inf or nan on a rank: {local}")
    check(state.skipped == 2, f"{state.skipped} reductions are skipped")
    model.zero_grad()
    step(model, rank)
    check(all(torch.isfinite(g).all() for g in grads_of(model)), "a step after that")
    state.close()


class Seen(torch.nn.Module):
    """Its call returns the weights that it sees."""

    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(1)
        self.weight = torch.nn.Parameter(torch.randn(7, 50, generator=g).to(DEVICE))
        self.bias = torch.nn.Parameter(torch.randn(5, generator=g).to(DEVICE))

    def forward(self):
        return torch.cat([self.weight.reshape(-1), self.bias])


def weights(_):
    for gather, rounded in (("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)):
        model = sharded(Seen())
        state = nf.State(model, gather=gather)
        true = torch.cat([whole(p.data).reshape(-1) for p in model.parameters()])
        check(torch.equal(model(), true.to(rounded).float()), f"gather {gather}")
        check(state.gathered_bytes > 0 and state.sent_bytes == 0, f"gather {gather}: {state.gathered_bytes} bytes")
        state.close()
    model = sharded(Seen(), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    state = nf.State(model, gather="delta:e4m3")
    seen, sent = model(), state.gathered_bytes
    check(seen.dtype == torch.bfloat16 and torch.equal(seen, true.bfloat16()), f"delta of bf16: {seen}")
    model.reshard()
    for p in model.parameters():
        p.data.to_local().add_(0.25)
    seen = model().float()
    check((seen - true - 0.25).abs().max() < 0.05, f"delta of bf16: {seen}")
    check(state.gathered_bytes - sent < 0.35 * sent, f"delta: {sent} bytes, then {state.gathered_bytes}")
    everywhere = [torch.empty_like(seen) for _ in range(RANKS)]
    dist.all_gather(everywhere, seen)
    check(all(torch.equal(w, seen) for w in everywhere), "ranks have different weights")
    state.close()


def shards(rank):
    """A shard can be cast. The DTensor, whose address is none, is refused."""
    model = sharded()
    step(model, rank)
    for p in model.parameters():
        for x in (p, p.grad):
            own = x.to_local()
            same = torch.equal(cast.decode(cast.encode(own, format="fp32")), own)
            check(same, "a shard is cast to other numbers")
            try:
                cast.encode(x)
                check(False, "a DTensor is cast")
            except TypeError as e:
                check("cannot encode a DTensor of " in str(e), f"a DTensor: {e}")
    try:
        nd.State(model)
        check(False, "DTensors are taken for DDP's parameters")
    except ValueError as e:
        check("a DTensor has no memory of its own" in str(e), f"DDP of DTensors: {e}")


def refused(rank, model, error, words, **options):
    try:
        nf.State(model, **options)
        check(False, f"{options} are taken")
    except error as e:
        check(words in str(e) or "another rank" in str(e), f"{options}: {e}")


def faults(rank):
    refused(rank, sharded(), RuntimeError, "e9m9", format="e9m9")
    refused(rank, sharded(), RuntimeError, "e9m9", gather="delta:e9m9")
    refused(rank, sharded(), RuntimeError, "narrowcast: ", format="e4m3" if rank else "e5m2")
    refused(rank, sharded(), TypeError, "colour", colour="red")
    refused(rank, sharded(), TypeError, "option gather=5: must be a word", gather=5)
    refused(rank, sharded(), TypeError, "no option 'op'", op="sum")
    refused(rank, sharded(), ValueError, "must be fp32 or rounded", shard="no")
    refused(rank, [], TypeError, "a torch.nn.Module, not list")
    refused(rank, sharded(), ValueError, "needs all gradients on one GPU: they are on cpu", device="cuda")
    refused(rank, Units(), ValueError, "call fully_shard() first")
    alone = init_device_mesh(DEVICE, (RANKS, 1), mesh_dim_names=("replicas", "shards"))
    refused(rank, sharded(mesh=alone), RuntimeError, "e9m9", format="e9m9")
    model = sharded()
    state = nf.State(model)
    for comm, n_out, n_in in ((nf.AllGather(state, 0), 3, 2), (nf.ReduceScatter(state, 0, (2,)), 2, 3)):
        try:
            comm(torch.zeros(n_out), torch.zeros(n_in), dist.group.WORLD, dist.ReduceOp.AVG)
            check(False, f"{type(comm).__name__} takes {n_in} numbers for {n_out}")
        except ValueError as e:
            check(f" {max(n_out, n_in)} numbers on {RANKS} ranks with 2 each" in str(e), f"{type(comm).__name__}: {e}")
    step(model, rank)
    state.close()
    state.close()
    try:
        step(model, rank)
        check(False, "a closed state is used")
    except RuntimeError as e:
        check("has been closed" in str(e), f"a closed state: {e}")
    model = sharded(reshard_after_forward=False)
    state = nf.State(model, deadline_s=30)
    loss = model([numbers(p, rank, 0) for p in model.parameters()])
    try:
        if rank == 0:
            comm = next(iter(state.comms.values()))
            comm.step(comm.lib.nc_reduce_scatter(comm.nc, None, None, None))
        loss.backward()
        check(False, "goes on after an error of rank 0")
    except RuntimeError as e:
        check("narrowcast: " in str(e), f"an error of rank 0: {e}")
    state.close()
    model = sharded(reshard_after_forward=False)  # no messages of FSDP's in the backward pass
    state = nf.State(model, deadline_s=5)
    step(model, rank)
    loss = model([numbers(p, rank, 0) for p in model.parameters()])
    if rank == RANKS - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        loss.backward()
        check(False, "goes on without a rank")
    except RuntimeError as e:
        check("narrowcast: " in str(e), f"a rank is killed: {e}")
    state.close()


def run(rank, folder, where):
    torch.set_num_threads(1)
    if where == "gpu":
        use_emulator(rank)
    if where == "cuda":
        torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("gloo", init_method=f"file://{folder}/fsdp", rank=rank, world_size=RANKS)
    on_cpu = (means, kinds, special, weights, shards, faults)
    for part in (means, special, weights) if where else on_cpu:
        part(rank)
    print("fsdp is checked\n", end="", flush=True)
    os._exit(0)  # gloo's threads still wait for messages of failed states


if __name__ == "__main__":
    where = sys.argv[2] if len(sys.argv) > 2 else ""
    # forked, so that PyTorch is imported once; CUDA does not survive that
    start = mp.get_context("spawn" if where == "cuda" else "fork")
    processes = [start.Process(target=run, args=(r, sys.argv[1], where)) for r in range(RANKS)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
    ends = [p.exitcode for p in processes]
    check(ends == [0, 0, 0 if where else -signal.SIGKILL], f"the ranks end with {ends}")
