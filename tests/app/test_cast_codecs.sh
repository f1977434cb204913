#!/bin/bash
# test_cast_codecs.sh : casts files with every codec and back. Python reads them as the README
# describes.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
command -v python3 >/dev/null || { echo 'skip: no python3'; exit 77; }
python3 - <<'END'
import random, struct
random.seed(5)
x = [random.gauss(0, 1) * 10 ** random.uniform(-3, 0) for _ in range(1001)]
open("x.f32", "wb").write(struct.pack("<1001f", *x))
w = [random.gauss(0, 1) * 10 ** random.uniform(-3, 0) for _ in range(1001)]
w[3] = 0
open("w.f32", "wb").write(struct.pack("<1001f", *w))
open("nan.f32", "wb").write(struct.pack("<2f", 1, float("nan")))
END

for codec in qsgd:1 qsgd:2,norm=2 qsgd:4 qsgd:4,levels=even,bucket=64 qsgd:8 qsgd:16 onebit onebit:512,residual=none onebit:column ternary "relgrad --weights w.f32" "relgrad:eps=1e-2 --weights w.f32" relgrad:of=gradient mx:e4m3 mx:e5m2 mx:e2m3 mx:e3m2 mx:e2m1 nvfp4; do
    # shellcheck disable=SC2086
    "$n" cast --codec $codec --seed 3 x.f32 codes >said || fail "$codec: cast"
    max=$(sed -n 's/^max /--max /p' said)
    # shellcheck disable=SC2086
    "$n" uncast --codec $codec --count 1001 $max codes back.f32 || fail "$codec: uncast"
    python3 - "${codec% --*}" "${max#--max }" <<'END' || fail "$codec: not what the README says"
import math, struct, sys
def floats(path):
    data = open(path, "rb").read()
    return struct.unpack("<%df" % (len(data) // 4), data)
x, got, codes = floats("x.f32"), floats("back.f32"), open("codes", "rb").read()
kind, rest = sys.argv[1].split(",")[0].partition(":")[::2]
words = dict(w.split("=") for w in sys.argv[1].partition(":")[2].split(",") if "=" in w)
def code(data, i, bits):
    return int.from_bytes(data, "little") >> (i * bits) & ((1 << bits) - 1)
def qsgd(i):
    bits = int(rest)
    bucket = int(words.get("bucket", {1: 128, 2: 128, 4: 512, 8: 512, 16: 8192}[bits]))
    size = 4 + bucket * bits // 8
    own = codes[i // bucket * size:][:size]
    scale, c = struct.unpack("<f", own[:4])[0], code(own[4:], i % bucket, bits)
    if words.get("levels", "sign") == "even" or bits == 1:
        steps = 2 ** bits - 1
        return (2 * c / steps - 1) * scale, 2 * scale / steps
    s = 2 ** (bits - 1) - 1
    return (-1 if c > s else 1) * (c & s) * scale / s, scale / s
def onebit(i):
    bucket = 1001 if rest == "column" else int(rest or 64)
    size = 8 + 4 * ((bucket + 31) // 32)
    own = codes[i // bucket * size:][:size]
    return struct.unpack("<2f", own[:8])[code(own[8:], i % bucket, 1)], None
def ternary(i):
    c = code(codes[i // 4:i // 4 + 1], i % 4, 2)
    return (0, 1, 0, -1)[c] * float(sys.argv[2]), float(sys.argv[2])
def relgrad(i):
    q, eps = float(sys.argv[2]), float(words.get("eps", 1e-5))
    to = 1 if words.get("of") == "gradient" else abs(floats("w.f32")[i]) + eps
    value = struct.unpack("<e", bytes([0, codes[i]]))[0]
    return value * q / 57344 * to, max(abs(x[i]) / 4, q / 57344 * 2 ** -16 * to) if abs(x[i]) / to <= q else None
def element(c, e, m):
    field, frac, bias = c >> m & 2 ** e - 1, c & 2 ** m - 1, 2 ** (e - 1) - 1
    size = (frac + (2 ** m if field else 0)) * 2.0 ** (max(field, 1) - bias - m)
    return -size if c >> e + m else size
def block(i, n, e, m, scale_of):
    size = 1 + n * (1 + e + m) // 8
    own = codes[i // n * size:][:size]
    scale = scale_of(own[0])
    return element(code(own[1:], i % n, 1 + e + m), e, m) * scale, max(abs(x[i]) / 2 ** m, element(1, e, m) * scale)
def mx(i):
    return block(i, 32, int(rest[1]), int(rest[3]), lambda c: 2.0 ** (c - 127))
def nvfp4(i):
    t = math.ceil(math.log2(float(sys.argv[2]) / 2688))
    return block(i, 16, 2, 1, lambda c: element(c, 4, 3) * 2.0 ** t)
bad = 0
for i in range(1001):
    want, step = {"qsgd": qsgd, "onebit": onebit, "ternary": ternary, "relgrad": relgrad, "mx": mx, "nvfp4": nvfp4}[kind](i)
    off = abs(got[i] - want) > 1e-6 * abs(want) + 1e-12
    clipped = kind == "ternary" and abs(x[i]) > step
    far = step is not None and not clipped and abs(want - x[i]) > 1.00001 * step
    sign = kind == "onebit" and want * x[i] < 0
    bad += off or far or sign
sys.exit(bad != 0 or len(got) != 1001)
END
done

for want in mx:e4m3:1056 mx:e3m2:800 mx:e2m1:544 nvfp4:567 qsgd:4:520 qsgd:1:160 qsgd:16:2052 qsgd:8,bucket=1024:1028; do
    "$n" cast --codec "${want%:*}" x.f32 codes
    [ "$(wc -c <codes)" -eq "${want##*:}" ] || fail "$want: $(wc -c <codes) bytes"
done
head -c 1320 x.f32 >330.f32
"$n" cast --codec qsgd:4 330.f32 codes.330
[ "$(wc -c <codes.330)" -eq 180 ] || fail "qsgd:4 of 330: $(wc -c <codes.330) bytes"
"$n" cast --codec qsgd:4 x.f32 codes
head -c 260 codes >512.codes && "$n" uncast --codec qsgd:4 --count 512 512.codes 512.f32 && "$n" uncast --codec qsgd:4 --count 1001 codes back.f32
head -c 2048 back.f32 | cmp - 512.f32 || fail "a bucket by itself"

"$n" cast --codec qsgd:4 --seed 3 x.f32 codes && "$n" cast --codec qsgd:4 --seed 3 x.f32 again && "$n" cast --codec qsgd:4 --seed 4 x.f32 other
cmp -s codes again || fail "the same seed gives other codes"
cmp -s codes other && fail "another seed gives the same codes"
"$n" cast --codec onebit --state left x.f32 first || fail "--state"
cp left left.1
"$n" cast --codec onebit --state left x.f32 second || fail "--state"
"$n" uncast --codec onebit --count 1001 first first.f32 && "$n" uncast --codec onebit --count 1001 second second.f32
python3 - <<'END' || fail "what is left is not what encoding left"
import struct, sys
def floats(path, n):
    return struct.unpack("<%df" % n, open(path, "rb").read())
x, a, b = floats("x.f32", 1001), floats("first.f32", 1001), floats("second.f32", 1001)
one, two = floats("left.1", 2002), floats("left", 2002)
near = lambda p, q: abs(p - q) <= 1e-6
sys.exit(not all(near(one[i], x[i] - a[i]) and near(two[i], x[i] + one[i] - b[i]) for i in range(1001)) or any(one[1001:] + two[1001:]))
END

head -c 10 x.f32 >cut.f32
head -c 100 codes >short
refused "cannot encode 'nan.f32': it holds inf or nan" "$n" cast --codec qsgd:4 nan.f32 no
refused "cannot encode 'cut.f32': 10 bytes are not a whole number of fp32 values" "$n" cast --codec onebit cut.f32 no
refused "--state 's' has no effect" "$n" cast --codec qsgd:4 --state s x.f32 no
refused "--state 's' has no effect" "$n" cast --state s x.f32 no
refused "cannot use --state 'short': it has fewer bytes than the 8008 of this codec's state" "$n" cast --codec onebit --state short x.f32 no
refused "--format e5m2 has no effect with --codec qsgd" "$n" cast --codec qsgd:4 --format e5m2 x.f32 no
refused "no codec \"qsdg\"" "$n" cast --codec qsdg x.f32 no
refused "cannot decode 'short': 100 bytes are not a multiple of 260, need --count" "$n" uncast --codec qsgd:4 short no
refused "cannot decode 'codes.330': 300 values take 164 bytes, and it has 180" "$n" uncast --codec qsgd:4 --count 300 codes.330 no
refused "cannot decode 'codes': it holds 513 to 1024 values, not 512" "$n" uncast --codec qsgd:4 --count 512 codes no
refused "so it needs --count" "$n" uncast --codec onebit:column codes no
refused "cannot decode 'codes': 1 values take 12 bytes, and it has " "$n" uncast --codec onebit:column --count 1 codes no
refused "--codec relgrad needs --weights FILE" "$n" cast --codec relgrad x.f32 no
refused "--weights 'w.f32' has no effect" "$n" cast --codec relgrad:of=gradient --weights w.f32 x.f32 no
refused "--weights 'w.f32' has no effect" "$n" uncast --weights w.f32 x.f32 no
refused "cannot use --weights 'cut.f32': it has fewer bytes than the 4004 of 1001 values" "$n" cast --codec relgrad --weights cut.f32 x.f32 no
refused "cannot use --weights '/dev/zero': it has more bytes than the 4004 of 1001 values" "$n" cast --codec relgrad --weights /dev/zero x.f32 no
{ printf '\0\0\300\177' && tail -c +5 w.f32; } >nan_w.f32
refused "cannot use --weights 'nan_w.f32': it holds inf or nan" "$n" cast --codec relgrad --weights nan_w.f32 x.f32 no
cat left left >long
refused "cannot use --state 'long': it has more bytes than the 8008" "$n" cast --codec onebit --state long x.f32 no
{ printf '\0\0\300\177' && tail -c +5 left; } >nan_left
refused "cannot use --state 'nan_left': it holds inf or nan" "$n" cast --codec onebit --state nan_left x.f32 no
refused "cannot use --state '/dev/zero': need a file" "$n" cast --codec onebit --state /dev/zero x.f32 no
refused "--state 'no' names the same file as 'no'" "$n" cast --codec onebit --state no x.f32 no
refused "--state './no' names the same file as 'no'" "$n" cast --codec onebit --state ./no x.f32 no
: >empty
refused "cannot encode 'empty': it is empty" "$n" cast --codec onebit --state new empty no
ln left same
refused "--state 'left' names the same file as 'same'" "$n" cast --codec onebit --state left same no
refused "cannot write 'none/left'" "$n" cast --codec onebit --state none/left x.f32 no
refused "--max '3.45e38': must be at most 3.40282347e+38" "$n" uncast --codec ternary --max 3.45e38 codes no
refused "cast has no --scale quantile" "$n" cast --scale quantile x.f32 no
refused "--codec relgrad needs --max X" "$n" uncast --codec relgrad --weights w.f32 x.f32 no
refused "--max has no effect with --codec qsgd:4" "$n" uncast --codec qsgd:4 --max 7 codes no
refused "--max has no effect with --codec minifloat" "$n" uncast --max 7 codes no
refused "--codec nvfp4 needs --max X" "$n" uncast --codec nvfp4 codes no
refused "bad --codec \"mx:e4\": need mx:e4m3" "$n" cast --codec mx:e4 x.f32 no
refused "--codec ternary needs --max X" "$n" uncast --codec ternary codes no
exit $bad
