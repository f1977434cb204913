"""_place.py : where gradients are cast and added: on the CPU, or on the GPU that has the parameters.

The library works in a stream of its own. It begins after the work that is queued in PyTorch's current stream, and has ended when
nc_wait() returns."""

from __future__ import annotations

from typing import Iterable

import torch


def of(tensors: Iterable[torch.Tensor], word: str) -> torch.device:
    """Return the GPU that has all tensors, or the CPU: without such a GPU, and for the word cpu. Raise ValueError if cuda is impossible."""
    devices = {tensor.device for tensor in tensors}
    on_gpu = len(devices) == 1 and next(iter(devices)).type == "cuda"
    if word == "cuda" and not on_gpu:
        raise ValueError(f"narrowcast: device='cuda' needs all parameters on one GPU: they are on {', '.join(sorted(map(str, devices)))}")
    return devices.pop() if on_gpu and word != "cpu" else torch.device("cpu")


def zeros(n: int, place: torch.device) -> torch.Tensor:
    """Return n zeros, in fp32."""
    return torch.zeros(n, dtype=torch.float32, device=place)


def fp32(tensor: torch.Tensor, place: torch.device) -> torch.Tensor:
    """Return the tensor in contiguous fp32 on the place: itself, if it is that already."""
    return tensor.detach().to(place, torch.float32).contiguous()


def stream(place: torch.device) -> int:
    """Return PyTorch's current stream on a GPU, a cudaStream_t."""
    return torch.cuda.current_stream(place).cuda_stream


def wait(place: torch.device) -> None:
    """Wait for the work that is queued in PyTorch's current stream."""
    if place.type == "cuda":
        torch.cuda.current_stream(place).synchronize()
