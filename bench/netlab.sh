#!/bin/bash
# netlab.sh : runs a command on a small Ethernet that exists only while it runs: a network namespace
# per node, one switch, and a speed limit on every port in both directions. See `netlab.sh --help`.
#
# Everything is in separate namespaces (network, mounts, processes, host name, and users unless
# root), so nothing remains, even after a kill.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: netlab.sh [-n NODES] [-s SLOTS] [-r RATE] [-b BURST] [-q QUEUE] [-m MTU] [--] COMMAND [ARGUMENT...]

  -n NODES   how many nodes, 1 to 200 [4]
  -s SLOTS   ranks that mpirun may place on a node [1]
  -r RATE    of every node's port, each way, as tc has it (100mbit, 1gbit, 2.5gbit), or none [1gbit]
  -b BURST   bytes that an idle port passes at any rate [128kb]
  -q QUEUE   bytes that a port holds before it drops packets [512kb]
  -m MTU     of all interfaces [1500]

COMMAND runs on the "head", which is attached to the same switch without a limit, like a card in the switch. Its
environment has

  $NETLAB_HOSTS     the nodes' addresses: 10.77.0.1 10.77.0.2 ...; the head has 10.77.0.254
  $NETLAB_MPI       options for mpirun: the nodes as hosts. Variables of Open MPI select TCP between them.
  netlab-exec ADDRESS COMMAND...     runs a command on a node (a shell reads its words)

  bench/netlab.sh -n 4 -r 1gbit -- bash -c 'mpirun $NETLAB_MPI -np 4 build/bench_allreduce --sizes 4M:64M'
  bench/netlab.sh -n 2 -r none -- netlab-exec 10.77.0.1 ip -s link

Exits as COMMAND does; 77, with a reason, where the system does not allow this.
TEXT
}
skip() {
    echo "skip  netlab.sh: $*" >&2
    exit 77
}

nodes=4 slots=1 rate=1gbit burst=128kb queue=512kb mtu=1500
case ${1-} in --help) usage && exit ;; esac
while getopts n:s:r:b:q:m:h option; do
    case $option in
    n) nodes=$OPTARG ;;
    s) slots=$OPTARG ;;
    r) rate=$OPTARG ;;
    b) burst=$OPTARG ;;
    q) queue=$OPTARG ;;
    m) mtu=$OPTARG ;;
    h) usage && exit ;;
    *) usage >&2 && exit 2 ;;
    esac
done
given=("$@")
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage >&2 && exit 2; }
# is WORD PATTERN WHAT: reject a WORD that seq or tc would reject or misread
is() {
    [[ $1 =~ ^($2)$ ]] || { echo "netlab.sh: '$1': must be $3" >&2 && exit 2; }
}
is "$nodes" '[1-9][0-9]?|1[0-9][0-9]|200' 'a number of nodes, 1 to 200, as -n 4'
is "$slots" '[1-9][0-9]{0,3}' 'a number of ranks on a node, from 1 on, as -s 2'
is "$rate" 'none|[0-9]{0,6}[1-9][0-9]{0,6}([.][0-9]+)?[kmg]?bit|0[.][0-9]*[1-9][0-9]*[kmg]bit' 'a rate, as -r 100mbit, or none'
is "$burst" '[1-9][0-9]{0,5}[km]?b' "bytes, as -b 16kb"
is "$queue" '[1-9][0-9]{0,5}[km]?b' "bytes, as -q 512kb"
is "$mtu" '[1-9][0-9]{2,3}|[1-5][0-9]{4}' 'bytes, from 100 to 59999, as -m 9000'

# --- outside: enter the namespaces and run this script again ---
if [ -z "${NETLAB_INSIDE-}" ]; then
    for tool in unshare ip tc sysctl; do
        [ -n "$(command -v $tool)" ] || skip "no '$tool' here (Debian: util-linux, iproute2, procps)"
    done
    enter=(unshare --net --mount --pid --fork --kill-child --mount-proc --uts)
    [ "$(id -u)" = 0 ] || enter+=(--user --map-root-user)
    refusal=$("${enter[@]}" sh -c 'ip link add br0 type bridge && ip link add a0 type veth peer name a1' 2>&1) ||
        skip "namespaces are not allowed here: ${refusal##*$'\n'}"
    NETLAB_INSIDE=1 exec "${enter[@]}" bash "$(readlink -f "$0")" "${given[@]}"
fi

# --- inside: the switch and the nodes ---
mount -t tmpfs netlab /run
mount -t tmpfs netlab /dev/shm # Open MPI names its segments by host and process id, which repeat in every netlab
dir=/run/netlab
mkdir -p $dir /run/netns
hostname head 2>/dev/null || sysctl -qw kernel.hostname=head || skip "this user may not set host names, by which MPI distinguishes nodes"
ip link set lo up
# The same congestion control on all nodes.
tcp=net.ipv4.tcp_congestion_control=cubic
sysctl -qw $tcp 2>/dev/null || tcp=net.ipv4.tcp_congestion_control=reno
sysctl -qw $tcp
# A fixed address: the bridge's own would change with its ports.
ip link add br0 address 02:00:0a:4d:00:fe type bridge
ip addr add 10.77.0.254/24 dev br0
ip link set br0 up

limit() {  # limit NODE|"" INTERFACE: what it sends
    [ "$rate" = none ] || tc ${1:+-n "$1"} qdisc add dev "$2" root tbf rate "$rate" burst "$burst" limit "$queue"
}
hosts=
for i in $(seq 1 "$nodes"); do
    ip netns add "n$i"
    ip link add "p$i" mtu "$mtu" type veth peer name eth0 mtu "$mtu" netns "n$i"
    ip link set "p$i" master br0 up
    ip netns exec "n$i" sysctl -qw $tcp
    ip -n "n$i" link set lo up
    ip -n "n$i" addr add "10.77.0.$i/24" dev eth0
    ip -n "n$i" link set eth0 up
    limit "n$i" eth0
    limit "" "p$i"
    hosts+="10.77.0.$i "
    echo "10.77.0.$i slots=$slots" >>$dir/hosts
done

# Stand-in for ssh: each node has its own network and host name.
cat >$dir/netlab-exec <<'AGENT'
#!/bin/bash
node=n${1##*.}
shift
exec ip netns exec "$node" unshare --uts sh -c 'hostname "$0" 2>/dev/null || sysctl -qw kernel.hostname="$0"; eval "$@"' "$node" "$*"
AGENT
chmod +x $dir/netlab-exec

. "$(dirname "$0")/../host/ranks.sh"
# Open MPI 4; Open MPI 5; both
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$dir/netlab-exec OMPI_MCA_plm_rsh_no_tree_spawn=1
export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24
export PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent=$dir/netlab-exec PRTE_MCA_plm_ssh_no_tree_spawn=1
export PRTE_MCA_prte_if_include=10.77.0.0/24
export OMPI_MCA_btl=tcp,vader,self OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
export NETLAB_MPI="--hostfile $dir/hosts --map-by node" NETLAB_HOSTS=${hosts% } PATH=$PATH:$dir
# mpirun's files have such names, too.
export OMPI_MCA_orte_tmpdir_base=$dir PRTE_MCA_prte_tmpdir_base=$dir
unset NETLAB_INSIDE
"$@"
