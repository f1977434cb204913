"""_place.py : where gradients are cast and added: on the CPU, or on the GPU that has the parameters.

The library works in a stream of its own. It begins after the work that is queued in PyTorch's current stream, and has ended when
nc_wait() returns."""

from __future__ import annotations

import contextlib
from typing import ContextManager, Set

import torch


def choose(devices: Set[torch.device], word: str) -> torch.device:
    """Return the GPU if it is the only device, else the CPU, as for the word cpu. Raise ValueError if the word is cuda and that fails."""
    only = next(iter(devices)) if len(devices) == 1 else None
    on_gpu = only is not None and only.type == "cuda"
    if word == "cuda" and not on_gpu:
        raise ValueError(f"narrowcast: device='cuda' needs all gradients on one GPU: they are on {', '.join(sorted(map(str, devices)))}")
    return only if on_gpu and word != "cpu" else torch.device("cpu")


def empty(n: int, place: torch.device) -> torch.Tensor:
    """Return n numbers of any value, in fp32."""
    return torch.empty(n, dtype=torch.float32, device=place)


def fp32(tensor: torch.Tensor, place: torch.device) -> torch.Tensor:
    """Return the tensor in contiguous fp32 on the place: itself, if it is that already."""
    return tensor.detach().to(place, torch.float32).contiguous()


def has_memory(tensor: torch.Tensor) -> bool:
    """Return True if data_ptr() is the address of a tensor's numbers. False for DTensors, FakeTensors, tensors of torch.func,
    sparse and nested tensors, and device meta."""
    if tensor.layout != torch.strided or tensor.is_nested or tensor.device.type == "meta":
        return False
    try:
        # without memory, an address is the offset alone
        return tensor.numel() == 0 or tensor.data_ptr() != tensor.storage_offset() * tensor.element_size()
    except RuntimeError:
        return False


def stream(place: torch.device) -> int:
    """Return PyTorch's current stream on a GPU, a cudaStream_t."""
    return torch.cuda.current_stream(place).cuda_stream


def wait(place: torch.device) -> None:
    """Wait for the work that is queued in PyTorch's current stream."""
    if place.type == "cuda":
        torch.cuda.current_stream(place).synchronize()


def current(place: torch.device) -> ContextManager[None]:
    """Make a GPU the current device meanwhile."""
    return torch.cuda.device(place) if place.type == "cuda" else contextlib.nullcontext()
