#!/bin/bash
# test_wheel.sh : installs the wheel of host/python into a fresh virtual environment, where its
# self-test and its casts of numpy arrays must work without MPI.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
tree=$(dirname "$here")
need_plain "$B/libnarrowcast.so"
"$tree/host/python/wheel.sh" "$B" >said 2>&1 || { rc=$?; [ $rc = 77 ] && echo "skip: $(tail -n 1 said)" && exit 77; cat said; fail "wheel.sh ends with $rc"; exit 1; }
wheel=$(tail -n 1 said)
[[ $wheel == */narrowcast-*-py3-none-manylinux_2_[0-9]*_x86_64.whl ]] || fail "the wheel is '$wheel'"
python3 -m venv venv >said 2>&1 || { cat said; fail 'no virtual environment'; exit 1; }
echo "$wheel --hash=sha256:$(sha256sum "$wheel" | cut -d ' ' -f 1)" >wanted.txt
env -i PATH=/usr/bin:/bin venv/bin/python -m pip install -q --disable-pip-version-check --no-index --require-hashes -r wanted.txt >said 2>&1 ||
    fail "pip install: $(tail -n 3 said)"

# runs a module; fails if the process has another library than the wheel's, or MPI
cat >without_mpi.py <<'END'
import runpy, sys
code = 0
try:
    runpy.run_module(sys.argv[1], run_name="__main__")
except SystemExit as e:
    code = e.code
maps = open("/proc/self/maps").read()
sys.exit(code or ("site-packages/narrowcast/libnarrowcast.so.0" not in maps and "not the wheel's library") or ("libmpi" in maps and "MPI is loaded"))
END
alone() { env -i PATH=/usr/bin:/bin "$@" >said 2>&1; }
alone venv/bin/python without_mpi.py narrowcast.selftest || fail "the self-test: $(tail -n 3 said)"
[ "$(grep -c '^ok ' said)" = 6 ] || fail "the self-test says $(cat said)"
cmp "$B/_card_layout.py" venv/lib/python3*/site-packages/narrowcast/_card_layout.py || fail 'the wheel has no layouts of cards'
alone NARROWCAST_LIBRARY=/no/such.so venv/bin/python -m narrowcast.selftest && fail 'the self-test passes without a library'
grep -q '^FAIL  library: narrowcast: cannot load libnarrowcast.so.0 (/no/such.so: ' said || fail "without a library: $(cat said)"

# a wrong code fails the self-test
site=$(echo venv/lib/python3*/site-packages/narrowcast)
sed -i '/cast\/e4m3\/nearest/s/"codes":"00 80/"codes":"00 81/' "$site/vectors/casts.jsonl"
alone venv/bin/python -m narrowcast.selftest && fail 'the self-test passes with a wrong vector'
grep -qx 'FAIL  casts: cast/e4m3/nearest: other codes' said || fail "with a wrong vector: $(cat said)"

cat >arrays.py <<'END'
import array, dataclasses, importlib, sys
import narrowcast.cast as nc
floats = array.array("f", [1.5])
read_only = memoryview(floats).toreadonly()
codes = nc.encode(floats)
of_bytes, of_list = (nc.Codes(kind(codes.data), (1,), 1.0) for kind in (bytes, list))
for words, call, x in (
        ("a list: need a numpy array", nc.encode, [1.5]), ("a float: ", nc.encode, 1.5),
        ("a NoneType: ", nc.encode, None), ("a list: ", nc.decode, of_list),
        ("a memoryview that is read-only: ", nc.encode, read_only),
        ("a memoryview that is read-only: ", nc.encode, read_only[:0]),
        ("a memoryview that is read-only: ", nc.encode, read_only.cast("B").cast("f", [])),
        ("a bytes that is read-only: ", nc.decode, of_bytes)):
    try:
        call(x)
    except TypeError as e:
        assert "narrowcast: cannot cast " + words in str(e) and "\n" not in str(e), e
    else:
        raise AssertionError(words)
for words, error, wrong in (
        ("a dict: need the Codes of encode()", TypeError, {}), ("scale '1'", TypeError, {"scale": "1"}), ("shape 1", TypeError, {"shape": 1}),
        ("options None", TypeError, {"options": None}), ("shape (1.0,)", ValueError, {"shape": (1.0,)}), ("shape (-1,)", ValueError, {"shape": (-1,)}),
        (f"decode {2 ** 64} codes", ValueError, {"shape": (2 ** 62, 4)})):
    try:
        nc.decode(dataclasses.replace(codes, **wrong) if wrong else wrong)
    except error as e:
        assert "narrowcast: cannot decode " in str(e) and words in str(e), e
    else:
        raise AssertionError(words)
for name in sys.argv[1:]:
    lib = importlib.import_module(name)
    x = lib.arange(24).reshape(2, 3, 4) / 8 - 1
    for kind in "float16", "float32", "float64":
        for format in "e4m3", "e2m1f", "fp32":
            codes = nc.encode(x.astype(kind) if name == "numpy" else x.to(getattr(lib, kind)), format=format)
            y = nc.decode(codes)
            assert y.shape == x.shape and str(y.dtype).endswith("float32") and str(codes.data.dtype).endswith("uint8"), (name, kind)
            assert codes.nbytes == {"e4m3": 24, "e2m1f": 12, "fp32": 96}[format], (name, kind, format)
            assert float(abs(y - x).max()) <= {"e4m3": 0.0625, "e2m1f": 0.25, "fp32": 0}[format], (name, kind, format)
    view = nc.encode(x.T if name == "numpy" else x.permute(2, 1, 0), format="fp32")  # with gaps
    assert view.shape == (4, 3, 2) and bool((nc.decode(view) == (x.T if name == "numpy" else x.permute(2, 1, 0))).all()), name
    assert nc.decode(nc.encode(x[:0])).shape == (0, 3, 4), name
    hidden = [(lib.ma.masked_less(x, 0), TypeError)] if name == "numpy" else []
    for wrong, error in ((x > 0, TypeError), (x / (x - x), ValueError), *hidden):
        try:
            nc.encode(wrong, format="e2m1f")
        except error as e:
            assert "narrowcast: cannot " in str(e) and "\n" not in str(e), e
        else:
            raise AssertionError((name, error))
    codes = nc.encode(x, format="e4m3")
    codes.data = lib.stack([codes.data, codes.data], 1)[:, 0]
    try:
        nc.decode(codes)
    except ValueError as e:
        assert "without gaps: use " in str(e), e
    else:
        raise AssertionError((name, "codes with gaps"))
END
export PYTHONPATH=$tree/host/python NARROWCAST_LIBRARY=$B/libnarrowcast.so.0 PYTHONDONTWRITEBYTECODE=1
for name in numpy torch; do
    python=$(for p in python3 /usr/bin/python3; do "$p" -c "import $name" 2>/dev/null && echo "$p" && break; done)
    [ "$python" ] || { echo "not run: casts of $name (not installed)" && continue; }
    "$python" -W ignore arrays.py $name >said 2>&1 || fail "$name: $(tail -n 3 said)"
done
exit $bad
