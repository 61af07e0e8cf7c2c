#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh COBRE HELPERS [CASE...]: a tcp job over four hosts.
#
# A host is a network namespace with an address of its own (10.77.0.1 ... .4, fd77::1 ... ::4) and a cable (a veth pair)
# to a switch (a bridge); each cable carries 1 Gbit/s each way (tbf at both ends). Rank r runs on host r, or, in cases with
# several sets of four hosts, on host first_host + r.
#
# All of it, switch and scratch files included, is inside namespaces (kit/namespaces.sh): nothing outside is touched.
# shellcheck disable=SC2086 # lists of ranks and steps are to be split

. "$(dirname "$0")/../kit/namespaces.sh"
root=()
[ "$(id -u)" = 0 ] || root=(--user --map-root-user)
need unshare nsenter ip tc
each_case_inside "${root[@]}" -- "$@"
mount -t tmpfs tmpfs /run || cannot "cannot mount a tmpfs"
TMPDIR=/run . "$(dirname "$0")/../kit/lib.sh"
ranks='0 1 2 3'

# The hosts

rate=1gbit
make_host() { # make_host NUMBER
    local ip="ip -n host$1"
    try "network namespace" ip netns add "host$1"
    try "veth" ip link add "port$1" type veth peer name eth0 netns "host$1"
    try "tbf" tc qdisc add dev "port$1" root tbf rate $rate burst 128k limit 1m
    try "tbf" tc -n "host$1" qdisc add dev eth0 root tbf rate $rate burst 128k limit 1m
    try "bridge" ip link set "port$1" master switch up
    $ip link set lo up
    $ip link set eth0 up
    try "IPv4" $ip addr add "10.77.0.$(($1 + 1))/24" dev eth0
    $ip addr add "fd77::$(($1 + 1))/64" dev eth0 nodad 2>/dev/null
}

make_hosts() {
    mount -t sysfs sysfs /sys || cannot "cannot mount a sysfs" # that shows our ports
    mkdir /run/netns
    cd "$scratch" || exit 1
    try "bridge" ip link add switch type bridge mcast_snooping 0
    ip link set switch up
    for host in $ranks; do
        make_host "$host"
    done
}

# Silence from one host to another, or between two: they send to a machine that is not there, as when a firewall drops what
# they send.
silence() { # silence FROM TO
    ip -n "host$1" neigh replace "10.77.0.$(($2 + 1))" lladdr 02:00:00:00:00:99 dev eth0 nud permanent
}

part() { # part HOST HOST
    silence "$1" "$2"
    silence "$2" "$1"
}

pull_cable() { # pull_cable HOST: nobody hears of it, no connection is closed
    pulled=$(micros)
    ip link set "port$1" down
}

sent_by() { cat "/sys/class/net/port$1/statistics/rx_bytes"; } # what the switch received from it
has_sent() { [ "$(sent_by "$1")" -gt "$2" ]; }

# Jobs. Each has a directory for its files; its ranks' output is in out-RANK there, their processes in ${pid[JOB-RANK]}.

declare -A pid
coordinator=10.77.0.1
first_host=0
timeout=30
room=5 # seconds beyond a limit; 2 are enough on a machine that does nothing else

# within SECONDS FROM TO WHAT: it happened at TO, no longer after FROM than promised; times in micros, without what the machine
# withheld.
within() {
    local ms
    ms=$(ms_between "$2" "$3")
    echo "  $4 after $ms ms"
    [ "$3" -ge "$2" ] && [ "$ms" -le $(($1 * 1000)) ] || fail "$4: not within $1 s"
}

start() { # start JOB PORT SIZE RANK STEP...
    local job=$1 port=$2 size=$3 r=$4
    shift 4
    mkdir -p "$job"
    env "$mark" COBRE_COMM_BACKEND=tcp $ENV_TCP_COORDINATOR="$coordinator" $ENV_TCP_PORT="$port" $ENV_TCP_RANK="$r" \
        $ENV_TCP_SIZE="$size" $ENV_TCP_TOKEN="$job-0123456789abcdef" $ENV_TCP_TIMEOUT="$timeout" \
        COBRE_TEST_DIR="$PWD/$job" nsenter --net="/run/netns/host$((first_host + r))" "$helpers/rank" "$@" >"$job/out-$r" 2>&1 &
    pid[$job-$r]=$!
}

start_all() { # start_all JOB PORT STEP...: on all hosts
    local job=$1 port=$2 r
    shift 2
    for r in $ranks; do
        start "$job" "$port" 4 "$r" "$@"
    done
}

all_marked() { # all_marked JOB NAME RANK...
    local job=$1 name=$2 r
    shift 2
    for r; do
        wait_for exists "$job/$name.$r" || fail "$job: rank $r never said $name: $(cat "$job/out-$r")"
    done
}

all_wait() { # all_wait JOB RANK...: they have said ready and sleep now
    local job=$1 r
    shift
    all_marked "$job" ready "$@"
    for r; do
        wait_for state_is "${pid[$job-$r]}" S || fail "$job: rank $r does not wait"
    done
}

collect() { # collect JOB RANK CODE: waits for its end
    local code
    wait_for ended "${pid[$1-$2]}" || { fail "$1: rank $2 does not end" && kill -9 "${pid[$1-$2]}"; }
    wait "${pid[$1-$2]}"
    code=$?
    [ $code = "$3" ] || { fail "$1: rank $2 ended with $code instead of $3:" && cat "$1/out-$2"; }
}

all_done() { # all_done JOB RANK...: with right results
    local job=$1 r
    shift
    for r; do
        collect "$job" "$r" 0
    done
}

# lost JOB RANK CULPRITS TEXT LIMIT FROM: the rank failed because of its transport, blames one of these, and says that text, within
# LIMIT seconds of FROM.
lost() {
    local when
    collect "$1" "$2" 3
    when=$(sed -n "s/^rank $2: failed at \([0-9]*\)\.\([0-9]*\) .* transport, culprit [$3]: .*$4.*/\1\2/p" "$1/out-$2")
    if [ -z "$when" ]; then
        fail "$1: rank $2 does not blame $3 and say '$4': $(cat "$1/out-$2")"
    else
        within "$5" "$6" "$when" "$1: rank $2 knew"
    fi
}

# blames JOB RANK CULPRIT LIMIT [FROM]: rank failed because it, or another, cannot reach that culprit, within LIMIT seconds of
# the cable, or of FROM.
blames() {
    lost "$1" "$2" "$3" "rank $3 on host .*cannot reach" "$4" "${5:-$pulled}"
}

says() { # says JOB RANK TEXT
    grep -q -- "$3" "$1/out-$2" || fail "$1: rank $2 does not say '$3': $(cat "$1/out-$2")"
}

# The cases

# These cases want the machine for themselves. It may be busy with something else, so that a first attempt that is too slow (exit code 4) gets a second one;
# what must be reached stays the same.
measure() { # measure OPERATION BYTES PERCENT
    local what="measure=$1,$2,3,1,$3" # rounds: link and ring, star
    start_all first 7100 "$what"
    wait "${pid[first-0]}"
    if [ $? = 4 ]; then
        cat first/out-0
        echo "once more"
        start_all second 7200 "$what"
        all_done second $ranks
        cat second/out-0
    else
        all_done first $ranks
        cat first/out-0
    fi
}

case_allgatherv() { measure gather 64000000 85; } # slow
case_broadcast() { measure broadcast 32000000 70; } # slow
case_allreduce() { measure reduce 32000000 70; } # slow

everything='barrier gather=1000 gather=4000000 broadcast=1000 broadcast=4000000 reduce=1000 reduce=4000000'

case_ipv6() {
    ip -n host0 -6 addr show dev eth0 | grep -q fd77::1 || cannot "no IPv6 in this kernel"
    coordinator=fd77::1
    start_all six 7100 $everything
    all_done six $ranks
}

# alpha has both kinds of address. beta has two, and nobody answers at the one that getaddrinfo puts first, because it
# is nearer to the ranks' own: each rank must go on to the second.
case_names() {
    printf '%s\n' '127.0.0.1 localhost' '10.77.0.1 alpha' 'fd77::1 alpha' '10.77.0.9 beta' '10.77.0.129 beta' >hosts
    mount --bind hosts /etc/hosts || cannot "cannot mount a file over /etc/hosts"
    ip -n host0 addr add 10.77.0.129/24 dev eth0
    for host in $ranks; do
        ip -n "host$host" neigh replace 10.77.0.9 lladdr 02:00:00:00:00:99 dev eth0 nud permanent
    done
    timeout=10
    coordinator=alpha
    start_all alpha 7100 $everything
    all_done alpha $ranks
    coordinator=beta
    start_all beta 7101 barrier gather=4000000
    all_done beta $ranks
}

# Three jobs on the same hosts lose one host: in a job that waits in a barrier, in one whose ranks compute and enter
# after one second or when the others know, in one that is in the middle of a stream.
vanish() { # vanish HOST
    local gone=$1 others=() r early late entered limit
    for r in $ranks; do
        [ "$r" = "$gone" ] || others+=("$r")
    done
    early=${others[1]}
    late="${others[0]} ${others[2]}"
    timeout=3
    limit=$((timeout + room))
    for r in $ranks; do
        if [ "$r" = "$gone" ]; then
            start waiting 7100 4 "$r" barrier mark=ready await=never
        else
            start waiting 7100 4 "$r" barrier mark=ready barrier
        fi
        if [ "$r" = "$early" ]; then
            start outside 7101 4 "$r" barrier mark=ready await=soon barrier
        else
            start outside 7101 4 "$r" barrier mark=ready await=late barrier
        fi
    done
    start_all streaming 7102 forever=8000000
    all_wait waiting $ranks
    all_marked outside ready $ranks
    all_marked streaming streaming $ranks
    pull_cable "$gone"
    sleep 1
    touch outside/soon
    for r in "${others[@]}"; do
        blames waiting "$r" "$gone" $limit
        blames streaming "$r" "$gone" $limit
    done
    blames outside "$early" "$gone" $limit
    [ "$gone" = 0 ] || blames streaming "$gone" 0 $limit # alone, it sees that rank 0 is not there any more
    entered=$(micros)
    touch outside/late
    for r in $late; do
        blames outside "$r" "$gone" $room "$entered"
    done
    [ "$gone" = 0 ] || blames outside "$gone" 0 $room "$entered"
    for job in waiting outside streaming; do
        kill -9 "${pid[$job-$gone]}" 2>/dev/null
    done
}

case_vanish() { vanish 2; }
case_vanish_coordinator() { vanish 0; }

# cut_off JOB RANK A B LIMIT FROM: the rank failed because ranks A and B cannot reach each other.
cut_off() {
    lost "$1" "$2" "$3$4" \
        "rank $3 on host 10\.77\.0\.$((first_host + $3 + 1)) and rank $4 on host 10\.77\.0\.$((first_host + $4 + 1)) cannot reach each other;" "$5" "$6"
}

# Two ranks lose each other: from the first to the second, the other way, or both; each time on a set of four hosts. One job
# streams over the ring, one way (gather) or both (reduce); one waits in a barrier for a rank that computes and comes when all
# others have failed: the second of the two, or another. All ranks have the same error.
sets=() # "SET FIRST SECOND WAY"

use_set() { # use_set NUMBER
    first_host=$((4 * $1 + 4))
    coordinator=10.77.0.$((first_host + 1))
}

absent_in() { # absent_in FIRST SECOND WAY: the rank that computes
    local other=$(($1 == 1 ? 2 : 1))
    case $3 in there) echo "$2" ;; *) echo $(($1 + $2 == other ? 3 : other)) ;; esac
}

stream_and_wait() { # stream_and_wait SET FIRST SECOND WAY
    local r absent
    use_set "$1"
    absent=$(absent_in "$2" "$3" "$4")
    if [ "$4" = there ]; then
        start_all "stream$1" 7100 forever=1000000
    else
        start_all "stream$1" 7100 barrier mark=streaming $(printf 'reduce=1000000 %.0s' {1..1000})
    fi
    for r in $ranks; do
        if [ "$r" = "$absent" ]; then
            start "wait$1" 7101 4 "$r" barrier mark=ready await=late barrier gather=4000000
        else
            start "wait$1" 7101 4 "$r" barrier mark=ready barrier gather=4000000
        fi
    done
}

lose() { # lose SET FIRST SECOND WAY
    local one=$((4 * $1 + 4 + $2)) other=$((4 * $1 + 4 + $3))
    lost[$1]=$(micros)
    [ "$4" = back ] || silence $one $other
    [ "$4" = there ] || silence $other $one
}

all_cut_off() { # all_cut_off SET FIRST SECOND WAY
    local r absent limit=$((timeout + room)) entered
    use_set "$1"
    absent=$(absent_in "$2" "$3" "$4")
    for r in $ranks; do
        cut_off "stream$1" "$r" "$2" "$3" $limit "${lost[$1]}"
        [ "$r" = "$absent" ] || cut_off "wait$1" "$r" "$2" "$3" $limit "${lost[$1]}"
    done
    entered=$(micros)
    touch "wait$1/late"
    cut_off "wait$1" "$absent" "$2" "$3" $room "$entered"
}

break_links() { # break_links 'FIRST SECOND'...
    local pair way set host lost=()
    for pair; do
        for way in there back both; do
            sets+=("${#sets[@]} $pair $way")
        done
    done
    rate=50mbit # so that many streams leave time to others
    for ((host = 4; host < 4 * ${#sets[@]} + 4; host++)); do
        make_host $host
    done
    timeout=3
    for set in "${sets[@]}"; do
        stream_and_wait $set
    done
    for set in "${!sets[@]}"; do
        all_marked "stream$set" streaming $ranks
        all_marked "wait$set" ready $ranks
    done
    sleep 0.5
    for set in "${sets[@]}"; do
        lose $set
    done
    for set in "${sets[@]}"; do
        all_cut_off $set
    done
}

case_cut_01_02() { break_links '0 1' '0 2'; }
case_cut_03_12() { break_links '0 3' '1 2'; }
case_cut_23() { break_links '2 3'; }

# Rank 2 is stopped until its window is closed and rank 1 seldom asks whether it is open; then they lose each other.
case_cut_closed() {
    local r from
    timeout=3
    start_all closed 7100 forever=8000000
    all_marked closed streaming $ranks
    kill -STOP "${pid[closed-2]}"
    sleep 3
    for r in $ranks; do
        ! ended "${pid[closed-$r]}" || fail "rank $r did not wait for the one that is stopped"
    done
    part 1 2
    pulled=$(micros)
    sleep 4.5
    from=$(micros)
    kill -CONT "${pid[closed-2]}"
    for r in 0 1 3; do
        cut_off closed "$r" 1 2 10 "$pulled"
    done
    cut_off closed 2 1 2 $((timeout + room)) "$from"
}

# Rank 1 loses its neighbours for a third of the limit, in the middle of a stream. That is no error: TCP sends again in time.
case_cut_short() {
    local before other
    timeout=6
    start_all short 7100 barrier mark=streaming $(printf 'gather=4000000 %.0s' {1..60})
    all_marked short streaming $ranks
    part 0 1
    part 1 2
    sleep 0.5
    before=$(sent_by 3)
    sleep 1.5
    has_sent 3 $((before + 4000000)) && fail "the stream went on"
    for other in 0 2; do
        ip -n host1 neigh del "10.77.0.$((other + 1))" dev eth0
        ip -n "host$other" neigh del 10.77.0.2 dev eth0
    done
    all_done short $ranks
}

# Ranks 1 and 3 have no connection, and need none.
case_cut_apart() {
    local r
    timeout=2
    for r in $ranks; do
        if [ "$r" = 0 ]; then
            start apart 7100 4 0 barrier mark=ready await=late $everything
        else
            start apart 7100 4 "$r" barrier mark=ready $everything
        fi
    done
    all_wait apart $ranks
    part 1 3
    sleep 5
    touch apart/late
    all_done apart $ranks
}

# Slow is not dead. With a limit of 2 s: rank 2 stopped for 6.5 s in the middle of a stream, and rank 0 in a barrier; a
# rank that is so late; and with two ranks, where nothing is agreed on first, one that for so long does not read what the
# other pushes at it.
case_slow() {
    local r sent
    timeout=2
    sent=$(sent_by 2)
    for r in $ranks; do
        start late 7102 4 "$r" barrier mark=ready ${slow[$r]-} gather=64000000 reduce=4000000 barrier
    done
    for r in 0 1; do
        start unread 7103 2 "$r" barrier mark=ready ${unread[$r]-} gather=64000000 reduce=64000000 barrier
    done
    for r in $ranks; do
        if [ "$r" = 0 ]; then
            start stopped0 7101 4 0 barrier mark=ready await=go barrier gather=4000000
        else
            start stopped0 7101 4 "$r" barrier mark=ready barrier gather=4000000
        fi
    done
    start_all stopped 7100 barrier mark=ready gather=256000000 barrier gather=4000000
    all_marked stopped ready $ranks
    wait_for has_sent 2 $((sent + 20000000)) || fail "stopped: rank 2 sends nothing"
    kill -STOP "${pid[stopped-2]}"
    all_wait stopped0 $ranks
    kill -STOP "${pid[stopped0-0]}"
    touch stopped0/go
    all_marked late ready $ranks
    all_marked unread ready 0 1
    sleep 6.5
    for job in late unread stopped; do
        for r in $ranks; do
            [ -z "${pid[$job-$r]-}" ] || ! ended "${pid[$job-$r]}" || fail "$job: rank $r did not wait for the slow one"
        done
    done
    kill -CONT "${pid[stopped-2]}" "${pid[stopped0-0]}"
    touch late/go unread/go
    all_done stopped $ranks
    all_done stopped0 $ranks
    all_done late $ranks
    all_done unread 0 1
}
declare -A slow=([2]=await=go) unread=([1]=await=go)

# Hosts 2 and 3 cannot reach each other, so that all agree on the star: rank 0 sends every part to all but its own rank.
case_no_ring() {
    local sent from
    part 2 3
    timeout=6
    from=$(micros)
    start_all cut 7100 barrier mark=ready await=go gather=16000000 $everything
    all_marked cut ready $ranks
    within $((timeout + room)) "$from" "$(micros)" "the job had formed"
    sent=$(sent_by 0)
    touch cut/go
    all_done cut $ranks
    sent=$(($(sent_by 0) - sent))
    # Gathers of 16 and 4 MB, a broadcast and a reduction of 4 MB: 69 MB, over the ring 23 MB.
    [ $sent -gt 60000000 ] || fail "rank 0 sent $sent bytes: that is not the star"
}

case_unreachable() {
    timeout=3
    part 0 1
    local from
    from=$(micros)
    start_all lone 7100 barrier
    for r in $ranks; do
        collect lone "$r" 3
    done
    within $((timeout + room)) "$from" "$(micros)" "all knew"
    says lone 0 "rank 1 of 4 did not come in time"
    says lone 1 "could not reach the coordinator at 10.77.0.1 port 7100 within 3 s: Connection timed out"
    says lone 1 "no firewall is between"
    says lone 2 "rank 1 of 4 did not come in time"
    says lone 3 "rank 1 of 4 did not come in time"
}

# Host 3 is no rank's: two thousand connections from there, each with a good hello and no more, stand at rank 0's door.
case_strangers() {
    local flood from
    timeout=60
    start crowd 7100 3 0 mark=formed
    listens() { nsenter --net=/run/netns/host0 grep -q cobre-tcp/7100 /proc/net/unix; }
    wait_for listens || fail "rank 0 does not listen"
    env "$mark" nsenter --net=/run/netns/host3 python3 "$(dirname "$script")/../kit/flood.py" 10.77.0.1 7100 2000 >flooded &
    flood=$!
    has_flooded() { ended "$flood" || grep -q flooded flooded; }
    wait_for has_flooded
    ! ended "$flood" || fail "no flood"
    from=$(micros)
    start crowd 7100 3 1 mark=formed
    start crowd 7100 3 2 mark=formed
    all_marked crowd formed 0 1 2
    within $room "$from" "$(micros)" "the job had formed"
    all_done crowd 0 1 2
    kill "$flood"
    wait "$flood" 2>/dev/null
}

watch_machine
make_hosts
run_cases "${@:3}"
