#!/bin/sh
# venv.sh : installs LiteEth (requirements.txt) in the virtual environment FOLDER/venv;
# FOLDER/venv/done marks it complete. On failure, prints the reason in one line and exits with 1.
# usage: venv.sh FOLDER
set -eu
here=$(dirname "$0")
if cmp -s "$here/requirements.txt" "$1/venv/done"; then
    touch "$1/venv/done"
    exit 0
fi
mkdir -p "$1"
no() {
    echo "no LiteEth: $*; the card's shell is left out (make shell tries again)" >&2
    exit 1
}
command -v python3 >/dev/null || no 'python3 is missing'
rm -rf "$1/venv"
python3 -m venv "$1/venv" >"$1/log" 2>&1 || no "python3 -m venv fails (Debian: python3-venv), see $1/log"
echo "installing LiteEth into $1/venv: 41 MB on disk"
"$1/venv/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 20 \
    --require-hashes --only-binary :all: --no-deps -r "$here/requirements.txt" >"$1/log" 2>&1 ||
    no "pip cannot load it, see $1/log"
cp "$here/requirements.txt" "$1/venv/done"
