# shellcheck shell=bash
# ranks_in.sh : a TMPDIR for scripts that start jobs beside each other. Open MPI 4 removes its folder there with the last job in it, which may
# be while another one makes its own in it, and that one fails ("ORTE_ERROR_LOG: Error in file session_dir.c"): so something always stays.

# ranks_in DIR
ranks_in() {
    export TMPDIR="$1"
    (umask 077 && mkdir -p "$1/ompi.$(uname -n).$(id -u)/kept")
}
