"""ddp.py : narrow gradients for PyTorch's DistributedDataParallel, as a communication hook.

    import narrowcast.ddp
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    state = narrowcast.ddp.State(model, format="e4m3", scale="aps")       # see `narrowcast train --help`
    ddp.register_comm_hook(state, narrowcast.ddp.hook)
    ... train ...
    state.close()                                                          # on all ranks, before destroy_process_group()

Gradients become their mean over ranks, as DDP's own do. Each is copied to a buffer of its own when its bucket is ready, and
travels as codes while the backward pass continues. Codes go through torch.distributed: through a gloo group of all ranks, or
through process_group, a gloo group that nothing else may use. If all parameters are on one GPU, gradients stay there: the library
casts and adds them in a stream of its own, and codes travel by NCCL or CUDA IPC where that is possible (NARROWCAST_GPU_TRANSPORT
in narrowcast.h), else through gloo, as small messages do. If a gradient is inf or nan on some rank, all of the step's gradients
become nan on every rank. torch.cuda.amp.GradScaler and the like then skip the step, as they do without the hook.

Failures are a RuntimeError on every rank, after which the state can only be closed. The same holds for a backward pass that
follows an incomplete one. A state that is dropped without close(), or whose process exits, is abandoned, which the other ranks
see at once."""

from __future__ import annotations

import errno
from ctypes import byref, c_void_p
from typing import Any, Optional

import torch
import torch.distributed as dist

from . import _library, _place
from ._gloo import Communicator, Unique, modules
from ._library import Layer, Report


def _gloo_group(model, group):
    """Return a gloo group of DDP's ranks, and whether it was made here."""
    if group is not None and dist.get_rank(group) < 0:
        raise ValueError("narrowcast: this rank is not in process_group: need one of DDP's ranks")
    theirs = model.process_group if isinstance(model, torch.nn.parallel.DistributedDataParallel) else None
    n_ranks = dist.get_world_size(theirs)
    if group is None and n_ranks < dist.get_world_size():
        raise ValueError(f"DDP's process group has {n_ranks} of {dist.get_world_size()} ranks: need process_group=, a gloo group of these")
    if group is not None and theirs is not None and dist.get_world_size(group) != n_ranks:
        raise ValueError(f"process_group has {dist.get_world_size(group)} ranks, DDP's {n_ranks}: need the same")
    return (group, False) if group is not None else (dist.new_group(backend="gloo"), True)


def _columns(shape):
    """Return column and stride for codec onebit:column: the outputs of one input, or the kx of one (out, in, ky)."""
    if len(shape) == 2:
        return shape[0], shape[1]
    return (shape[3], 1) if len(shape) == 4 else (0, 0)


_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _cannot(tensor):
    """Return why gradients like this tensor cannot be averaged, None if they can."""
    if tensor.layout != torch.strided:
        return f"they are of layout {tensor.layout}, need torch.strided"
    if tensor.dtype not in _TYPES:
        return f"they are of type {tensor.dtype}, need float32, float64, float16 or bfloat16"
    if tensor.device.type not in ("cpu", "cuda"):
        return f"they are on device '{tensor.device}', need cpu or cuda"
    if not _place.has_memory(tensor):
        return (f"a {type(tensor).__name__} has no memory of its own, need plain tensors "
                "(narrowcast.fsdp is for FSDP2)")
    return None


def _reduced(model, module):
    """Return the ids of the parameters that DDP does not ignore, which it names as here: one of the root has a dot before its name."""
    wrapped = isinstance(model, torch.nn.parallel.DistributedDataParallel)
    ignored = model.parameters_to_ignore if wrapped else getattr(module, "_ddp_params_and_buffers_to_ignore", ())
    return {id(p) for at, m in module.named_modules() for name, p in m.named_parameters(recurse=False) if f"{at}.{name}" not in ignored}


def _averaged(model, module):
    """Return (name, parameter) for all gradients to average. Raise ValueError for one that cannot be."""
    embeddings = (torch.nn.Embedding, torch.nn.EmbeddingBag)
    sparse = {id(m.weight) for m in modules(module) if isinstance(m, embeddings) and m.sparse}
    reduced, named = _reduced(model, module), []
    for name, p in module.named_parameters():
        if not p.requires_grad or id(p) not in reduced:
            continue
        if torch.nn.parameter.is_lazy(p):
            why = "it has no shape yet, run the module once before"
        else:
            why = "they are sparse, need sparse=False" if id(p) in sparse else _cannot(p)
        if why:
            raise ValueError(f"narrowcast: cannot average gradients of parameter '{name}': {why}")
        if p.numel() > 0:
            named.append((name, p))
    if not named:
        raise ValueError("narrowcast: no parameter of the model needs gradients: need at least one")
    return named


def _bytes(state, name):
    """Return a tensor of a state that was saved, in CPU memory."""
    saved = state.get(name) if isinstance(state, dict) else None
    if not isinstance(saved, torch.Tensor) or saved.dtype != torch.uint8 or saved.numel() == 0:
        raise ValueError(f"narrowcast: cannot load a state: need what state_dict() returned, with a tensor of uint8 for '{name}'")
    try:
        return torch.empty(saved.shape, dtype=torch.uint8, device="cpu").copy_(saved).reshape(-1)
    except RuntimeError as e:  # of device 'meta', or sparse
        why = f"'{name}' is on device '{saved.device}', of layout {saved.layout}: {e}"
        raise ValueError("narrowcast: cannot load a state: " + why) from None


class State(Unique):
    """The communicator and its residuals, kept from step to step. Make one per model, on every rank.

    model          the DistributedDataParallel, or the module that it wraps; all ranks have the same
    process_group  of gloo's kind, and this state's alone, of DDP's ranks; None: one of all ranks is made (all of them call)
    options        fields of struct nc_options (narrowcast.h): format, scale, codec, algo, seed, deadline_s, ... Unless given, format is
                   e5m2, scale none (unlike in `narrowcast train`) and bucket_bytes 16 MiB. device is "cuda" if one GPU has all
                   parameters, else "cpu"; device="cpu" copies gradients to the CPU

    blocks=V makes the result independent of the number of ranks: see next_block().

    It cannot be copied or pickled, and neither can a DDP with this hook: use ddp.module.

    Raises ValueError with the name of a parameter whose gradients cannot be averaged. They must be
    strided, of float32, float64, float16 or bfloat16, on a CPU or GPU. Raises RuntimeError with the
    library's own line, here and in the backward pass; after that only close() may follow."""

    def __init__(self, model: torch.nn.Module, process_group: Optional[dist.ProcessGroup] = None, **options: Any):
        if options.get("blocks") and getattr(model, "find_unused_parameters", False):
            raise ValueError("narrowcast: blocks= does not work with find_unused_parameters=True: DDP would see only the last block")
        self.lib = _library.load()
        module = model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model
        named = _averaged(model, module)
        devices = {p.device for _, p in named}
        self.place = _place.choose(devices, options.get("device", ""))
        self.was_on_cpu = "device" not in options and all(device.type == "cpu" for device in devices)
        # a message costs turns of Python's threads: few and long ones (bench/allreduce/ddp_hooks.sh)
        options = {"bucket_bytes": 16 << 20, "device": self.place.type, **options}
        words = _library.settings("narrowcast.ddp.State", options, (*_library.NAMES, "device"))
        self.names = {id(p): name for name, p in module.named_parameters()}
        self.params = [p for _, p in named]
        self.index = {id(p): i for i, p in enumerate(self.params)}
        self.waiting = []  # (bucket, places of its gradients, future) of the current step
        self.taken = set()  # indices of parameters whose gradients came in this step
        self.report, self.steps, self.skipped, self.sent_bytes = {}, 0, 0, 0
        layers = (Layer * len(named))()
        for layer, (name, p) in zip(layers, named):
            layer.name, layer.n = name.encode(), p.numel()
            layer.column, layer.stride = _columns(p.shape)
            if p.device == self.place and p.dtype == torch.float32 and p.is_contiguous():
                layer.weights = p.data_ptr()
        self.saturates = options.get("overflow", "saturate") == "saturate"
        self.weights = [layer.weights for layer in layers] if "relgrad" in options.get("codec", "") else []
        process_group, self.own_group = _gloo_group(model, process_group)
        self.comm = Communicator(process_group, words, layers, self.place)
        first = self.lib.nc_first_block(self.nc)
        self.blocks = range(first, first + self.lib.nc_n_blocks(self.nc))
        # gradients of each block: those of the last are the hook's
        self.rooms = [[_place.empty(p.numel(), self.place).zero_() for p in self.params] for _ in self.blocks]
        self.room, self.at = self.rooms[-1], 0
        everything = [room.data_ptr() for rooms in self.rooms for room in rooms]
        self.grads = (c_void_p * len(everything))(*everything)

    @property
    def nc(self):
        return self.comm.nc

    def _open(self):
        if not self.nc:
            raise RuntimeError("narrowcast: the state has been closed")

    def _must(self, code):
        try:
            return self.comm.step(code)
        except RuntimeError as failed:
            self._end(failed)
            raise

    def _refuse(self, why):
        """Raise here and on the other ranks, which would wait."""
        failed = RuntimeError("narrowcast: " + why)
        self.lib.nc_abort(self.nc, -errno.ECANCELED)
        self._end(failed)
        raise failed

    def _end(self, failed=None):
        """End the step. Return what waited for its end, which failed unless that is None."""
        ended, self.waiting, self.taken = self.waiting, [], set()
        if failed:
            for *_, future in ended:
                future.set_exception(failed)
        return ended

    def next_block(self) -> None:
        """End a block other than this rank's last: keep its gradients, and set them to 0.

        With blocks=V, each batch is cut into V equal parts, and self.blocks is the range of those that this rank computes. DDP's hook
        averages the last one's gradients with those of all blocks:

            for block in state.blocks:
                last = block == state.blocks[-1]
                with contextlib.nullcontext() if last else ddp.no_sync():
                    loss_of(part of the batch for this block).backward()
                if not last:
                    state.next_block()

        The mean over V blocks then has the same bits for any number of ranks up to V. Every block must use the same parameters, since
        DDP sees only the last block's (no find_unused_parameters)."""
        self._open()
        if self.at == len(self.blocks) - 1:
            raise RuntimeError(f"narrowcast: block {self.blocks[self.at]} is the last of this rank: run it without no_sync()")
        for p, room in zip(self.params, self.rooms[self.at]):
            if p.grad is None:
                room.zero_()
                continue
            why = _cannot(p.grad)
            if why:
                self._refuse(f"cannot average gradients of '{self.names[id(p)]}': {why}")
            room.copy_(p.grad.reshape(-1))
            p.grad.zero_()
        self.at += 1

    def _begin(self):
        if self.at != len(self.blocks) - 1:
            self._refuse(f"this rank has {len(self.blocks)} blocks, and {self.at} had their next_block(): call it after the backward pass "
                         "of each one but the last")
        for p, weights in zip(self.params, self.weights):
            if weights and p.data_ptr() != weights:
                self._refuse("a parameter lies elsewhere than when the state was made (p.data = ...), and relgrad looks at weights: make "
                             "another State")
        self._must(self.lib.nc_iallreduce(self.nc, self.grads))

    def _ready(self, i):
        if self.place.type == "cuda":
            self._must(self.lib.nc_ready_on(self.nc, i, 1, _place.stream(self.place)))
        else:
            self._must(self.lib.nc_ready(self.nc, i, 1))

    def _check(self, buffer, params, grads):
        """Refuse a bucket with a number that belongs to no gradient of this state."""
        for p in params:
            if p.numel() > 0 and id(p) not in self.index:
                name = self.names.get(id(p))
                why = (f"parameter '{name}' needed no gradient, or DDP ignored it, when the state was made" if name else
                       "a parameter is not of the model that the state was made for")
                self._refuse(why)
        why, seen = _cannot(buffer), sum(grad.numel() for grad in grads)
        if not why and buffer.is_cuda and self.was_on_cpu:
            why = f"they are on {buffer.device}, the parameters were on the CPU: make the state after model.cuda(), or with device='cpu'"
        if not why and (len(params) != len(grads) or seen != buffer.numel()):
            why = f"they are {seen} of the {buffer.numel()} numbers in their bucket"
        if why:
            names = ", ".join(f"'{self.names.get(id(p), '?')}'" for p in params)
            self._refuse(f"cannot average gradients of {names}: {why}")

    def _take(self, bucket):
        """Send the gradients of a bucket that is ready. The last bucket's call waits for all, as DDP would next."""
        self._open()
        buffer, params, grads = bucket.buffer(), bucket.parameters(), bucket.gradients()
        self._check(buffer, params, grads)
        pairs = [(self.index[id(p)], grad) for p, grad in zip(params, grads) if p.numel() > 0]
        future = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else [])
        if not pairs and not self.waiting:
            future.set_result(buffer)
            return future
        again = any(i in self.taken for i, _ in pairs)
        if again or self.waiting and bucket.index() < self.waiting[-1][0].index():
            self._refuse("the backward pass before this one ended in the middle: close() this state, on all ranks, and make another")
        if not self.waiting:
            self._begin()
        self.waiting.append((bucket, pairs, future))
        self.taken.update(i for i, _ in pairs)
        for i, grad in pairs:
            self.room[i].copy_(grad.reshape(-1))
            self._ready(i)
        # in the first pass of a static graph every bucket has index 0, and none is the last
        if bucket.is_last() or len(self.taken) == len(self.params):
            self._finish()
        return future

    def _finish(self):
        report = Report()
        skipped = self._must(self.lib.nc_wait(self.nc, byref(report))) == 1
        self.report = {name: getattr(report, name) for name, _ in Report._fields_ if name != "reserved"}
        self.steps += 1
        self.skipped += skipped
        self.sent_bytes += report.sent_bytes
        self.at = 0
        for _, pairs, _ in self.waiting:
            for i, grad in pairs:
                if skipped:
                    grad.fill_(float("nan"))
                else:
                    # e4m3 rounds fp16's largest number, 65504, up to 65536
                    if self.saturates and grad.element_size() == 2:
                        largest = torch.finfo(grad.dtype).max
                        self.rooms[0][i].clamp_(-largest, largest)
                    grad.copy_(self.rooms[0][i].view(grad.shape))
        for bucket, _, future in self._end():
            future.set_result(bucket.buffer())

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return this rank's residuals and number of steps, in bytes: a tensor `blockB` for each of its blocks; without blocks= rank B
        is block B. A job with the same model, options and number of blocks that loads them continues with the same bits. No two ranks
        have a key in common, so torch.distributed.checkpoint saves the tensors of all."""
        self._open()
        saved = torch.empty(self.lib.nc_state_bytes(self.nc), dtype=torch.uint8, device="cpu")
        self.comm.must(self.lib.nc_state_save(self.nc, saved.data_ptr()))
        return {f"block{b}": part.clone() for b, part in zip(self.blocks, saved.view(len(self.blocks), -1))}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Load the tensors of this rank's blocks, on any device; others may be there too. Call on all ranks, between steps. Raise on
        all ranks, and leave this state unchanged, if a rank's state cannot be loaded."""
        self._open()
        try:
            saved, wrong = torch.cat([_bytes(state, f"block{b}") for b in self.blocks]), None
        except ValueError as e:
            # One byte is not a state. If it is passed, the library tells the other ranks of the failure.
            saved, wrong = torch.zeros(1, dtype=torch.uint8, device="cpu"), e
        code = self.lib.nc_state_load(self.nc, saved.data_ptr(), saved.numel())
        if wrong:
            raise wrong
        self.comm.must(code)

    def close(self) -> None:
        """Leave the communicator, with all ranks. In the middle of a step, as after an exception in the backward pass, leave it
        alone: the other ranks see that at once. A second call does nothing."""
        closed = self.comm.abandon() if self.waiting else self.comm.close()
        if closed and self.own_group and dist.is_initialized():
            dist.destroy_process_group(self.comm.group.group)

    def __del__(self):
        if hasattr(self, "comm"):
            self.comm.abandon()  # before the memory that it writes to is gone


def hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future:
    """The hook of DistributedDataParallel.register_comm_hook(state, hook)."""
    if not isinstance(state, State):
        raise TypeError(f"narrowcast: the hook's state is a {type(state).__name__}: need "
                        "register_comm_hook(state, hook) with a narrowcast.ddp.State")
    if not isinstance(bucket, dist.GradBucket):
        raise TypeError(f"narrowcast: the hook got a {type(bucket).__name__}: need a bucket of DistributedDataParallel (torch.compile "
                        "passes none if torch._dynamo.config.optimize_ddp is 'python_reducer')")
    return state._take(bucket)


# PyTorch compares annotations with types; those of this file are strings.
hook.__annotations__ = {"state": State, "bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]}
