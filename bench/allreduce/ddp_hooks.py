# ddp_hooks.py : runs a rank of ddp_hooks.sh or gpu_all.sh: times DistributedDataParallel's step of a resnet, and the all-reduce of
# its gradients only, with each hook in turn.
#     ddp_hooks.py RANK RANKS ADDRESS:PORT [IMAGE [BATCH [STEPS [MODEL]]]]
# MODEL is resnet18 (as given by default) or resnet50. DEVICE=cuda runs on GPUs: over NCCL if each rank has its own, else over gloo.
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "host", "python"), os.path.join(here, "..", "training")]
import narrowcast.ddp  # noqa: E402
from torch_peer import resnet  # noqa: E402


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
    "fp32": lambda model: (None, None),
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


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


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
        wait(x.device)
        start = time.monotonic()
        model(x).sum().backward()
        wait(x.device)
        times.append(time.monotonic() - start)
    times = torch.tensor(times[4:], device=x.device)
    dist.all_reduce(times, dist.ReduceOp.MAX)
    sent = None
    if isinstance(state, narrowcast.ddp.State):
        sent = state.report["sent_bytes"]
        state.close()
    return times.median().item(), sent


def main():
    rank, n_ranks, where = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    image, batch, n_steps = ([int(a) for a in sys.argv[4:7]] + [64, 4, 9][len(sys.argv[:7]) - 4:])
    name, device, backend = (sys.argv[7:] or ["resnet18"])[0], torch.device("cpu"), "gloo"
    if os.environ.get("DEVICE") == "cuda":
        n_gpus = torch.cuda.device_count()
        device, backend = torch.device("cuda", rank % n_gpus), "nccl" if n_gpus >= n_ranks else "gloo"
        torch.cuda.set_device(device)
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group(backend, init_method=f"tcp://{where}", rank=rank, world_size=n_ranks)
    network, x = resnet(name, image, 1000).to(device), torch.randn(batch, 3, image, image, device=device)
    base = {}
    if rank == 0:
        n = sum(p.numel() for p in network.parameters())
        print(f"{name}, {n} parameters, {n_ranks} ranks on {device.type}, {batch} images of {image}x{image} a rank, "
              f"PyTorch {torch.__version__}, {backend}")
        print(f"{'hook':26} {'step ms':>9} {'of fp32':>8} {'all-reduce ms':>14} {'fp32 by it':>11} {'sent MB':>8}", flush=True)
    for hook in HOOKS:
        only, sent = median_step(Gradients(network), torch.full((), 1e-3 * (rank + 1), device=device), hook, n_steps)
        step, _ = median_step(network, x, hook, n_steps)
        base = base or {"only": only, "step": step}
        if rank == 0:
            print(f"{hook:26} {1e3 * step:9.1f} {step / base['step']:8.3f} {1e3 * only:14.1f} {base['only'] / only:11.2f} "
                  f"{'' if sent is None else f'{sent / 1e6:8.1f}'}", flush=True)
    dist.destroy_process_group()


main()
