# shellcheck shell=bash disable=SC2034 # names for those who source this
# in_folder.sh : moves a script into a temporary folder until it ends. Provides mpirun's settings and
# the names of script.sh, same_state.sh and refused.sh.
. "$(dirname "${BASH_SOURCE[0]}")/script.sh"
. "$here/../host/ranks.sh"
. "$here/lib/same_state.sh"
cd "$dir" || exit 1
. "$here/lib/refused.sh"
