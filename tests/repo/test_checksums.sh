#!/bin/bash
# test_checksums.sh : checks the final weights of trainings of every kind against checksums.tsv.
exec "$(dirname "$0")/../checksums.sh" "$(dirname "$0")/../checksums.tsv"
