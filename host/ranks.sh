#!/bin/sh
# ranks.sh : starts any number of ranks on this machine, also as root, with Open MPI 4.1 or 5.
# usage: ranks.sh N COMMAND [ARG...]    or, in scripts that call mpirun themselves:  . host/ranks.sh
# NARROWCAST_RESTARTS=N starts the ranks again, up to N times, after one was killed or did not answer;
# `train` then goes on from its checkpoint (--save, --save-every). With Open MPI 5 and `train
# --elastic` the other ranks go on at once instead.
# NARROWCAST_MPS=1 lets ranks work on one GPU at the same time, by NVIDIA's Multi-Process Service.
# On a cluster use its own launcher (mpirun -H, srun) instead. Ranks may outnumber cores: they yield
# while they wait, are not pinned, and have one BLAS thread each. They communicate by shared memory,
# or by TCP on the loopback device if /dev/shm is too small. PMIx keeps its data in memory: with
# less than 8 MiB in TMPDIR its files make mpirun 4 hang.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1                                          # a container's root
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none                        # Open MPI 4
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none    # Open MPI 5
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=vader,tcp,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1 PMIX_MCA_gds=hash
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}" OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
# Only a failing rank reports its failure: not mpirun (Open MPI 4), nor libevent about the pipes of
# a dead rank. hwloc does not complain about a container's /sys, and mpirun does not read the PCI
# devices, which takes it a third of its time in a virtual machine, nor load hwloc's plugins, of
# which one loads X11: a fifth of the rest.
export OMPI_MCA_orte_execute_quiet=1 EVENT_NOEPOLL=1 OMPI_MCA_opal_event_include=poll HWLOC_HIDE_ERRORS=2
export HWLOC_COMPONENTS="${HWLOC_COMPONENTS:--linuxpci,-pci}" HWLOC_PLUGINS_PATH="${HWLOC_PLUGINS_PATH:-/nonexistent}"
export RES_OPTIONS="${RES_OPTIONS:-timeout:1 attempts:1}" # mpirun resolves this host: limits a silent name server to 1 s
case ${0##*/} in
ranks.sh)
    case ${1-} in -h | --help) exec sed -n '2,/^export/{/^export/d;s/^# \{0,1\}//p;}' "$0" ;; esac
    [ $# -ge 2 ] || { echo "usage: ranks.sh N COMMAND [ARG...]" >&2; exit 2; }
    case $1 in *[!0-9]* | 0* | '') echo "ranks.sh: '$1': must be a number of ranks, from 1 on" >&2; exit 2 ;; esac
    for what in "$2" mpirun; do
        file=$(command -v -- "$what")
        case $file in */*) [ -f "$file" ] && [ -x "$file" ] ;; *) [ -n "$file" ] ;; esac ||
            { echo "ranks.sh: there is no command '$what'" >&2; exit 127; }
    done
    case ${NARROWCAST_MPS-} in
    '' | 0) ;;
    1)
        if [ ! -e "${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps}/control" ]; then # else it is running
            command -v nvidia-cuda-mps-control >/dev/null ||
                { echo "ranks.sh: NARROWCAST_MPS=1 needs nvidia-cuda-mps-control, which comes with NVIDIA's driver" >&2; exit 127; }
            mps=$(mktemp -d) || exit 1
            trap 'echo quit | nvidia-cuda-mps-control >/dev/null 2>&1; rm -rf "$mps"' EXIT
            export CUDA_MPS_PIPE_DIRECTORY="$mps" CUDA_MPS_LOG_DIRECTORY="$mps"
            nvidia-cuda-mps-control -d || { echo 'ranks.sh: nvidia-cuda-mps-control does not start' >&2; exit 1; }
        fi
        ;;
    *) echo "ranks.sh: NARROWCAST_MPS '$NARROWCAST_MPS': must be 0 or 1" >&2; exit 2 ;;
    esac
    restarts=${NARROWCAST_RESTARTS:-0} ft='' done=''
    case $restarts in *[!0-9]* | ????*) echo "ranks.sh: NARROWCAST_RESTARTS '$restarts': must be 0 to 999" >&2; exit 2 ;; esac
    if [ "$restarts" -gt 0 ]; then
        NARROWCAST_RUN=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ') # the checkpoints of this job
        done=$(mktemp -u) # made by `train` when it has ended well: mpirun's status may be that of a dead rank
        export NARROWCAST_RUN NARROWCAST_DONE="$done"
        case " $* " in *' --elastic '*) ! mpirun --with-ft ulfm -np 1 true >/dev/null 2>&1 || ft='--with-ft ulfm' ;; esac
    fi
    # On SIGINT and SIGTERM mpirun kills ranks (Open MPI 4: after a second, 5: at once), but it
    # forwards SIGUSR1: ranks finish their step at the first and end at the second. mpirun runs in
    # its own session, so that ^C reaches only this script, and ends with it. Before mpirun has
    # ranks a signal would reach none of them, so it ends mpirun.
    asked='' early=''
    # shellcheck disable=SC2317 # called by traps
    ask() {
        asked=$1 to=USR1 rank=''
        if [ -r "/proc/$!/task/$!/children" ]; then
            read -r rank _ <"/proc/$!/task/$!/children"
            [ -n "$rank" ] || early=1 to=TERM
        fi
        kill "-$to" "$!" 2>/dev/null
    }
    trap '[ -n "$!" ] || exit 129; ask 129' HUP
    trap '[ -n "$!" ] || exit 130; ask 130' INT
    trap '[ -n "$!" ] || exit 143; ask 143' TERM
    # Only mpirun is quiet: in a rank this setting would hide why MPI cannot start.
    n=$1
    shift
    while :; do
        # shellcheck disable=SC2016,SC2086 # the inner shell's words; words
        setsid setpriv --pdeathsig TERM mpirun $ft -np "$n" sh -c 'unset OMPI_MCA_orte_execute_quiet && exec "$@"' sh "$@" &
        while :; do
            rc=0
            wait $! || rc=$?
            kill -0 $! 2>/dev/null || break # otherwise a signal ended the wait
        done
        if [ -n "$done" ] && [ -e "$done" ]; then
            rm -f "$done"
            rc=0
        elif [ -n "$ft" ]; then
            case $rc in 0 | 1 | 7 | 14) rc=104 ;; esac # a rank died in MPI_Init or in a call of Open MPI, or mpirun's status is not the run's
        fi
        case $rc in
        5 | 9 | 104 | 110 | 13[4-79]) ;; # lost another rank, did not answer, was killed (9: MPICH)
        *) break ;;
        esac
        { [ "$restarts" -gt 0 ] && [ -z "$asked" ]; } || break
        restarts=$((restarts - 1))
        echo "ranks.sh: a rank was lost (status $rc): all start again, $restarts restarts are left" >&2
    done
    if [ -n "$early" ] || { [ -n "$asked" ] && [ "$rc" = 138 ]; }; then
        rc=$asked
    elif [ -z "$asked" ] && [ "$rc" -gt 128 ] && [ "$rc" != 141 ] && name=$(kill -l "$rc" 2>/dev/null); then
        echo "ranks.sh: a rank was ended by SIG$name" >&2 # not SIGPIPE: of a closed reader
    fi
    exit "$rc"
    ;;
esac
