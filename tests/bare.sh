#!/bin/bash
# bare.sh : runs a newcomer's commands on bare systems made by debootstrap. Not part of `make test`:
# run it before a release. `bare.sh --help` lists its needs.
set -euo pipefail
# shellcheck disable=SC2016 # a command in backquotes
usage='usage: tests/bare.sh [--keep FOLDER] [SUITE...] [-- COMMAND]

Makes a bare system of each SUITE in a folder, unpacks the last commit into it and runs COMMAND there as
root. Only `make` is installed before that. Prints a line per suite and exits with 1 if one has failed.

  SUITE           bookworm (Debian 12), trixie (Debian 13), noble (Ubuntu 24.04); all three if none is given
  COMMAND         for sh; make run && make test
  --keep FOLDER   keep the systems in FOLDER/SUITE and use them again; else they are removed at the end

Needs root, debootstrap, git, wget, unshare, setpriv, 6 GB of disk in /var/tmp (or FOLDER) for each suite, and the archives
http://deb.debian.org and http://archive.ubuntu.com (DEBIAN_MIRROR, UBUNTU_MIRROR). noble needs Ubuntu'\''s
keyring as well, /usr/share/keyrings/ubuntu-archive-keyring.gpg. For a suite without keyring or archive it prints one line.

  sudo tests/bare.sh trixie -- "make build/tests/test_job_mpi && tests/run.sh build/tests/test_job_mpi"'
die() { echo "bare.sh: $*" >&2 && exit 2; }
folder='' suites=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
    --help) echo "$usage" && exit ;;
    --keep) folder=$(realpath -m -- "${2:?--keep needs a folder}") && shift ;;
    bookworm | trixie | noble) suites+=("$1") ;;
    *) die "unknown suite '$1': must be bookworm, trixie or noble" ;;
    esac
    shift
done
[ $# -le 2 ] || die "expected one COMMAND after --, got $(($# - 1)): put it in quotes"
command=${2-make run && make test}
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie noble)
[ "$(id -u)" = 0 ] || die 'needs root, for debootstrap and chroot'
for tool in debootstrap git unshare wget; do
    command -v $tool >/dev/null || die "no $tool: apt-get install debootstrap git util-linux wget"
done
tree=$(realpath "$(dirname "$0")/..")
if [ -z "$folder" ]; then
    folder=$(mktemp -d /var/tmp/bare.XXXXXX)
    trap 'rm -rf --one-file-system "$folder"' EXIT
fi

make_root() {
    local mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian} keys=/usr/share/keyrings/debian-archive-keyring.gpg components=main like=sid
    if [ "$1" = noble ]; then
        mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu} keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg components=main,universe like=gutsy
    fi
    [ -f "$keys" ] || { echo "skip  $1: no $keys" && return 77; }
    wget -q --spider --timeout=20 --tries=2 "$mirror/dists/$1/Release" || { echo "skip  $1: cannot reach $mirror/dists/$1" && return 77; }
    rm -rf --one-file-system "$root"
    debootstrap --variant=minbase --components="$components" --keyring="$keys" "$1" "$root" "$mirror" \
        "/usr/share/debootstrap/scripts/$like" >"$root.log" 2>&1 || { tail -n 5 "$root.log" && return 1; }
    touch "$root/made"
}

# run_in: runs $command in $root; its processes and mounts end with it
run_in() {
    rm -rf --one-file-system "$root/root/narrowcast"
    mkdir -p "$root/root/narrowcast" "$root/etc/ssl/certs"
    git -c safe.directory="$tree" -C "$tree" archive HEAD | tar -x -C "$root/root/narrowcast"
    cp /etc/resolv.conf "$root/etc/"
    # like Debian's installer; else mpirun asks the name server for its own host
    printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" >"$root/etc/hosts"
    # pip may need a proxy's certificates, before and after ca-certificates is installed
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
    mapfile -t kept < <(env | grep -iE '^((https?|no)_proxy|PIP_CERT|PIP_INDEX_URL)=')
    # shellcheck disable=SC2016 # for the other shell
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child sh -ec 'root=$1 && shift
        mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm"
        exec chroot "$root" "$@"' sh "$root" /usr/bin/env -i "${kept[@]}" HOME=/root USER=root LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        sh -ec 'apt-get update -qq && apt-get install -y -qq --no-install-recommends make >/dev/null
        cd /root/narrowcast && exec sh -c "$1"' sh "$command" </dev/null
}

mkdir -p "$folder"
failed=0 lines=()
for suite in "${suites[@]}"; do
    root=$folder/$suite since=$SECONDS rc=0
    [ -f "$root/made" ] || make_root "$suite" || rc=$?
    if [ $rc = 0 ]; then
        echo "== $suite: $command"
        run_in || rc=$?
    fi
    case $rc in
    0) lines+=("ok    $suite, $((SECONDS - since)) s") ;;
    77) ;;
    *) lines+=("FAIL  $suite, exit $rc, $((SECONDS - since)) s") && failed=1 ;;
    esac
done
printf '%s\n' "${lines[@]-no suite was run}"
[ ${#lines[@]} -gt 0 ] && exit $failed
