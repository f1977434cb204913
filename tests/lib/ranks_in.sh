# shellcheck shell=bash
# ranks_in.sh : makes a TMPDIR for scripts that run several MPI jobs at a time. Open MPI 4 removes
# its folder there when the last job ends; a job that starts then fails ("ORTE_ERROR_LOG: Error in
# file session_dir.c"). A file in the folder prevents that.

ranks_in() {
    export TMPDIR="$1"
    (umask 077 && mkdir -p "$1/ompi.$(uname -n).$(id -u)/kept")
}
