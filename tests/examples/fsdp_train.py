#!/usr/bin/env python3
"""fsdp_train.py : trains a small transformer on text with PyTorch's FSDP2, whose gradients travel in e4m3. Needs PyTorch 2.9.

    torchrun --nproc-per-node 2 fsdp_train.py --text FILE [--format e4m3] [--scale aps] [--gather delta:e4m3]

--format none is FSDP's own communication, in fp32. The loss at the end is that of text which was not trained on."""
import argparse

import torch
import torch.distributed as dist
from torch import nn


class Block(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, length, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(n, length, width))
        return x + self.feed(x)


class Transformer(nn.Module):
    def __init__(self, n_words, length, width, n_layers=2, n_heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(n_words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, n_heads) for _ in range(n_layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, n_words)

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_of(model, text, places, length):
    x = torch.stack([text[at:at + length + 1] for at in places])
    return nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())


def train(parallel, args):
    """Train on this rank. parallel(model, args) returns the model to call and narrowcast's state (None: without it). Return the mean
    loss of text that was not trained on, and the state."""
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    words = sorted(set(data := open(args.text, "rb").read()))
    text = torch.tensor([words.index(c) for c in data])
    n_trained = len(text) * 9 // 10
    kept = range(n_trained, len(text) - args.length, args.length)

    torch.manual_seed(args.seed)
    model, state = parallel(Transformer(len(words), args.length, args.width), args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    g = torch.Generator().manual_seed(args.seed)
    for _ in range(args.steps):
        places = torch.randint(n_trained - args.length, (args.batch,), generator=g)[rank::n_ranks]
        loss_of(model, text, places, args.length).backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        loss = loss_of(model, text, kept[::len(kept) // 256 + 1][rank::n_ranks], args.length)
    dist.all_reduce(loss)
    return loss.item() / n_ranks, state


def main(parallel):
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", default=__file__)
    parser.add_argument("--format", default="e4m3")
    parser.add_argument("--scale", default="aps")
    parser.add_argument("--gather")
    for name, value in (("steps", 200), ("batch", 16), ("length", 64), ("width", 64), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    loss, state = train(parallel, args)
    if dist.get_rank() == 0:
        print(f"{args.format}: loss {loss:.4f}" + (f", {state.sent_bytes} bytes of gradients sent" if state else ""))
    if state:
        state.close()
    dist.destroy_process_group()


def fsdp(model, args):
    from torch.distributed.fsdp import fully_shard
    import narrowcast.fsdp

    # with differences of weights, each rank has all of them anyway
    keep = {"reshard_after_forward": not args.gather}
    for block in model.blocks:
        fully_shard(block, **keep)
    fully_shard(model, **keep)
    if args.format == "none":
        return model, None
    return model, narrowcast.fsdp.State(model, gather=args.gather, format=args.format, scale=args.scale)


if __name__ == "__main__":
    main(fsdp)
