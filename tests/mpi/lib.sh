# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# lib.sh: what the tests of the mpi backend share. Sourced with: COBRE-BINARY HELPER-DIRECTORY MPI [CASE...], where MPI is
# openmpi or mpich.
. "$(dirname "${BASH_SOURCE[0]}")/../kit/lib.sh"
mpi=$3
other=$([ "$mpi" = openmpi ] && echo mpich || echo openmpi)
plugins=$(dirname "$cobre")
export COBRE_TEST_DIR=$scratch

# Nothing of a launcher that the tests themselves run under; Open MPI as root, with more ranks than cores, and without
# the second that it gives ranks to end when one has failed.
for name in $(compgen -e); do
    case $name in
    OMPI_* | PMIX_* | PMI_* | SLURM_* | HYDRA_* | MPIR_* | MPI_LOCAL*) unset "$name" ;;
    COBRE_TEST_MPI_NODES) unset "$name" ;;
    esac
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_odls_base_sigkill_timeout=0

# start_ranks N PROGRAM...: under the launcher of $mpi, in the background, as $launcher. Each rank itself appends its words
# to $scratch/out and $scratch/err: what goes through a launcher may be lost when ranks end in a hurry. Open MPI's session
# directories are in $scratch/tmp, so that what is left of a job is plain to see.
start_ranks() {
    mkdir -p "$scratch/tmp"
    : >"$scratch/out" >"$scratch/err"
    env "$mark" TMPDIR="$scratch/tmp" "mpirun.$mpi" -n "$1" \
        bash -c 'exec "$@" >>"$COBRE_TEST_DIR/out" 2>>"$COBRE_TEST_DIR/err"' rank "${@:2}" \
        >>"$scratch/out" 2>>"$scratch/err" </dev/null &
    launcher=$!
}

# The same to its end: $code.
launch() {
    start_ranks "$@"
    finish
}

code_is_not() { [ "$code" != "$1" ] || fail "exit code $code: $(head -c 600 "$scratch/err")"; }
err_count() { # TEXT N; times, not lines: a launcher may join the lines of two ranks
    [ "$(grep -oF -e "$1" "$scratch/err" | wc -l)" = "$2" ] || fail "not $2 times '$1': $(head -c 2000 "$scratch/err")"
}
out_count() { # TEXT N
    [ "$(grep -oF -e "$1" "$scratch/out" | wc -l)" = "$2" ] || fail "not $2 times '$1': $(head -c 2000 "$scratch/out")"
}

# What the ranks of kit/rank.c leave in files EVENT.RANK: process, time, text.
happened() { # EVENT RANK...: all of them
    local event=$1 rank
    shift
    for rank; do
        [ -e "$scratch/$event.$rank" ] || return 1
    done
}
pid_of() { cut -d' ' -f1 "$scratch/ready.$1"; }
text_of() { cut -d' ' -f3- "$scratch/$1" 2>/dev/null; } # EVENT.RANK
time_of() { cut -d' ' -f2 "$scratch/$1" | tr -d .; }    # EVENT.RANK, in microseconds
order() { : >"$scratch/$1"; }                           # FILE: a rank awaits it

# A rank that has begun a blocking call of MPI shows it in one way only: it polls. Its CPU time is in ns; ranks that yield as
# they poll get little of a busy machine.
cpu_of() { cut -d' ' -f1 "/proc/$1/schedstat" 2>/dev/null; } # PID
has_spent() { [ "$(cpu_of "$1")" -ge "$2" ]; }               # PID NS
inside() {                                                   # RANK: is in the call after `ready`
    local pid
    pid=$(pid_of "$1")
    wait_for has_spent "$pid" $(($(cpu_of "$pid") + 5000000)) || fail "rank $1 does not wait in the call"
}

# With a /dev/shm of its own the test sees all that a job leaves there. Exit code 77 where that is not allowed.
own_shm() { # SIZE SCRIPT ARGUMENTS...
    [ -z "${COBRE_TEST_OWN_SHM-}" ] || return 0
    rm -rf "$scratch"
    unshare -m true 2>/dev/null || { echo "skipped: a mount namespace is not allowed here" && exit 77; }
    export COBRE_TEST_OWN_SHM=1
    exec unshare -m bash -c 'mount -t tmpfs -o size='"$1"' tmpfs /dev/shm && exec "$0" "$@"' "${@:2}"
}
residue() { # what is left of a job in /dev/shm and in the directory for temporary files
    ls -A /dev/shm
    find "$scratch/tmp" -mindepth 1 2>/dev/null | sed "s|$scratch/||"
}
