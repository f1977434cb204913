"""fsdp.py : narrow gradients and weights for PyTorch's FSDP2 (fully_shard), as its custom communication.

    import narrowcast.fsdp
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    state = narrowcast.fsdp.State(model, format="e4m3", scale="aps")       # see `narrowcast train --help`
    ... train ...
    state.close()                                                          # on all ranks, before destroy_process_group()

Each rank gets the mean of its shards of the gradients: the sum of all ranks' codes, which is rounded to fp32 once. Each parameter
has an exponent for each rank's shard. Codes go through a gloo group that the state makes. On GPUs, gradients are cast and added
there, and codes travel by NCCL or CUDA IPC where that is possible (NARROWCAST_GPU_TRANSPORT in narrowcast.h), and so do weights,
except with gather delta. If a gradient of an FSDP module is inf or nan on some rank, all gradients of
the module become nan on every rank.

Failures are a RuntimeError on every rank, after which the state can only be closed. A state that is dropped without close(), or
whose process exits, is abandoned, which the other ranks see at once."""

from __future__ import annotations

import os
from ctypes import byref, c_void_p
from typing import Any, Iterator, Optional, Sequence

import torch
import torch.distributed as dist

from . import _library, _place
from ._gloo import Communicator, Unique, modules
from ._library import Layer, Report


def _is_unit(module):
    return hasattr(module, "set_custom_reduce_scatter")


def _managed(module, seen) -> Iterator[torch.nn.Module]:
    """Yield the modules whose parameters FSDP sends with this one's, in its order."""
    seen.add(module)
    for child in module.children():
        if child not in seen and not _is_unit(child):
            yield from _managed(child, seen)
    yield module


def _shards(unit):
    """Return the process group, and (parameter, elements of its padded shard) of all parameters that FSDP sends with this module's."""
    group, shards = None, {}
    for p in (p for module in _managed(unit, set()) for p in module.parameters(recurse=False)):
        at = next((i for i, place in enumerate(getattr(p, "placements", ())) if place.is_shard()), None)
        if at is None or p.numel() == 0:
            continue
        n_ranks, dim = p.device_mesh.size(at), p.placements[at].dim
        rows = -(-p.shape[dim] // n_ranks) * n_ranks if dim == 0 else p.shape[dim]
        shards[p] = p.numel() // p.shape[dim] * rows // n_ranks
        group = p.device_mesh.get_group(at)
    return group, shards


def _device(unit):
    """Return the device of the gradients of a module, where FSDP computes."""
    mesh = next((p.device_mesh for p in unit.parameters() if hasattr(p, "device_mesh")), None)
    return torch.device("cuda", torch.cuda.current_device()) if mesh and mesh.device_type == "cuda" else torch.device("cpu")


def _factor(op, n_ranks):
    """Return the number that turns the mean into the result of this operation of FSDP's."""
    if op == dist.ReduceOp.AVG:
        return 1
    if op == dist.ReduceOp.SUM:
        return n_ranks
    if op == dist.ReduceOp.PREMUL_SUM:
        return n_ranks * float(op.__getstate__()[1])
    raise ValueError(f"narrowcast: cannot reduce gradients by {op}: need AVG, SUM or PREMUL_SUM")


_ROUNDED = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def _fits(what, shard, whole, group):
    """Raise ValueError unless `whole` has as many numbers as the shards of all ranks."""
    if whole.numel() != group.size() * shard.numel():
        raise ValueError(f"narrowcast: cannot {what} {whole.numel()} numbers on {group.size()} ranks with {shard.numel()} each")


class Comm:
    """PyTorch's interface Comm."""

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.empty(*size, dtype=dtype, device=device)


class ReduceScatter(Comm):
    """A module's comm for FSDPModule.set_custom_reduce_scatter()."""

    def __init__(self, state, number, sizes):
        self.state, self.number, self.sizes = state, number, sizes

    def open(self, group, size):
        """Return the communicator, and the places of its layers, for shards of `size` elements."""
        # another sum: some parameter has no gradient in this pass, so each rank's shard is one layer
        sizes = self.sizes if sum(self.sizes) == size else (size,)
        key = (sizes, self.number if self.state.has_memory else 0)
        return self.state.open(group, key, sizes, self.state.words), sizes

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup, op: Any,
                 async_op: bool = False) -> None:
        _fits("reduce and scatter", output_tensor, input_tensor, group)
        factor, place = _factor(op, group.size()), self.state.place
        grads = _place.fp32(input_tensor, place)
        comm, sizes = self.open(group, output_tensor.numel())
        places, at = (c_void_p * (group.size() * len(sizes)))(), grads.data_ptr()
        for i in range(len(places)):
            places[i] = at
            at += sizes[i % len(sizes)] * grads.element_size()
        shard, report = _place.empty(output_tensor.numel(), place), Report()
        if place.type == "cuda":
            comm.step(comm.lib.nc_ireduce_scatter(comm.nc, places, shard.data_ptr()))
            comm.step(comm.lib.nc_ready_on(comm.nc, 0, len(places), _place.stream(place)))
            skipped = comm.step(comm.lib.nc_wait(comm.nc, byref(report))) == 1
        else:
            skipped = comm.step(comm.lib.nc_reduce_scatter(comm.nc, places, shard.data_ptr(), byref(report))) == 1
        self.state.sent_bytes += report.sent_bytes
        self.state.skipped += skipped
        if skipped:
            output_tensor.fill_(float("nan"))
            return
        if factor != 1:
            shard *= factor
        if self.state.saturates and output_tensor.element_size() == 2:
            largest = torch.finfo(output_tensor.dtype).max
            shard.clamp_(-largest, largest)
        output_tensor.copy_(shard)


class AllGather(Comm):
    """A module's comm for FSDPModule.set_custom_all_gather()."""

    def __init__(self, state, number):
        self.state, self.number = state, number
        self.weights = {}  # of each communicator with gather delta

    def open(self, group, size):
        differs = self.state.gather.startswith("delta")
        comm = self.state.open(group, ("gather", size, self.number if differs else 0), (size,), self.state.gather_words)
        if differs and comm not in self.weights:
            self.weights[comm] = _place.empty(size * group.size(), self.state.gather_place).zero_()
        return comm

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup, async_op: bool = False) -> None:
        _fits("gather", input_tensor, output_tensor, group)
        # parameters of several types, as bytes; or weights that FSDP has rounded already
        if not input_tensor.is_floating_point() or input_tensor.dtype == _ROUNDED.get(self.state.gather):
            dist.all_gather_into_tensor(output_tensor, input_tensor, group)
            self.state.gathered_bytes += (group.size() - 1) * input_tensor.numel() * input_tensor.element_size()
            return
        place = self.state.gather_place
        comm, shard = self.open(group, input_tensor.numel()), _place.fp32(input_tensor, place)
        weights, report = self.weights.get(comm), Report()
        if weights is None:
            weights = _place.empty(output_tensor.numel(), place)
        _place.wait(place)
        places, at = (c_void_p * group.size())(), weights.data_ptr()
        for i in range(len(places)):
            places[i] = at + i * shard.numel() * shard.element_size()
        comm.step(comm.lib.nc_all_gather(comm.nc, shard.data_ptr(), places, byref(report)))
        self.state.gathered_bytes += report.sent_bytes
        output_tensor.copy_(weights)


class State(Unique):
    """The communicators of a model's FSDP modules. Make one after fully_shard() and before the first pass, on every rank.

    model     the module that fully_shard() was called for
    gather    how weights travel: None, as FSDP sends them; or nc_options.gather (narrowcast.h): fp32, bf16, fp16, delta:F[:G].
              With delta each rank keeps all weights in fp32; use reshard_after_forward=False, since a second all-gather
              in the same step sends once more
    options   fields of struct nc_options: format (e5m2 unless given), scale (none), codec, seed, deadline_s, ...; FSDP chooses
              op. shard is "fp32" unless given, device as in narrowcast.ddp.State

    sent_bytes of gradients and gathered_bytes of weights (by `gather`) were sent by this rank; skipped counts reductions of modules
    with inf or nan.

    FSDP modules of the same shapes share a communicator, unless the codec keeps residuals or statistics of each.

    Raises ValueError if the model has no FSDP module. Raises RuntimeError with the library's own line, here and in passes; after that
    only close() may follow."""

    def __init__(self, model: torch.nn.Module, gather: Optional[str] = None, **options: Any):
        units = [module for module in modules(model) if _is_unit(module)]
        if not units:
            raise ValueError("narrowcast: no module of the model is an FSDPModule: call fully_shard() first, of PyTorch 2.9 or later")
        # FSDP chooses the operation
        names = (*(name for name in _library.NAMES if name != "op"), "shard", "device")
        self.place = _place.choose({_device(unit) for unit in units}, options.get("device", ""))
        options = {"bucket_bytes": 16 << 20, "shard": "fp32", **options}
        options.setdefault("device", self.place.type)
        self.words = _library.settings("narrowcast.fsdp.State", options, names)
        if options["shard"] == "no":
            raise ValueError("option shard='no': must be fp32 or rounded, since FSDP needs shards")
        of_gather = {name: options[name] for name in ("bucket_bytes", "deadline_s") if name in options}
        self.gather = gather or ""
        of_gather.update(shard="fp32", gather=self.gather or "fp32")
        self.gather_words = _library.settings("narrowcast.fsdp.State", of_gather, of_gather)
        self.gather_place = torch.device("cpu") if self.gather.startswith("delta") else self.place
        self.gather_words.device = self.gather_place.type.encode()
        self.has_memory = (options.get("codec", "").startswith(("onebit", "relgrad"))
                           or options.get("scale", "").startswith("quantile"))
        self.saturates = options.get("overflow", "saturate") == "saturate"
        self.groups, self.comms, self.is_open, self.pid = {}, {}, True, os.getpid()
        self.sent_bytes = self.gathered_bytes = self.skipped = 0
        made = []
        for number, unit in enumerate(units):
            group, shards = _shards(unit)
            reduce = ReduceScatter(self, number, tuple(n for p, n in shards.items() if p.requires_grad))
            made.append((unit, reduce, AllGather(self, number)))
            if group is None:
                continue
            if group.size() == 1:  # FSDP reduces and gathers nothing, but wrong options are refused here too
                self.open(group, ("reduce",), (1,), self.words)
                if gather:
                    self.open(group, ("gather",), (1,), self.gather_words)
                continue
            if reduce.sizes:
                reduce.open(group, sum(reduce.sizes))
            if gather:
                made[-1][2].open(group, sum(shards.values()))
        for unit, reduce, all_gather in made:
            unit.set_custom_reduce_scatter(reduce)
            if gather:
                unit.set_custom_all_gather(all_gather)

    def open(self, group, key, sizes, words) -> Communicator:
        """Return the communicator of this key over the ranks of a group. If it is new, open it with a layer per size and rank."""
        if not self.is_open:
            raise RuntimeError("narrowcast: the state has been closed")
        ranks = tuple(dist.get_process_group_ranks(group))
        if (ranks, key) not in self.comms:
            if ranks not in self.groups:
                self.groups[ranks] = dist.new_group(list(ranks), backend="gloo", use_local_synchronization=True)
            layers = (Layer * (len(ranks) * len(sizes)))()
            for i, layer in enumerate(layers):
                layer.n = sizes[i % len(sizes)]
            number = sum(of == ranks for of, _ in self.comms)
            place = self.gather_place if key[0] == "gather" else self.place
            self.comms[ranks, key] = Communicator(self.groups[ranks], words, layers, place, number)
        return self.comms[ranks, key]

    def close(self) -> None:
        """Leave the communicators, with all ranks. A second call does nothing. Passes then raise a RuntimeError."""
        if not self.is_open or os.getpid() != self.pid:
            return
        self.is_open = False
        for comm in self.comms.values():
            comm.close()
        for group in self.groups.values():
            if dist.is_initialized():
                dist.destroy_process_group(group)
