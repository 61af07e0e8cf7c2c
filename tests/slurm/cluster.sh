# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# cluster.sh: a Slurm cluster of four nodes, n1 to n4. Sourced inside network, mount, process, UTS and IPC namespaces, which take
# all of it down when their first process ends; after kit/namespaces.sh and kit/lib.sh.
#
# A node has a host name, an address (10.78.0.1 to .4, a veth pair to a bridge) and a /dev/shm of its own. Processes
# and files are those of all nodes. We are on the head, which has the controller and no node.
nodes='1 2 3 4'
slurm=/run/slurm

write_settings() {
    export SLURM_CONF=$slurm/slurm.conf
    cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=head
SlurmUser=root
AuthInfo=socket=$slurm/munge/socket
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool/%n
TmpFS=$slurm/tmp/%n
SlurmctldPidFile=$slurm/controller.pid
SlurmdPidFile=$slurm/%n.pid
SlurmctldLogFile=$slurm/log/controller
SlurmdLogFile=$slurm/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
NodeName=n[1-4] NodeAddr=10.78.0.[1-4] CPUs=8 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES State=UP
END
    { printf '%s\n' '127.0.0.1 localhost' '10.78.0.254 head' && printf '10.78.0.%s n%s\n' 1 1 2 2 3 3 4 4; } >$slurm/hosts
    mount --bind $slurm/hosts /etc/hosts || cannot "cannot mount a file over /etc/hosts"
}

start_controller() {
    (umask 077 && head -c 1024 /dev/urandom >$slurm/munge/key)
    try "munge" munged --key-file=$slurm/munge/key --socket=$slurm/munge/socket --pid-file=$slurm/munge/pid \
        --log-file=$slurm/munge/log --seed-file=$slurm/munge/seed --num-threads=2
    try "Slurm controller" slurmctld
    controller_since=$SECONDS
}

start_node() { # start_node NUMBER
    local ip="ip -n n$1"
    try "network namespace" ip netns add "n$1"
    try "veth" ip link add "port$1" type veth peer name eth0 netns "n$1"
    try "bridge" ip link set "port$1" master switch up
    $ip link set lo up
    $ip link set eth0 up
    try "IPv4" $ip addr add "10.78.0.$1/24" dev eth0
    mkdir -p "$slurm/spool/n$1" "$slurm/tmp/n$1"
    try "Slurm node" nsenter --net="/run/netns/n$1" unshare --uts --mount sh -c \
        "hostname n$1 && mount -t tmpfs tmpfs /dev/shm && exec slurmd"
}

all_idle() { [ "$(sinfo -h -t idle -o %D)" = 4 ]; }

start_cluster() {
    hostname head
    mkdir -p /run/netns $slurm/munge $slurm/state $slurm/log
    ip link set lo up
    try "bridge" ip link add switch type bridge mcast_snooping 0
    ip link set switch up
    ip addr add 10.78.0.254/24 dev switch
    write_settings
    start_controller
    for node in $nodes; do
        start_node "$node"
    done
    wait_for all_idle || { sinfo && tail -n 5 $slurm/log/* && cannot "the nodes do not start"; }
}

# Jobs: their numbers are in ${job[NAME]}, their output in NAME.out.

declare -A job
submit() { # submit NAME OPTION...: the script is read from standard input
    cat >"$1.sh"
    job[$1]=$(env "$mark" sbatch --parsable -J "$1" -o "$1.out" "${@:2}" "$1.sh") || fail "$1: sbatch refuses it"
}
is_over() { [ -z "$(squeue -h -j "${job[$1]}" 2>/dev/null)" ]; }
await_end() { # await_end NAME...
    local name
    for name; do
        wait_for is_over "$name" || fail "$name does not end: $(tail -n 5 "$name.out")"
    done
}
says() { # says NAME TEXT
    grep -qF -e "$2" "$1.out" || fail "$1 does not say '$2': $(tail -c 1500 "$1.out")"
}
ended_as() { # ended_as NAME STATE CODE, as COMPLETED 0:0
    local record
    record=$(scontrol show job -o "${job[$1]}")
    [[ " $record " == *" JobState=$2 "*" ExitCode=$3 "* ]] || fail "$1 is not $2 $3: $record; $(tail -c 1500 "$1.out")"
}

in_shm_of_nodes() { # what is there
    for node in $nodes; do
        nsenter --mount --target "$(cat "$slurm/n$node.pid")" ls -A /dev/shm
    done
}
clean_nodes() { [ -z "$(squeue -h)$(marked)$(in_shm_of_nodes)" ]; }
nothing_left() { # neither jobs nor processes, nor files in a node's /dev/shm, for temporary files or half written
    wait_for clean_nodes || fail "left: $(squeue -h) $(in_shm_of_nodes) $(ps -o pid,ppid,stat,args -p "$(marked | paste -sd,)")"
    [ -z "$(ls -A "$TMPDIR")" ] || fail "left for temporary files: $(find "$TMPDIR")"
    [ -z "$(find . -name '*.part')" ] || fail "half written: $(find . -name '*.part')"
}
