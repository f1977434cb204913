#!/usr/bin/env python3
"""ddp_train.py : trains the transformer of fsdp_train.py with PyTorch's DistributedDataParallel, whose gradients travel in e4m3.

    torchrun --nproc-per-node 2 ddp_train.py --text FILE [--format e4m3] [--scale aps]

--format none is DDP's own communication, in fp32."""
import torch

from fsdp_train import main


def ddp(model, args):
    import narrowcast.ddp

    model = torch.nn.parallel.DistributedDataParallel(model)
    if args.format == "none":
        return model, None
    state = narrowcast.ddp.State(model, format=args.format, scale=args.scale)
    model.register_comm_hook(state, narrowcast.ddp.hook)
    return model, state


if __name__ == "__main__":
    main(ddp)
