"""stored_casts.py : prints the values and casts of ml_dtypes' formats, for test_stored_casts.c.

    python3 tests/hls/stored_casts.py >tests/hls/stored_casts.txt      # stored with ml_dtypes 0.6.0

A line per format: its name here, then the fp32 bits of each code's value. A second line: the codes of floats at, next to and midway
between these values, from 0 up. nan is written as nan, because its payload differs."""
import ml_dtypes
import numpy as np

OURS = {"float8_e5m2": "e5m2", "float8_e4m3": "e4m3", "float8_e3m4": "e3m4", "float8_e4m3fn": "e4m3fn", "float6_e2m3fn": "e2m3f",
        "float6_e3m2fn": "e3m2f", "float4_e2m1fn": "e2m1f"}


def bits(x):
    return " ".join("nan" if np.isnan(v) else f"{v.view(np.uint32):x}" for v in x.astype(np.float32))


for theirs, ours in OURS.items():
    dtype = getattr(ml_dtypes, theirs)
    codes = np.arange(1 << (4 if "4_" in theirs else 6 if "6_" in theirs else 8), dtype=np.uint8).view(dtype)
    values = codes.astype(np.float32)
    print(ours, bits(values))
    numbers = np.unique(values[np.isfinite(values) & (values >= 0)])
    at = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, numbers[-1:] * [1.01, 1.05, 1.1, 1.5, 3]]).astype(np.float32)
    near = np.concatenate([at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))])
    casts = near.astype(dtype)
    print(ours, " ".join(f"{x.view(np.uint32):x}:" + ("nan" if np.isnan(c.astype(np.float32)) else f"{c.view(np.uint8):x}")
                         for x, c in zip(near, casts)))
