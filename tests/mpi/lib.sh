# shellcheck shell=bash disable=SC2034,SC2154
# lib.sh: what the tests of the mpi backend share, on top of those of the command.
# Sourced with: COBRE-BINARY HELPER-DIRECTORY MPI, where MPI is openmpi or mpich.
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../cli/lib.sh" "$1" "$2"
mpi=${3-}
other=$([ "$mpi" = openmpi ] && echo mpich || echo openmpi)
plugins=$(dirname "$cobre")
export COBRE_TEST_DIR=$scratch

# Nothing of a launcher that the tests themselves run under; Open MPI as root, with more ranks than cores, and without
# the second that it gives ranks to end when one has failed.
for name in $(compgen -e); do
    case $name in
    OMPI_* | PMIX_* | PMI_* | SLURM_* | HYDRA_* | MPIR_* | MPI_LOCAL*) unset "$name" ;;
    COBRE_MPI_PLUGIN | COBRE_CHECK | COBRE_STALL_SECS | COBRE_TEST_MPI_NODES) unset "$name" ;;
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

happened() { # EVENT RANK...: all of them
    local event=$1 rank
    shift
    for rank; do
        [ -e "$scratch/$event.$rank" ] || return 1
    done
}
pid_of() { cut -d' ' -f1 "$scratch/ready.$1"; }
text_of() { cut -d' ' -f3- "$scratch/$1" 2>/dev/null; } # EVENT.RANK
order() { # FILE TEXT
    echo "$2" >"$scratch/$1.early" && mv "$scratch/$1.early" "$scratch/$1"
}

# CPU time of a process in ns: ranks that yield as they poll get little of a busy machine.
cpu_of() { cut -d' ' -f1 "/proc/$1/schedstat" 2>/dev/null; }
# A rank that has begun a blocking call of MPI shows it in one way only: it polls.
busy_since() { [ "$(cpu_of "$1")" -ge $(($2 + 5000000)) ]; } # PID NS
inside() { # RANK: is in the call after `ready`
    local pid cpu
    pid=$(pid_of "$1")
    cpu=$(cpu_of "$pid")
    wait_for busy_since "$pid" "$cpu" || fail "rank $1 does not wait in the call"
}

micros() { echo "${EPOCHREALTIME/[.,]/}"; }
ms_since() { echo $((($(micros) - $1) / 1000)); }

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
