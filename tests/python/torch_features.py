# torch_features.py : trains a small model on CPU ranks over gloo with features of PyTorch's DDP or FSDP2 in turn, with and without
# narrowcast, for test_ddp.sh and test_fsdp.sh. In format fp32 both must end with the same weights, except for rounding. A
# feature that this PyTorch does not have is not run.
#
#     torch_features.py ddp|fsdp FOLDER [RANKS [FEATURE]]
import contextlib
import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "python"))
from ddp_runs import check  # noqa: E402

STEPS = 3


class Model(nn.Module):
    """Two blocks and a head. `other` is used in every second pass, if at all. `wide` is in fp64."""

    def __init__(self, other=False, recompute=False, tied=False, wide=False):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(12, 12), nn.LayerNorm(12), nn.GELU()) for _ in range(2)])
        self.head = nn.Linear(12, 12)
        self.other = nn.Linear(12, 12) if other else None
        self.wide = nn.Linear(12, 12).double() if wide else None
        self.shift = nn.Parameter(torch.zeros(12))
        self.recompute, self.calls = recompute, 0
        if tied:
            self.head.weight = self.blocks[0][0].weight

    def forward(self, x):
        self.calls += 1
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        if self.other and self.calls % 2:
            x = x + self.other(x)
        if self.wide:
            x = x + self.wide(x.double()).float()
        return self.head(x + self.shift)


def inputs(step):
    return torch.randn(6, 12, generator=torch.Generator().manual_seed(100 * dist.get_rank() + step))


def train(model, within=contextlib.nullcontext, clip=False, n_steps=STEPS, sync=None, scaler=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(n_steps):
        for last in (False, True) if sync else (True,):
            with sync(model, last) if sync else contextlib.nullcontext():
                with within():
                    loss = model(inputs(2 * step + last)).square().mean()
                if scaler:
                    loss = scaler.scale(loss) * (float("nan") if (step, dist.get_rank()) == (0, 1) else 1)
                loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()


def autocast(model):
    train(model, within=lambda: torch.autocast("cpu", dtype=torch.bfloat16))


def compiled(model):
    train(torch.compile(model, backend="aot_eager"))


def scaled(model):
    """All ranks skip the first step, since one has a nan."""
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    train(model, scaler=scaler)
    check(scaler.get_scale() == 512, f"a scale of {scaler.get_scale()}")


# ---- DDP ----

def ddp_accumulates(model):
    train(model, sync=lambda model, last: contextlib.nullcontext() if last else model.no_sync())


def joined(model):
    """Ranks have different numbers of batches."""
    with model.join():
        train(model, n_steps=STEPS + dist.get_rank())


DDP = {  # name: (options of DDP, of the model, the training)
    "plain": ({}, {}, train),
    "autocast": ({}, {}, autocast),
    "no_sync": ({}, {}, ddp_accumulates),
    "torch.compile": ({}, {}, compiled),
    "static_graph": ({"static_graph": True}, {}, train),
    "static_graph, fp32 and fp64": ({"static_graph": True}, {"wide": True}, train),
    "static_graph, ignored": ({"static_graph": True, "ignored": ["wide.weight", "shift", "head.weight"]},
                              {"wide": True, "tied": True}, train),
    "find_unused_parameters": ({"find_unused_parameters": True}, {"other": True}, train),
    "join": ({}, {}, joined),
    "checkpoint": ({}, {"recompute": True}, train),
    "tied weights": ({}, {"tied": True}, train),
    "GradScaler": ({}, {}, scaled),
    "clip_grad_norm_": ({}, {}, lambda model: train(model, clip=True)),
}


def ddp(model, options, narrow):
    import narrowcast.ddp
    options = dict(options)
    nn.parallel.DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, options.pop("ignored", []))
    model = nn.parallel.DistributedDataParallel(model, **options)
    if not narrow:
        return model, None
    state = narrowcast.ddp.State(model, format="fp32")
    model.register_comm_hook(state, narrowcast.ddp.hook)
    return model, state


# ---- FSDP2 ----

def fsdp_accumulates(model):
    def sync(model, last):
        model.set_requires_gradient_sync(last)
        return contextlib.nullcontext()
    train(model, sync=sync)


def checkpointed(model):
    """Weights that are saved, lost and loaded in mid-training."""
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
    train(model)
    saved = {name: tensor.clone() for name, tensor in get_model_state_dict(model).items()}
    for p in model.parameters():
        p.data.zero_()
    set_model_state_dict(model, saved)
    train(model)


FSDP = {
    "plain": ({}, {}, train),
    "reshard_after_forward=False": ({"reshard_after_forward": False}, {}, train),
    "MixedPrecisionPolicy": ({"bf16": True}, {}, train),
    "autocast": ({}, {}, autocast),
    "set_requires_gradient_sync": ({}, {}, fsdp_accumulates),
    "torch.compile": ({}, {}, compiled),
    "unused parameters": ({}, {"other": True}, train),
    "checkpoint": ({}, {"recompute": True}, train),
    "clip_grad_norm_": ({}, {}, lambda model: train(model, clip=True)),
    "GradScaler": ({}, {}, scaled),
    "state_dict": ({}, {}, checkpointed),
    "HSDP": ({"mesh": (2, 2)}, {}, train),
}


def fsdp(model, options, narrow):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    import narrowcast.fsdp
    options = dict(options)
    if "mesh" in options:
        options["mesh"] = init_device_mesh("cpu", options["mesh"], mesh_dim_names=("replicas", "shards"))
    if options.pop("bf16", False):
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)
    return model, narrowcast.fsdp.State(model, gather="fp32", format="fp32") if narrow else None


def weights_of(feature, wrap, narrow):
    options, of_model, run = feature
    torch.manual_seed(1)
    model, state = wrap(Model(**of_model), options, narrow)
    before = [p.full_tensor() if hasattr(p, "full_tensor") else p.detach().clone() for p in model.parameters()]
    run(model)
    after = [p.full_tensor() if hasattr(p, "full_tensor") else p.detach() for p in model.parameters()]
    if state:
        check(state.sent_bytes > 0, "no byte of gradients is sent")
        state.close()
    check(all(not torch.equal(a, b) for a, b in zip(after, before)), "weights do not change")
    return after


def run(rank, what, folder, n_ranks, only):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/features", rank=rank, world_size=n_ranks)
    wrap, features = (ddp, DDP) if what == "ddp" else (fsdp, FSDP)
    for name, feature in features.items():
        is_2 = hasattr(torch, "compile")  # in 1.13, autocast has no layer norm on CPUs
        there = {"torch.compile": is_2, "autocast": is_2, "GradScaler": hasattr(torch.amp, "GradScaler"), "HSDP": n_ranks == 4}
        if not there.get(name, True) or only not in (None, name):
            continue
        theirs, ours = (weights_of(feature, wrap, narrow) for narrow in (False, True))
        off = [((a - b).abs().max() / a.abs().max()).item() for a, b in zip(theirs, ours)]
        check(all(x < 1e-4 for x in off), f"{what} {name}: weights differ by {off}")
        if rank == 0:
            print(f"ok {what} {name}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    n_ranks = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    args = (sys.argv[1], sys.argv[2], n_ranks, sys.argv[4] if len(sys.argv) > 4 else None)
    mp.start_processes(run, args, nprocs=n_ranks, start_method="fork")  # PyTorch is imported once
