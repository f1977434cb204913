"""stored_blocks.py : prints MX and NVFP4 words made with ml_dtypes, for test_stored_blocks.c.

    python3 tests/hls/stored_blocks.py >tests/hls/stored_blocks.txt      # stored with ml_dtypes 0.6.0

A line per block: the codec, the exponent t of NVFP4's tensor (MX: 0), the fp32 bits of the elements, the scale, the elements' codes,
the fp32 bits of their values. Scales follow OCP MX 1.0, section 6.3, and torchao's nvfp4_quantize() without its limit of 2^-6."""
import ml_dtypes
import numpy as np

MX = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn,
      "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn}
rng = np.random.default_rng(9)


def words(codec, t, x, scale, codes, values):
    hexes = lambda a: " ".join(f"{v:x}" for v in a)
    print(codec, t, hexes(x.view(np.uint32)), f"{scale.view(np.uint8)[0]:x}", hexes(codes.view(np.uint8)),
          hexes(values.astype(np.float32).view(np.uint32)))


def cast(x, dtype):
    top = np.float64(ml_dtypes.finfo(dtype).max)
    return np.clip(x, -top, top).astype(np.float32).astype(dtype)


def blocks(n, of_size):
    for size in of_size:
        x = rng.standard_normal(n) * np.exp(rng.standard_normal(n) * 2)
        yield (x / np.abs(x).max() * size).astype(np.float32)
    yield np.zeros(n, np.float32)
    yield np.where(np.arange(n) == 3, np.float32(-of_size[0]), np.float32(-0.0))


for name, dtype in MX.items():
    top = np.floor(np.log2(np.float64(ml_dtypes.finfo(dtype).max)))
    for x in blocks(32, [1, 0.999, 1.5, 1e-3, 448, 3e38, 2e-38, 1e-42, 2.0**-100]):
        largest = np.abs(x).astype(np.float64).max()
        exponent = np.clip(np.floor(np.log2(largest)) - top if largest else -127, -127, 127)
        scale = np.array([2.0**exponent]).astype(ml_dtypes.float8_e8m0fnu)
        codes = cast(x.astype(np.float64) / 2.0**exponent, dtype)
        words(f"mx:{name}", 0, x, scale, codes, codes.astype(np.float64) * 2.0**exponent)

for t, sizes in {0: [2688, 1, 100, 0.04, 0.02, 0.004, 3e-3], -12: [0.5, 0.1, 1e-3, 1e-5], 100: [2.0**100, 2.0**111, 2.0**92], -126: [2.0**-120]}.items():
    for x in blocks(16, sizes):
        scale = np.array([np.abs(x).max() / np.float32(6) / np.float32(2.0**t)]).astype(ml_dtypes.float8_e4m3fn)
        total = np.float32(scale[0]) * np.float32(2.0**t)
        codes = cast(x / total if total else x * 0, ml_dtypes.float4_e2m1fn)
        words("nvfp4", t, x, scale, codes, codes.astype(np.float64) * np.float64(total))
