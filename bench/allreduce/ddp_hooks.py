# ddp_hooks.py : runs a rank of ddp_hooks.sh: times DistributedDataParallel's step of resnet18 on
# CPUs, and the all-reduce of its gradients only, with each hook in turn.
#     ddp_hooks.py RANK RANKS ADDRESS:PORT [IMAGE [BATCH [STEPS]]]
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "python"))
import narrowcast.ddp  # noqa: E402


class Block(nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(),
                                  nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out))
        self.short = nn.Sequential()
        if stride > 1 or n_in != n_out:
            self.short = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    n = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(n, width, stride), Block(width, width, 1)]
        n = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Gradients(nn.Module):
    """Model with nothing but parameters of the same shapes: a step is their all-reduce."""

    def __init__(self, of):
        super().__init__()
        self.all = nn.ParameterList([nn.Parameter(torch.zeros_like(p)) for p in of.parameters()])

    def forward(self, x):
        return sum((p * x).sum() for p in self.all)


def power_sgd(rank):
    return lambda model: (powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)


def narrow(**options):
    return lambda model: (narrowcast.ddp.State(model, **options), narrowcast.ddp.hook)


HOOKS = {
    "gloo fp32": lambda model: (None, None),
    "fp16_compress_hook": lambda model: (None, default_hooks.fp16_compress_hook),
    "PowerSGD rank 1": power_sgd(1),
    "PowerSGD rank 4": power_sgd(4),
    "narrowcast fp16": narrow(format="fp16"),
    "narrowcast e5m2 aps": narrow(format="e5m2", scale="aps"),
    "narrowcast e3m0 aps-tight": narrow(format="e3m0", scale="aps-tight"),
    "narrowcast qsgd:4": narrow(codec="qsgd:4"),
    "narrowcast onebit:64": narrow(codec="onebit:64"),
}


first_bucket = dist._DEFAULT_FIRST_BUCKET_BYTES


def median_step(module, x, hook, n_steps):
    """Return the slowest rank's step time in s, and this rank's sent bytes (None: not ours)."""
    # gloo needs a single bucket: PowerSGD's later all-reduces begin in a different order on each
    # rank.
    cap = 1 << 30 if hook.startswith("PowerSGD") else first_bucket
    dist._DEFAULT_FIRST_BUCKET_BYTES = cap
    model = nn.parallel.DistributedDataParallel(module, bucket_cap_mb=max(25, cap >> 20))
    state, function = HOOKS[hook](model)
    if function:
        model.register_comm_hook(state, function)
    times = []
    for step in range(n_steps + 4):
        model.zero_grad()
        dist.barrier()
        start = time.monotonic()
        model(x).sum().backward()
        times.append(time.monotonic() - start)
    times = torch.tensor(times[4:])
    dist.all_reduce(times, dist.ReduceOp.MAX)
    sent = None
    if isinstance(state, narrowcast.ddp.State):
        sent = state.report["sent_bytes"]
        state.close()
    return times.median().item(), sent


def main():
    rank, n_ranks, where = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    image, batch, n_steps = ([int(a) for a in sys.argv[4:]] + [64, 4, 9][len(sys.argv) - 4:])
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", init_method=f"tcp://{where}", rank=rank, world_size=n_ranks)
    network, x = resnet18(), torch.randn(batch, 3, image, image)
    base = {}
    if rank == 0:
        n = sum(p.numel() for p in network.parameters())
        print(f"{n} parameters, {n_ranks} ranks, {batch} images of {image}x{image} a rank, PyTorch {torch.__version__}")
        print(f"{'hook':26} {'step ms':>9} {'of gloo':>8} {'all-reduce ms':>14} {'gloo by it':>11} {'sent MB':>8}", flush=True)
    for hook in HOOKS:
        alone, sent = median_step(Gradients(network), torch.full((), 1e-3 * (rank + 1)), hook, n_steps)
        step, _ = median_step(network, x, hook, n_steps)
        base = base or {"alone": alone, "step": step}
        if rank == 0:
            print(f"{hook:26} {1e3 * step:9.0f} {step / base['step']:8.2f} {1e3 * alone:14.0f} {base['alone'] / alone:11.2f} "
                  f"{'' if sent is None else f'{sent / 1e6:8.1f}'}", flush=True)
    dist.destroy_process_group()


main()
