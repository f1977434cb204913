# ddp_runs.py : trains DistributedDataParallel on CPUs with and without narrowcast.ddp's hook.
# For test_ddp.sh. Each command starts its own ranks.
#
#     ddp_runs.py train FOLDER [DATA]    trains a small CNN on 4 ranks: fp32 without the hook, then
#                                         e4m3 aps, e3m0 and onebit with it
#     ddp_runs.py mean FOLDER RANKS      prints a checksum of means of known gradients, e4m3 aps
#     ddp_runs.py mean FOLDER RANKS V    the same with V blocks; the checksum is that of V ranks
#     ddp_runs.py mean-gpu FOLDER RANKS  the same in memory of the GPUs' emulator, $NARROWCAST_CUDA
#     ddp_runs.py mean-c RANK RANKS      the same by nc_open over MPI, under mpirun
#     ddp_runs.py faults FOLDER          a nan, a rank killed in mid-step, bad options, a child that
#                                         exits, a state saved and loaded
import atexit
import contextlib
import ctypes
import gzip
import os
import signal
import sys
import types
import zlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "host", "python"))
import narrowcast.ddp as nd  # noqa: E402
from narrowcast import _place  # noqa: E402

SEED = 20261123


def join(rank, folder, n_ranks, name):
    torch.set_num_threads(1)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 2000  # several buckets even for small models
    dist.init_process_group("gloo", init_method=f"file://{folder}/{name}", rank=rank, world_size=n_ranks)


def check(good, what):
    if not good:
        print("FAIL", what, flush=True)
        os._exit(1)



def images(data, n=3000):
    """n images [1][28][28] in -1..1 and their labels: Fashion-MNIST's first, or planted ones."""
    if data:
        def read(name, head):
            return torch.frombuffer(bytearray(gzip.open(os.path.join(data, name)).read()[head:]), dtype=torch.uint8)
        x = read("train-images-idx3-ubyte.gz", 16)[: n * 784].reshape(n, 1, 28, 28) / 127.5 - 1
        return x, read("train-labels-idx1-ubyte.gz", 8)[:n].long()
    g = torch.Generator().manual_seed(SEED)
    y = torch.randint(10, (n,), generator=g)
    return torch.randn(10, 1, 28, 28, generator=g)[y] * 0.4 + torch.randn(n, 1, 28, 28, generator=g), y


def cnn():
    torch.manual_seed(SEED)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, 2, 1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, 2, 1),
        torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 49, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


RUNS = {"fp32": None, "e4m3": {"format": "e4m3", "scale": "aps"}, "e3m0": {"format": "e3m0", "scale": "aps-tight"},
        "onebit": {"codec": "onebit:64"}}


def train(x, y, n_ranks, name, options):
    """One training, on every rank. Returns the mean loss of its last pass."""
    model = torch.nn.parallel.DistributedDataParallel(cnn(), bucket_cap_mb=0.1)
    state = None
    if options is not None:
        state = nd.State(model, **options)
        model.register_comm_hook(state, nd.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(2):
        loss_sum = torch.zeros(1)
        for i in range(0, len(x) - 31, 32):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[i:i + 32]), y[i:i + 32])
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
    dist.all_reduce(loss_sum)
    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    all_weights = [torch.empty_like(weights) for _ in range(n_ranks)]
    dist.all_gather(all_weights, weights)
    check(all(torch.equal(w, weights) for w in all_weights), f"{name}: ranks have different weights")
    share = 1
    if state:
        check(state.steps == 2 * (len(x) // 32) and state.skipped == 0, f"{name}: {state.steps} steps")
        share = state.report["code_bytes"] / state.report["fp32_bytes"]
        check(share < 0.3, f"{name}: {state.report}")
        state.close()
    loss = loss_sum.item() / (len(x) // 32) / n_ranks
    if dist.get_rank() == 0:
        print(f"{name}: loss {loss:.4f}, {share:.3f} of fp32's bytes", flush=True)
    return loss


def train_all(rank, folder, n_ranks, data):
    join(rank, folder, n_ranks, "train")
    x, y = images(data)
    loss = {name: train(x[rank::n_ranks], y[rank::n_ranks], n_ranks, name, options) for name, options in RUNS.items()}
    check(loss["fp32"] < 1.2, f"fp32 does not learn: {loss}")
    check(abs(loss["e4m3"] - loss["fp32"]) < 0.15 and loss["e3m0"] < loss["fp32"] + 0.2 and loss["onebit"] < loss["fp32"] + 0.5,
          f"losses {loss}")


SHAPES = [(7, 33), (33,), (5, 3, 3, 3), (1,), (300, 21)]
DEVICE = os.environ.get("DEVICE", "cpu")  # of the means: cuda on a machine with a GPU


class Known(torch.nn.Module):
    """A model whose gradients are what it is called with."""

    def __init__(self):
        super().__init__()
        self.all = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(s)) for s in SHAPES])

    def forward(self, grads):
        return sum((p * g).sum() for p, g in zip(self.all, grads))


def known_grads(rank, step):
    g = torch.Generator().manual_seed(SEED + 1000 * step + rank)
    return [(torch.randn(s, generator=g) * 2.0 ** -(step + i)).to(DEVICE) for i, s in enumerate(SHAPES)]


OPTIONS = {"format": "e4m3", "scale": "aps", "round": "stochastic", "bucket_bytes": 600}


def crc_of(tensors, crc):
    return zlib.crc32(bytes(torch.cat([t.reshape(-1) for t in tensors]).view(torch.uint8).tolist()), crc)


def mean(rank, folder, n_ranks, n_blocks=0):
    join(rank, folder, n_ranks, "mean")
    model = torch.nn.parallel.DistributedDataParallel(Known().to(DEVICE), bucket_cap_mb=0.002)
    state = nd.State(model, **OPTIONS, blocks=n_blocks)
    check(state.place.type == DEVICE or DEVICE == "cpu", f"gradients are averaged on {state.place}")
    model.register_comm_hook(state, nd.hook)
    crc = 0
    for step in range(3):
        model.zero_grad()
        for block in state.blocks[:-1]:
            with model.no_sync():
                model(known_grads(block, step)).backward()
            state.next_block()
        model(known_grads(state.blocks[-1], step)).backward()
        crc = crc_of([p.grad.cpu() for p in model.parameters()], crc)
    if n_blocks:
        blocks_refused(model, state)
    state.close()
    print(f"means {crc:08x}\n", end="", flush=True)
    if n_blocks:
        os._exit(0)  # after the refused step, PyTorch 2.15 may abort at the interpreter's end


def use_emulator(rank):
    """Let the package place gradients in an emulated GPU's memory ($NARROWCAST_CUDA), although PyTorch's tensors are on the CPU."""
    emulator, on_gpu = ctypes.CDLL(os.environ["NARROWCAST_CUDA"]), types.SimpleNamespace(type="cuda")
    check(emulator["_Z13cudaSetDevicei"](rank) == 0, "cudaSetDevice")
    choose, empty, fp32 = _place.choose, _place.empty, _place.fp32
    gpus = {torch.device("cuda", 1)}
    check(choose(gpus, "") == torch.device("cuda", 1) and len(gpus) == 1, "the place of parameters on a GPU")
    check(choose(set(), "") == torch.device("cpu"), "the place of no parameters")

    def empty_there(n, place):
        at = ctypes.c_void_p()
        if place is not on_gpu or n == 0:
            return empty(n, place)
        check(emulator["_Z10cudaMallocPPvm"](ctypes.byref(at), ctypes.c_size_t(4 * n)) == 0, "cudaMalloc")
        return torch.frombuffer((ctypes.c_float * n).from_address(at.value), dtype=torch.float32)

    def copy_there(tensor, place):
        return empty_there(tensor.numel(), place).copy_(tensor.reshape(-1)) if place is on_gpu else fp32(tensor, place)

    _place.choose = lambda devices, word: choose(devices, word) if word else on_gpu
    _place.empty, _place.fp32, _place.stream, _place.wait = empty_there, copy_there, lambda _: None, lambda _: None
    _place.current = lambda _: contextlib.nullcontext()


def mean_gpu(rank, folder, n_ranks):
    use_emulator(rank)
    mean(rank, folder, n_ranks)


def blocks_refused(model, state):
    """Blocks that are ended too often or not at all, and the state of all ranks, which any number of ranks loads."""
    saved = state.state_dict()
    n_ranks = dist.get_world_size()
    states = [None] * n_ranks
    dist.all_gather_object(states, saved)
    state.load_state_dict({name: part for each in states for name, part in each.items()})
    again = state.state_dict()
    check(list(again) == [f"block{b}" for b in state.blocks], f"blocks {state.blocks} are saved as {list(again)}")
    check(all(torch.equal(again[name], part) for name, part in saved.items()), "the state of all ranks")
    try:
        nd.State(torch.nn.parallel.DistributedDataParallel(Known(), find_unused_parameters=True), blocks=n_ranks)
        check(False, "find_unused_parameters")
    except ValueError as e:
        check("find_unused_parameters" in str(e), f"find_unused_parameters: {e}")
    for _ in state.blocks[:-1]:
        state.next_block()
    try:
        state.next_block()
        check(False, "next_block() after the last block")
    except RuntimeError as e:
        check("is the last of this rank" in str(e), f"next_block() after the last block: {e}")
    state.at = 0  # as if no block had ended
    if len(state.blocks) > 1:
        try:
            model(known_grads(0, 0)).backward()  # DDP does no step after that
            check(False, "a step without next_block()")
        except RuntimeError as e:
            check("had their next_block()" in str(e), f"a step without next_block(): {e}")


def mean_c(n_steps=3):
    from ctypes import byref, c_int, c_void_p, POINTER
    from narrowcast import _library
    lib, words, nc = _library.load(), _library.settings("mean_c", OPTIONS), c_void_p()
    lib.nc_open.argtypes = [POINTER(_library.Options), POINTER(_library.Layer), c_int, POINTER(c_void_p)]
    grads = known_grads(0, 0)
    layers = (_library.Layer * len(grads))()
    for layer, g in zip(layers, grads):
        layer.name, layer.n = b"grad", g.numel()
    check(lib.nc_open(byref(words), layers, len(layers), byref(nc)) == 0, "nc_open")
    rank, crc = lib.nc_rank(nc), 0
    for step in range(n_steps):
        grads = known_grads(rank, step)
        check(lib.nc_allreduce(nc, (c_void_p * len(grads))(*[g.data_ptr() for g in grads]), None) == 0, "nc_allreduce")
        crc = crc_of(grads, crc)
    lib.nc_close(nc)
    print(f"means {crc:08x}\n", end="", flush=True)


def faults(rank, folder, n_ranks):
    join(rank, folder, n_ranks, "faults")
    try:
        nd.State(Known(), format="e9m9")
        check(False, "a wrong word is taken")
    except RuntimeError as e:
        check("narrowcast: " in str(e) and ("e9m9" in str(e) or "another rank" in str(e)), f"a wrong word: {e}")
    try:
        nd.State(Known(), colour="red")
        check(False, "a wrong option is taken")
    except TypeError as e:
        check("colour" in str(e), f"a wrong option: {e}")
    try:
        nd.State(Known(), format=5)
        check(False, "a number for a word is taken")
    except TypeError as e:
        check("must be a word" in str(e), f"a number for a word: {e}")
    try:
        nd.State(Known(), deadline_s=None)
        check(False, "no number of seconds is taken")
    except TypeError as e:
        check("must be a number" in str(e), f"no number of seconds: {e}")
    for options in ({"blocks": 2**32 + 2}, {"seed": -1}, {"bucket_bytes": 1.5}, {"format": "e4m3\0junk"}):
        try:
            nd.State(Known(), **options)
            check(False, f"{options} is taken")
        except (TypeError, ValueError) as e:
            check(str(options[next(iter(options))])[:4] in str(e), f"{options}: {e}")
    try:
        nd.State(Known(), device="cuda")
        check(False, "parameters on the CPU are taken for a GPU's")
    except ValueError as e:
        check("all gradients on one GPU: they are on cpu" in str(e), f"no GPU: {e}")
    half = dist.new_group([0, 1], backend="gloo")
    if rank < 2:
        part = torch.nn.parallel.DistributedDataParallel(Known(), process_group=half)
        try:
            nd.State(part)
            check(False, "a mean over other ranks than DDP's")
        except ValueError as e:
            check("2 of 3 ranks" in str(e), f"DDP of two ranks: {e}")
    model = torch.nn.parallel.DistributedDataParallel(Known(), bucket_cap_mb=0.002)
    broken = nd.State(model)
    model.register_comm_hook(broken, nd.hook)

    class Breaks(Exception):
        pass

    def breaks(_):
        raise Breaks
    alone = torch.nn.parallel.DistributedDataParallel(Known(), bucket_cap_mb=0.002)
    left = nd.State(alone)
    alone.register_comm_hook(left, nd.hook)
    for _ in range(2):  # buckets are cut anew after the first step
        alone(known_grads(rank, 0)).backward()
    if rank == 1:
        next(alone.parameters()).register_hook(breaks)
    try:
        alone(known_grads(rank, 0)).backward()
        check(False, "a step goes on without a rank")
    except Breaks:
        check(rank == 1 and left.waiting, "no bucket was ready when the step broke on one rank")
    except RuntimeError as e:
        check("left without closing" in str(e), f"a rank closes in the middle of a step: {e}")
    left.close()
    for _ in range(2):
        model(known_grads(rank, 0)).backward()
    handle = next(model.parameters()).register_hook(breaks)
    try:
        model(known_grads(rank, 0)).backward()
        check(False, "the hook of a parameter is not called")
    except Breaks:
        handle.remove()
    check(broken.waiting, "no bucket was ready when the step broke")
    module = model.module
    del model  # and its hooks
    again = torch.nn.parallel.DistributedDataParallel(module, bucket_cap_mb=0.002)
    again.register_comm_hook(broken, nd.hook)
    try:
        again(known_grads(rank, 0)).backward()
        check(False, "goes on behind a step that ended in the middle")
    except RuntimeError as e:
        check("ended in the middle" in str(e), f"behind a broken step: {e}")
    broken.close()
    try:
        broken.state_dict()
        check(False, "a closed state is saved")
    except RuntimeError as e:
        check("has been closed" in str(e), f"a closed state: {e}")
    model = torch.nn.parallel.DistributedDataParallel(Known())
    state = nd.State(model, codec="onebit:32", deadline_s=2)
    model.register_comm_hook(state, nd.hook)

    def step(grads):
        model.zero_grad()
        model(grads).backward()
        return torch.cat([p.grad.reshape(-1) for p in model.parameters()])

    step(known_grads(rank, 0))
    bad = known_grads(rank, 1)
    if rank == 1:
        bad[2][0, 0, 0, 0] = float("nan")
    check(torch.isnan(step(bad)).all() and state.skipped == 1, "a nan on a rank")
    child = os.fork()
    if child == 0:  # its exit must not end this rank
        atexit._run_exitfuncs()
        state.__del__()
        state.close()
        os._exit(0)
    check(os.waitpid(child, 0)[1] == 0, "a forked child's exit")
    saved = {k: v.clone() for k, v in state.state_dict().items()}
    first = step(known_grads(rank, 2))
    other = step(known_grads(rank, 2))
    check(not torch.equal(first, other), "there are no residuals")
    state.load_state_dict(saved)
    check(torch.equal(step(known_grads(rank, 2)), first), "a state that is loaded goes on to other bits")
    if rank == n_ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        step(known_grads(rank, 3))
        check(False, "goes on without a rank")
    except RuntimeError as e:
        check("narrowcast: " in str(e), f"a rank is killed: {e}")
    state.close()
    print("faults are seen\n", end="", flush=True)
    os._exit(0)  # skips gloo's shutdown, which would wait for the killed rank


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "train":
        mp.spawn(train_all, (sys.argv[2], 4, sys.argv[3] if len(sys.argv) > 3 else None), nprocs=4)
    elif what == "mean":
        mp.spawn(mean, (sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0), nprocs=int(sys.argv[3]))
    elif what == "mean-c":
        mean_c()
    elif what == "mean-gpu":
        mp.spawn(mean_gpu, (sys.argv[2], int(sys.argv[3])), nprocs=int(sys.argv[3]))
    else:
        processes = [mp.get_context("spawn").Process(target=faults, args=(r, sys.argv[2], 3)) for r in range(3)]
        for p in processes:
            p.start()
        for p in processes:
            p.join()
        sys.exit([p.exitcode for p in processes] != [0, 0, -signal.SIGKILL])
