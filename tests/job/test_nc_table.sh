#!/bin/bash
# test_nc_table.sh : the table of host/job/README.md is the one that the library answers.
set -u
# shellcheck source=tests/lib/in_folder.sh
. "$(dirname "$0")/../lib/in_folder.sh"
mpirun -np 4 "$B/tests/test_nc_table_mpi" >out 2>err || fail "exit $?: $(cat err)"
sed -n '/test_nc_table_mpi$/,/```/p' "$here/../host/job/README.md" | sed '1d;$d' >table
diff out table || fail "host/job/README.md has another table"
exit $bad
