#!/bin/sh
# wheel.sh : makes the wheel of host/python with BUILD/libnarrowcast.so.0 inside, in BUILD/python. Its
# tools (wheel_tools.txt) are in a virtual environment there. Prints one line on failure, and exits
# with 77 if the tools cannot be had.
# usage: wheel.sh BUILD
set -eu
[ $# = 1 ] || { echo "usage: wheel.sh BUILD" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
folder=$build/python venv=$build/python/venv
mkdir -p "$folder"
no() {
    echo "no wheel: $2" >&2
    exit "$1"
}
if ! cmp -s "$here/wheel_tools.txt" "$venv/done"; then
    rm -rf "$venv"
    python3 -m venv "$venv" >"$folder/log" 2>&1 || no 77 "python3 -m venv fails (Debian: python3-venv), see $folder/log"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 20 \
        --require-hashes --only-binary :all: --no-deps -r "$here/wheel_tools.txt" >"$folder/log" 2>&1 ||
        no 77 "pip cannot load its tools, see $folder/log"
    cp "$here/wheel_tools.txt" "$venv/done"
fi
rm -rf "$folder/src" "$folder/linux" "$folder"/*.whl
mkdir "$folder/src"
cp -R "$here/narrowcast" "$here/pyproject.toml" "$here/setup.py" "$here/README.md" "$here/../../LICENSE" "$folder/src"
export PATH="$venv/bin:$PATH" NARROWCAST_TREE="$here/../.." NARROWCAST_LIBRARY="$build/libnarrowcast.so.0"
python -m build --wheel --no-isolation -o "$folder/linux" "$folder/src" >"$folder/log" 2>&1 || no 1 "build fails, see $folder/log"
auditwheel repair -w "$folder" "$folder"/linux/*.whl >>"$folder/log" 2>&1 || no 1 "auditwheel refuses it, see $folder/log"
ls "$folder"/*.whl
