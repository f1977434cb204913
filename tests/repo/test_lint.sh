#!/bin/bash
# test_lint.sh : `make lint` must find nothing.
set -u
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
exec make -s -C "$(dirname "$0")/../.." B="$(realpath "${B:-build}")" lint
