#!/bin/bash
# test_lint.sh : runs `make lint`, which must find nothing.
# A missing tool prints one line.
set -u
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
exec make -s -C "$(dirname "$0")/../.." B="$(realpath "${B:-build}")" lint
