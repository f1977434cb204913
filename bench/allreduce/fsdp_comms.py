# fsdp_comms.py : runs a rank of ddp_hooks.sh: times the communication of FSDP2's step of a transformer with 10.9 million parameters
# on CPUs: reduce-scatters of gradients and all-gathers of weights, each module's in turn. Needs PyTorch 2.9.
#     fsdp_comms.py RANK RANKS ADDRESS:PORT [STEPS]
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "host", "python"), os.path.join(here, "..", "..", "tests", "examples")]
import narrowcast.fsdp  # noqa: E402
from fsdp_train import Transformer  # noqa: E402

spent = {"reduce": 0.0, "gather": 0.0}


def timed(what):
    def around(call):
        def run(*args, **named):
            start = time.monotonic()
            call(*args, **named)
            spent[what] += time.monotonic() - start
        return run
    return around


class GlooGather(narrowcast.fsdp.Comm):
    @timed("gather")
    def __call__(self, output_tensor, input_tensor, group, async_op=False):
        dist.all_gather_into_tensor(output_tensor, input_tensor, group)


class GlooReduce(narrowcast.fsdp.Comm):
    @timed("reduce")
    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        dist.reduce_scatter_tensor(output_tensor, input_tensor, op, group)


narrowcast.fsdp.AllGather.__call__ = timed("gather")(narrowcast.fsdp.AllGather.__call__)
narrowcast.fsdp.ReduceScatter.__call__ = timed("reduce")(narrowcast.fsdp.ReduceScatter.__call__)


def gloo(model):
    for unit in (*model[:-1], model):
        unit.set_custom_all_gather(GlooGather())
        unit.set_custom_reduce_scatter(GlooReduce())


def narrow(**options):
    return lambda model: narrowcast.fsdp.State(model, **options)


COMMS = {  # type of the weights that are gathered and of gradients, how they travel
    "gloo fp32": (torch.float32, torch.float32, gloo),
    "gloo bf16": (torch.bfloat16, torch.bfloat16, gloo),
    "e4m3 aps, weights bf16": (torch.bfloat16, torch.float32, narrow(format="e4m3", scale="aps", gather="bf16")),
    "e4m3 aps, weights delta:e4m3": (torch.float32, torch.float32, narrow(format="e4m3", scale="aps", gather="delta:e4m3")),
}


class Part(nn.Module):
    """Parameters of the same shapes, almost without computation."""

    def __init__(self, params):
        super().__init__()
        self.all = nn.ParameterList([nn.Parameter(torch.zeros_like(p)) for p in params])

    def forward(self, x):
        return x + sum((p * x).sum() for p in self.all)


def medians(name, n_steps):
    """Return the number of parameters; the slowest rank's median seconds of all-gathers, reduce-scatters and a step;
    and the MB that this rank gathered and sent a step, without PyTorch's collectives."""
    kind, reduce_kind, use = COMMS[name]
    whole = Transformer(n_words=256, length=256, width=384, n_layers=6)
    of_blocks = [list(block.parameters()) for block in whole.blocks]
    rest = [p for part in (whole.words, whole.places, whole.norm, whole.head) for p in part.parameters()]
    model = nn.Sequential(*(Part(params) for params in (*of_blocks, rest)))
    policy = MixedPrecisionPolicy(param_dtype=kind, reduce_dtype=reduce_kind)
    for part in model[:-1]:
        fully_shard(part, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    state = use(model)
    times = []
    for step in range(n_steps + 2):
        if step == 2 and state:
            begun = [state.gathered_bytes, state.sent_bytes]
        dist.barrier()
        spent.update(gather=0.0, reduce=0.0)
        start = time.monotonic()
        model(torch.full((), 1e-3 * (dist.get_rank() + 1))).backward()
        times.append([spent["gather"], spent["reduce"], time.monotonic() - start])
        model.zero_grad()
    times = torch.tensor(times[2:])
    dist.all_reduce(times, dist.ReduceOp.MAX)
    sent = [state.gathered_bytes - begun[0], state.sent_bytes - begun[1]] if state else []
    if state:
        state.close()
    return sum(p.numel() for p in model.parameters()), times.median(0).values.tolist(), [b / n_steps / 1e6 for b in sent]


def main():
    rank, n_ranks, where = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    n_steps = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{where}", rank=rank, world_size=n_ranks)
    bf16 = None
    for i, name in enumerate(COMMS):
        n, parts, sent = medians(name, n_steps)
        if name == "gloo bf16":
            bf16 = parts
        if rank == 0:
            if i == 0:
                print(f"{n} parameters, {n_ranks} ranks, PyTorch {torch.__version__}, medians of {n_steps} steps")
                print(f"{'':30} {'all-gathers':>12} {'reduce-scatters':>16} {'step ms':>8} {'bf16 / this: scatters':>21} {'step':>5}  sent MB")
            by = f"{bf16[1] / parts[1]:21.2f} {bf16[2] / parts[2]:5.2f}" if bf16 else f"{'':27}"
            print(f"{name:30} {1e3 * parts[0]:12.0f} {1e3 * parts[1]:16.0f} {1e3 * parts[2]:8.0f} {by}  " +
                  " + ".join(f"{mb:.1f}" for mb in sent), flush=True)
    dist.destroy_process_group()


main()
