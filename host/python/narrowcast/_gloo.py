"""_gloo.py : communicators of the library whose messages go through a gloo group of torch.distributed."""

from __future__ import annotations

import atexit
import ctypes
import datetime
import errno
import os
import queue
import threading
import time
import weakref
from ctypes import byref, c_int, c_void_p, sizeof

import torch
import torch.distributed as dist

from . import _library, _place
from ._library import Begin, Cancel, Transport

N_TAGS = 8  # NC_TAGS


class _Channel:
    """Messages to or from a rank with one tag. They end in the order of their beginning, so one thread waits for each in turn.
    gloo does not report the end of a message to a caller that polls."""

    FOREVER = datetime.timedelta(days=365)  # the library has the deadline; gloo's own would close all connections

    def __init__(self):
        self.begun = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while (message := self.begun.get()) is not None:
            work, finish = message
            try:
                work.wait(self.FOREVER)
                finish(1)
            except RuntimeError:
                finish(-errno.ECONNRESET)


class Group:
    """struct nc_transport over a gloo group. Communicators that share the group have tags of their own, from `tag` on."""

    FLAGS = 1 << 15  # a flag is reused only after all others
    MESSAGE_BYTES = 1 << 20  # a message costs turns of Python's threads: few and long ones

    def __init__(self, group, tag):
        self.group, self.tag = group, tag
        self.rank, self.n_ranks = dist.get_rank(group), dist.get_world_size(group)
        self.channels = {}
        self.flags = (c_int * self.FLAGS)()
        self.base = ctypes.addressof(self.flags)
        self.under_way = [False] * self.FLAGS
        self.at = 0
        self.lock = threading.Lock()  # for under_way: a cancelled message writes nothing
        self.table = Transport(size=sizeof(Transport), rank=self.rank, n_ranks=self.n_ranks, isend=Begin(self.isend),
                                irecv=Begin(self.irecv), cancel=Cancel(self.cancel), threads=1, message_bytes=self.MESSAGE_BYTES)

    def flag(self):
        while self.under_way[self.at]:
            self.at = (self.at + 1) % self.FLAGS
        i, self.at = self.at, (self.at + 1) % self.FLAGS
        self.flags[i], self.under_way[i] = 0, True
        return i

    def begin(self, sends, peer, tag, data, finish, request):
        key = (sends, peer, tag)
        if key not in self.channels:
            self.channels[key] = _Channel()
        work = (self.group.send if sends else self.group.recv)([data], peer, self.tag + tag)
        i = self.flag()

        def end(code):
            with self.lock:
                if self.under_way[i] and code > 0:
                    finish()
                self.under_way[i] = False
                self.flags[i] = code

        request[0] = self.base + i * sizeof(c_int)
        self.channels[key].begun.put((work, end))
        return 0

    def isend(self, _, to, tag, buf, count, request):
        try:
            data = torch.empty(count, dtype=torch.uint8, device="cpu")
            ctypes.memmove(data.data_ptr(), buf, count)
            return self.begin(True, to, tag, data, lambda: None, request)
        except Exception:  # must not leave a C callback
            return -errno.EIO

    def irecv(self, _, source, tag, buf, count, request):
        try:
            data = torch.empty(count, dtype=torch.uint8, device="cpu")
            return self.begin(False, source, tag, data, lambda: ctypes.memmove(buf, data.data_ptr(), count), request)
        except Exception:
            return -errno.EIO

    def cancel(self, _, request):
        with self.lock:
            self.under_way[(request - self.base) // sizeof(c_int)] = False

    def close(self):
        for channel in self.channels.values():
            channel.begun.put(None)
        end = time.monotonic() + 1  # a failed message may hold its thread for ever
        for channel in self.channels.values():
            channel.thread.join(max(0, end - time.monotonic()))


class Unique:
    """A State of ddp.py or fsdp.py, which other ranks and the library's threads depend on."""

    def __reduce_ex__(self, protocol):
        raise TypeError("narrowcast: a State cannot be copied or pickled: copy or save the module "
                        "inside DDP (ddp.module), and state.state_dict()")


def modules(model):
    """Return the modules of a model. Raise TypeError for what is none."""
    if not isinstance(model, torch.nn.Module):
        what = model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(f"narrowcast: need a model, a torch.nn.Module, not {what}")
    return list(model.modules())


class Communicator:
    """A communicator of these layers over a gloo group, in tags N_TAGS * number and up, with gradients on a place. All ranks of the
    group make it. One that is dropped without close(), or whose process exits, is abandoned, which the other ranks see at once."""

    def __init__(self, process_group, words, layers, place, number=0):
        self.lib, self.nc, self.pid = _library.load(), c_void_p(), os.getpid()
        self.group = Group(process_group, N_TAGS * number)
        with _place.current(place):
            failed = self.lib.nc_open_over(byref(self.group.table), byref(words), layers, len(layers), byref(self.nc)) < 0
        if failed:
            self.group.close()
            raise RuntimeError(_library.last_error() + ('; device="cpu" copies gradients to the CPU' if place.type == "cuda" else ""))
        me = weakref.ref(self)
        self.at_exit = lambda: me() and me().abandon()
        atexit.register(self.at_exit)

    def must(self, code):
        if code < 0:
            raise RuntimeError(_library.last_error(self.nc))
        return code

    def step(self, code):
        """As must(), of a call of a step: it fails on the other ranks, too."""
        try:
            return self.must(code)
        except RuntimeError:
            self.lib.nc_abort(self.nc, code)
            raise

    def close(self):
        """Leave the communicator, with all ranks. Return False, and do nothing, if it is closed or this process is a forked child."""
        if not self.nc or os.getpid() != self.pid:
            return False
        self.lib.nc_close(self.nc)
        self.nc = c_void_p()
        self.group.close()
        atexit.unregister(self.at_exit)
        return True

    def abandon(self):
        """Leave it without the other ranks, so that they do not wait. Return as close()."""
        if self.nc and os.getpid() == self.pid:
            self.lib.nc_abort(self.nc, -errno.ECANCELED)
        return self.close()

    def __del__(self):
        if hasattr(self, "group"):
            self.abandon()
