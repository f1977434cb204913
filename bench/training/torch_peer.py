#!/usr/bin/env python3
"""torch_peer.py : measures PyTorch's images per second in a training step, to compare with bench_train's.
usage: bench/training/torch_peer.py [--device cuda|cpu] [--model resnet18|resnet20|resnet50|charlstm|chargpt] [--batch N] [--size 32|224]
                           [--precision fp32|tf32|fp16|bf16] [--mode eager,compile,graphs] [--seconds S] [--threads N]
graphs: compiled, with recorded launches ("reduce-overhead"), like ours. cudagraphs: only recorded
launches; it replaces a compile that fails, as without Python.h. Prints one JSON line per mode.
The networks are those of bench_train (stem of 3x3 below 64 pixels, else 7x7 and a pooling), with SGD
with momentum, channels last, and data on the device. charlstm: windows of 128 characters of 65 kinds;
PyTorch's LSTM has no peepholes. chargpt: the same windows, looked up instead of multiplied; learned
positions instead of linear biases, because PyTorch's attention is fastest without biases."""
import argparse
import json
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn.functional import pad
except (ImportError, OSError) as why:  # a library of NVIDIA's that it lacks is the second
    print(f"skip  PyTorch: {why}")
    sys.exit(77)


class Shortcut(nn.Module):
    """Shortcut without parameters: every second pixel, padded with channels of zeros."""

    def __init__(self, more):
        super().__init__()
        self.more = more

    def forward(self, x):
        return pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.more))


class Block(nn.Module):
    """Basic (two 3x3) or bottleneck (1x1, 3x3 with the stride, 1x1) residual block."""

    def __init__(self, inner, out, stride, bottleneck, previous, project=True):
        super().__init__()
        shapes = [(previous, inner, 1, 1), (inner, inner, 3, stride), (inner, out, 1, 1)] if bottleneck else \
                 [(previous, inner, 3, stride), (inner, out, 3, 1)]
        self.convs = nn.ModuleList(nn.Conv2d(i, o, k, s, k // 2, bias=False) for i, o, k, s in shapes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(o) for _, o, _, _ in shapes)
        self.project = None
        if not project and previous != out:
            self.project = Shortcut(out - previous)
        elif stride != 1 or previous != out:
            self.project = nn.Sequential(nn.Conv2d(previous, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = x
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            y = norm(conv(y))
            if i + 1 < len(self.convs):
                y = torch.relu(y)
        return torch.relu(y + (x if self.project is None else self.project(x)))


def resnet(name, size, classes):
    bottleneck, project = name == "resnet50", name != "resnet20"
    counts = {"resnet18": [2, 2, 2, 2], "resnet20": [3, 3, 3], "resnet50": [3, 4, 6, 3]}[name]
    first = 64 if project else 16
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)] if size >= 64 else \
           [nn.Conv2d(3, first, 3, 1, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU()]
    blocks, previous = [], first
    for stage, count in enumerate(counts):
        inner = first << stage
        out = 4 * inner if bottleneck else inner
        for i in range(count):
            blocks.append(Block(inner, out, 2 if stage and not i else 1, bottleneck, previous, project))
            previous = out
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(previous, classes))


KINDS, WINDOW = 65, 128


class CharLstm(nn.Module):
    CELLS, OUT = 512, 256

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(KINDS, self.CELLS, 2, batch_first=True, proj_size=self.OUT)
        self.classifier = nn.Linear(self.OUT, KINDS)

    def forward(self, x):
        return self.classifier(self.lstm(x)[0]).flatten(0, 1)


class GptBlock(nn.Module):
    CHANNELS, HEADS = 128, 4

    def __init__(self):
        super().__init__()
        c = self.CHANNELS
        self.norm, self.qkv, self.proj = nn.LayerNorm(c), nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.mlp = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

    def forward(self, x):
        batch, steps, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, steps, 3, self.HEADS, c // self.HEADS).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, steps, c))
        return x + self.mlp(x)


class CharGpt(nn.Module):
    def __init__(self):
        super().__init__()
        c = GptBlock.CHANNELS
        self.embedding, self.positions = nn.Embedding(KINDS, c), nn.Parameter(0.02 * torch.randn(WINDOW, c))
        self.rest = nn.Sequential(GptBlock(), GptBlock(), nn.LayerNorm(c), nn.Linear(c, KINDS))

    def forward(self, x):
        return self.rest(self.embedding(x) + self.positions).flatten(0, 1)


CHARS = {"charlstm": CharLstm, "chargpt": CharGpt}


def samples_of(args):
    if args.model in CHARS:
        kinds = torch.randint(0, KINDS, (args.batch, WINDOW), device=args.device)
        x = kinds if args.model == "chargpt" else nn.functional.one_hot(kinds, KINDS).float()
        return x, kinds.roll(-1, 1).flatten()
    x = torch.randn(args.batch, 3, args.size, args.size, device=args.device).to(memory_format=torch.channels_last)
    return x, torch.arange(args.batch, device=args.device) % 10


def images_per_s(args, mode):
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    tf32 = args.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    model = CHARS[args.model]() if args.model in CHARS else resnet(args.model, args.size, 10 if args.size < 64 else 1000)
    model = model.to(args.device).to(memory_format=torch.channels_last)
    step_model = {"eager": lambda m: m, "compile": torch.compile, "graphs": lambda m: torch.compile(m, mode="reduce-overhead"),
                  "cudagraphs": lambda m: torch.compile(m, backend="cudagraphs")}[mode](model)
    optim = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, **({"fused": True} if args.device == "cuda" else {}))
    loss_of = nn.CrossEntropyLoss()
    narrow = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(args.precision)
    scaler = torch.amp.GradScaler(args.device, enabled=args.precision == "fp16")
    x, labels = samples_of(args)

    def step():
        optim.zero_grad(set_to_none=True)
        with torch.autocast(args.device, dtype=narrow, enabled=narrow is not None):
            loss = loss_of(step_model(x), labels)
        scaler.scale(loss).backward()
        scaler.step(optim)
        scaler.update()

    on_gpu = args.device == "cuda"
    settle = torch.cuda.synchronize if on_gpu else lambda: None
    for _ in range(20 if on_gpu else 4):
        step()
    settle()
    many = 10 if on_gpu else 1
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < args.seconds:
        for _ in range(many):
            step()
        settle()
        steps += many
    return args.batch * steps / (time.perf_counter() - start)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    p.add_argument("--model", choices=["resnet18", "resnet20", "resnet50", *CHARS], default="resnet18")
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--precision", choices=["fp32", "tf32", "fp16", "bf16"], default="tf32")
    p.add_argument("--mode", default="eager,compile")
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--threads", type=int, default=1, help="of a CPU")
    args = p.parse_args()
    if min(args.batch, args.size, args.threads) < 1 or not 0 < args.seconds < float("inf"):
        p.error("--batch, --size, --threads and --seconds: must be more than 0")
    if args.device == "cpu":
        torch.set_num_threads(args.threads)
    if args.device == "cuda" and not torch.cuda.is_available():
        print("skip  PyTorch: it sees no GPU")
        sys.exit(77)
    modes = args.mode.split(",")
    if not set(modes) <= {"eager", "compile", "graphs", "cudagraphs"}:
        p.error(f"--mode '{args.mode}': must be eager, compile, graphs and cudagraphs, with commas between them")
    for mode in modes:
        try:
            speed = images_per_s(args, mode)
        except Exception as why:  # the compiler's own exceptions
            if mode != "compile" or args.device != "cuda":
                raise
            print(f"torch.compile failed ({(str(why) or repr(why)).splitlines()[0]}): cudagraphs instead", file=sys.stderr)
            mode = "cudagraphs"
            speed = images_per_s(args, mode)
        print(json.dumps({"peer": "torch " + torch.__version__, "mode": mode, "model": args.model, "batch": args.batch,
                          "size": args.size, "precision": args.precision, "device": args.device,
                          "images_per_s": round(speed, 1)}), flush=True)


if __name__ == "__main__":
    main()
