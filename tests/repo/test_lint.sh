#!/bin/bash
# test_lint.sh : `make lint` finds nothing. A tool that is not installed is a line.
set -u
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
exec make -s -C "$(dirname "$0")/../.." B="$(realpath "${B:-build}")" lint
