# ddp_kinds.py : checks which parameters narrowcast.ddp's hook averages, for test_ddp.sh, on 2 CPU
# ranks over gloo. Others must be refused by name when the state is made; every gradient must
# change.
#
#     ddp_kinds.py FOLDER
import copy
import os
import pickle
import sys
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "python"))
import narrowcast.ddp as nd  # noqa: E402
from narrowcast import cast  # noqa: E402
from ddp_runs import check  # noqa: E402

RANKS = 2


def wrapped(module, **options):
    return torch.nn.parallel.DistributedDataParallel(module, bucket_cap_mb=0.0001, **options)


def hooked(model, **options):
    """A state whose means of small numbers are exact."""
    options = {"format": "fp16", "scale": "none", "quantise": "all", **options}
    state = nd.State(model, **options)
    model.register_comm_hook(state, nd.hook)
    return state


class Known(torch.nn.Module):
    """Its call takes the parameters' gradients. A parameter gets none where the call has None."""

    def __init__(self, *params):
        super().__init__()
        made = [p if isinstance(p, torch.nn.Parameter) else torch.nn.Parameter(p) for p in params]
        self.all = torch.nn.ParameterList(made)

    def forward(self, grads):
        pairs = [(p, g) for p, g in zip(self.all, grads) if g is not None]
        return sum((p * g).sum().to(torch.float64) for p, g in pairs)


def numbers(p, rank):
    """Small multiples of a power of two. e5m10 holds them and their means."""
    n = torch.arange(p.numel(), dtype=torch.float64).reshape(p.shape)
    return ((n * (rank + 3) + rank) % 61 / 32).to(p.dtype)


def mean_of(p):
    return (sum(numbers(p, r).double() for r in range(RANKS)) / RANKS).to(p.dtype)


def types():
    """The types that DDP can send when it starts: gloo of PyTorch 1.13 has no bfloat16."""
    for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        try:
            dist.broadcast(torch.zeros(1, dtype=kind), 0)
            yield kind
        except RuntimeError:
            print(f"not run: {kind} (not known to gloo)\n", end="", flush=True)


def dense():
    for kind in types():
        yield str(kind), torch.zeros(7, 5, dtype=kind)
    yield "channels last", torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    volume = torch.zeros(2, 3, 2, 4, 5)
    yield "channels last 3d", volume.contiguous(memory_format=torch.channels_last_3d)
    yield "transposed", torch.zeros(4, 5).t()
    yield "strided", torch.zeros(8, 10)[::2, ::3]
    yield "a part of a tensor", torch.zeros(100)[7:20]
    yield "no dimension", torch.zeros(())
    yield "no element", torch.zeros(0)


def averaged_by(name, params, rank, views):
    model = wrapped(Known(*params, torch.zeros(11)), gradient_as_bucket_view=views)
    state = hooked(model)
    for _ in range(3):
        model.zero_grad()
        model([numbers(p, rank) for p in model.module.all]).backward()
        for p in model.module.all:
            same = p.grad.dtype == p.dtype and torch.equal(p.grad, mean_of(p))
            check(same, f"{name}, views {views}: {p.grad}, not {mean_of(p)}")
    check(state.steps == 3, f"{name}: {state.steps} steps")
    state.close()


def averaged(rank):
    """Each kind beside a plain parameter, and all of them in one model."""
    kinds = list(dense())
    for views in (False, True):
        for name, p in kinds:
            averaged_by(name, [p.clone()], rank, views)
        averaged_by("all", [p.clone() for _, p in kinds], rank, views)


def without_gradients(rank):
    """A parameter that no rank uses, one that a single rank uses, and one that is frozen."""
    frozen = torch.nn.Parameter(torch.zeros(3), requires_grad=False)
    plain = [torch.zeros(5), torch.zeros(9), torch.zeros(4)]
    model = wrapped(Known(*plain, frozen), find_unused_parameters=True)
    state = hooked(model)
    used, unused, by_one, frozen = model.module.all
    for _ in range(3):
        model.zero_grad()
        one = numbers(by_one, rank) if rank == 1 else None
        model([numbers(used, rank), None, one, None]).backward()
        check(torch.equal(used.grad, mean_of(used)), "beside an unused one")
        check(unused.grad is None or not unused.grad.any(), f"used by no rank: {unused.grad}")
        check(torch.equal(by_one.grad, numbers(by_one, 1) / RANKS), f"by one rank: {by_one.grad}")
        check(frozen.grad is None, "frozen")
    state.close()


def largest():
    """Means that fit the gradients' type are finite."""
    for kind in types():
        for scale in ("aps", "aps-tight"):
            value = 65504.0 if kind == torch.float16 else 1.5 * 2.0 ** 126
            model = wrapped(Known(torch.zeros(20, dtype=kind)))
            state = hooked(model, format="e4m3", scale=scale)
            p = model.module.all[0]
            p.register_hook(lambda g, value=value: torch.full_like(g, value))
            model([torch.ones(20, dtype=kind)]).backward()
            fine = torch.isfinite(p.grad).all() and p.grad.min() > value / 2
            check(fine, f"{kind} {scale}: {value} becomes {p.grad[0]}")
            state.close()


class Bad(torch.nn.Module):
    def __init__(self, bad):
        super().__init__()
        self.good = torch.nn.Linear(3, 2)
        self.bad = bad


def bad_tensors():
    yield "layout torch.sparse_coo", torch.eye(3).to_sparse()
    yield "layout torch.sparse_csr", torch.eye(3).to_sparse_csr()
    if torch.backends.mkldnn.is_available():
        yield "layout torch._mkldnn", torch.eye(3).to_mkldnn()
    yield "type torch.complex64", torch.zeros(3, dtype=torch.complex64)
    yield "type torch.complex128", torch.zeros(3, dtype=torch.complex128)
    if hasattr(torch, "float8_e4m3fn"):
        yield "type torch.float8_e4m3fn", torch.zeros(3).to(torch.float8_e4m3fn)
    yield "on device 'meta'", torch.zeros(3, device="meta")


def bad_modules():
    yield "they are sparse", torch.nn.Embedding(4, 2, sparse=True)
    yield "they are sparse", torch.nn.EmbeddingBag(4, 2, sparse=True)
    yield "it has no shape yet", torch.nn.LazyLinear(2)
    for words, tensor in bad_tensors():
        module = torch.nn.Module()
        module.weight = torch.nn.Parameter(tensor)
        yield words, module


def raises(words, error, function, *args):
    try:
        function(*args)
        check(False, f"{words}: taken")
    except error as e:
        check("narrowcast: " in str(e) and words in str(e) and "\n" not in str(e), f"{words}: {e}")


def copied(rank):
    """A state is not copied. The attempt does not close it."""
    model = wrapped(torch.nn.Linear(3, 2))
    state = hooked(model)
    for of in (state, model):
        for way in (copy.copy, copy.deepcopy, pickle.dumps) if of is state else (copy.deepcopy,):
            raises("cannot be copied or pickled", TypeError, way, of)
    model(torch.ones(3)).sum().backward()
    state.close()


def refused(rank):
    for words, bad in bad_modules():
        try:
            nd.State(Bad(bad), format="e4m3")
            check(False, f"{words}: taken")
        except ValueError as e:
            named = "parameter 'bad.weight': " in str(e) and "\n" not in str(e)
            check(named and words in str(e), f"{words}: {e}")
    none, alone = torch.nn.Linear(0, 0, bias=False), dist.new_group([0], backend="gloo")
    for words, error, args in (
            ("a torch.nn.Module, not NoneType", TypeError, (None,)),
            ("a torch.nn.Module, not Linear", TypeError, (torch.nn.Linear,)),
            ("no parameter of the model needs gradients", ValueError, (none,)),
            ("this rank is not in process_group", ValueError, (wrapped(Bad(None)), alone))):
        if args[-1] is not alone or rank > 0:
            raises(words, error, nd.State, *args)
    raises("the hook's state is a NoneType", TypeError, nd.hook, None, None)
    whole = nd.State(torch.nn.Linear(2, 2))
    raises("the hook got a tuple", TypeError, nd.hook, whole, (None, None))
    whole.close()
    frozen = torch.nn.Embedding(4, 2, sparse=True)
    frozen.weight.requires_grad = False
    nd.State(Bad(frozen), format="e4m3").close()


def casts():
    """encode() refuses tensors without memory, and keeps a lazy minus."""
    others = [tensor for words, tensor in bad_tensors() if "float8" not in words]
    for bad in (*others, torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])):
        try:
            cast.encode(bad, format="fp32")
            check(False, f"a tensor of {bad.layout} on {bad.device} is cast")
        except TypeError as e:
            named = "narrowcast: cannot encode a " in str(e) and "\n" not in str(e)
            check(named, f"{bad.layout}: {e}")
    for n in (1, 3):
        x = torch.tensor([1 + 2j] * n).conj().imag
        view = torch._neg_view(torch.arange(n) + 1.0)
        for x in (x, view, torch.arange(9.0)[9 - n:], torch.zeros(0)):
            y = cast.decode(cast.encode(x, format="fp32"))
            check(torch.equal(x, y), f"{x} is cast to {y}")


def refused_late(rank):
    """The backward pass stops at what the state could not see when it was made."""
    late, frozen, other = torch.nn.Embedding(4, 2), torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    frozen.weight.requires_grad = False
    of_late, of_frozen, of_other = (nd.State(m, deadline_s=10) for m in (late, frozen, other))
    late.sparse = True
    frozen.weight.requires_grad = True
    x = torch.ones(2)
    for state, module, x, words in (
            (of_late, late, torch.tensor([rank]), "of 'weight': they are of layout"),
            (of_frozen, frozen, x, "parameter 'weight' needed no gradient"),
            (of_other, torch.nn.Linear(2, 2), x, "is not of the model")):
        model = wrapped(module)
        model.register_comm_hook(state, nd.hook)
        try:
            model(x).sum().backward()
            check(False, f"{words}: goes on")
        except RuntimeError as e:
            check(words in str(e), f"{words}: {e}")
        state.close()


def refused_on_one(rank):
    """The other ranks do not wait until the deadline."""
    module = torch.nn.Linear(2, 2)
    state, model = nd.State(module), wrapped(module)
    model.register_comm_hook(state, nd.hook)
    if rank == 1:
        state.index.clear()
    try:
        model(torch.ones(2)).sum().backward()
        check(False, "a step goes on that one rank refuses")
    except RuntimeError as e:
        check(("needed no gradient" if rank == 1 else "another rank") in str(e), f"refused on rank 1: {e}")
    state.close()


def bad_states(good):
    yield "on device 'meta'", good.to("meta")
    yield "layout torch.sparse_coo", good.to_sparse()
    yield "a tensor of uint8", good.float()
    yield "a tensor of uint8", good.long()
    yield "a tensor of uint8", good.tolist()
    yield "a tensor of uint8", bytes(good.tolist())
    yield "a tensor of uint8", None
    yield "a tensor of uint8", good[:0]


def through_checkpoint(state, name, folder):
    """torch.distributed.checkpoint keeps the states of all ranks."""
    try:
        from torch.distributed.checkpoint import load, save
    except ImportError:  # PyTorch 1.13
        return
    saved, good = {"narrowcast": state.state_dict()}, state.state_dict()[name]
    save(saved, checkpoint_id=f"{folder}/checkpoint")
    saved["narrowcast"][name].zero_()
    load(saved, checkpoint_id=f"{folder}/checkpoint")
    state.load_state_dict(saved["narrowcast"])
    check(torch.equal(state.state_dict()[name], good), "a checkpoint gives another state")


def states(rank, folder):
    """All ranks refuse what one of them, or each, cannot load. The state can be used afterwards."""
    state = nd.State(torch.nn.Linear(30, 20), codec="onebit", quantise="all")
    name = f"block{rank}"
    good = state.state_dict()[name]
    for words, bad in bad_states(good):
        for mine in (True, rank == RANKS - 1):
            try:
                state.load_state_dict({name: bad if mine else good})
                check(False, f"{words}: taken")
            except ValueError as e:
                said = "narrowcast: cannot load a state: " in str(e) and words in str(e)
                check(mine and said, f"{words}: {e}")
            except RuntimeError as e:
                check(not mine and "narrowcast: " in str(e), f"{words}, another rank: {e}")
    strided, odd = torch.stack([good, good], 1)[:, 0], torch.cat([good[:1], good])[1:]
    for fine in (good, strided, odd, good.reshape(2, -1)):
        state.load_state_dict({"block9": good[:1], name: fine})
    check(torch.equal(state.state_dict()[name], good), "another state than was loaded")
    through_checkpoint(state, name, folder)
    state.close()


def kinds(rank, folder):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist._DEFAULT_FIRST_BUCKET_BYTES = 100
    where = f"file://{folder}/kinds"
    dist.init_process_group("gloo", init_method=where, rank=rank, world_size=RANKS)
    averaged(rank)
    without_gradients(rank)
    largest()
    refused(rank)
    copied(rank)
    casts()
    states(rank, folder)
    refused_late(rank)
    refused_on_one(rank)
    print("kinds are averaged or refused\n", end="", flush=True)
    os._exit(0)  # gloo's threads still wait for messages of failed states


if __name__ == "__main__":
    mp.spawn(kinds, (sys.argv[1],), nprocs=RANKS)
