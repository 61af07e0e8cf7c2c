#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh COBRE HELPERS [CASE...]: what docs/slurm.md says, in a Slurm cluster of four nodes that is made for each case. Its
# scripts are those of the page.
#
# Exit code 77: Slurm is not installed, or this user or kernel cannot make such a cluster.
# shellcheck disable=SC2086 # lists are to be split

. "$(dirname "$0")/../kit/namespaces.sh"
need unshare nsenter ip munged slurmctld slurmd srun sbatch salloc scancel
each_case_inside --uts --ipc -- "$@"
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm || exit 77
page=$(realpath "$(dirname "$0")/../../docs/slurm.md")
cases=$(realpath "$(dirname "$0")/../../cases")
TMPDIR=/run . "$(dirname "$0")/../kit/lib.sh"
for name in $(compgen -e); do # of a launcher that the tests themselves run under
    case $name in SLURM_* | OMPI_* | PMIX_* | PMI_* | MPI_LOCAL*) unset "$name" ;; esac
done
. "$(dirname "$0")/cluster.sh"
cd "$scratch" || exit 1
export SLURM_PMIX_FENCE=ring # as the page says: else Open MPI sometimes crashes while it starts
export PATH=${cobre%/*}:$PATH TMPDIR=/run/temporary COBRE_TEST_DIR=$scratch
mkdir $TMPDIR

of_page() { # of_page TEXT: the script of the page that has this text
    awk -v text="$1" '/^```/ { if (inside && index(script, text)) printf "%s", script
        script = ""; inside = $0 == "```sh"; next } inside { script = script $0 "\n" }' "$page"
}
direct() { # direct COMMAND...: $code, out and err; each task appends its own words to the files
    : >out >err
    "${within[@]}" "$@" >>out 2>>err </dev/null
    code=$?
}
out_count() { [ "$(grep -cF -e "$1" out)" = "$2" ] || fail "not $2 lines with '$1': $(cat out err)"; } # TEXT N
err_count() { [ "$(grep -cF -e "$1" err)" = "$2" ] || fail "not $2 lines with '$1': $(cat err)"; }

# Ranks

case_mpi() {
    declare -A pmi=([openmpi]=pmix [mpich]=pmi2)
    for mpi in openmpi mpich; do
        for plugin in "" $mpi; do
            with $ENV_MPI_PLUGIN=$plugin direct srun --mpi=${pmi[$mpi]} -N 3 -n 4 "$helpers/rank" hello barrier gather=100000 reduce=1000
            code_is 0
            out_count "of 4 by mpi" 4
        done
        direct srun --mpi=${pmi[$mpi]} -n 1 cobre info
        code_is 0
    done
    # Never N jobs of one rank: each MPI wants its own.
    for pair in "openmpi pmi2 PMIx Open" "openmpi none PMIx Open" "mpich pmix PMI MPICH" "mpich none PMI MPICH"; do
        read -r plugin offer lack who <<<"$pair"
        with $ENV_MPI_PLUGIN=$plugin direct srun --mpi=$offer -N 2 -n 2 "$helpers/rank" hello barrier
        code_is 3
        out_is ""
        err_count "and SLURM_STEP_NUM_TASKS=2 make this a rank of an MPI job that srun started, but the step offers no $lack, which $who" 2
        err_count "srun --mpi=${pmi[$plugin]}" 2
    done
    nothing_left
}

case_no_pmi() {
    direct srun --mpi=none -N 2 -n 2 "$helpers/rank" hello barrier
    code_is 3
    out_is ""
    for text in "SLURM_PROCID=" "offers neither PMI nor PMIx" "srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)" "cobre run" "tcp"; do
        err_count "$text" 2
    done
    err_lacks "MPI_Init"
    direct srun --mpi=none -N 2 -n 2 cobre info
    out_count "a program started here fails: SLURM_PROCID=" 2
    direct srun --mpi=none -n 2 cobre bench -n 2
    code_is 2
    err_count "this is a rank of a job already" 2
    for mpi in none pmix pmi2; do # one task is one rank, and may start ranks
        direct srun --mpi=$mpi -n 1 "$helpers/rank" hello barrier
        code_is 0
        out_count "rank 0 of 1 by" 1
        direct srun --mpi=$mpi -n 1 cobre run -n 2 "$helpers/rank" hello barrier
        code_is 0
        out_count "of 2 by shm" 2
    done
    nothing_left
}

# The shells of sbatch and salloc, the latter on the head or as a step of its own, are no ranks.
case_shells() {
    local train="cobre train $cases/brazil3 --iterations 4"
    submit batch -N 2 -n 4 <<END
#!/bin/sh
$train -n 2 --out two && $train --out one && cobre run -n 2 $train --out run && "$helpers/rank" hello
END
    submit mpirun -N 2 -n 3 <<END
#!/bin/sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun.openmpi -n 3 "$helpers/rank" hello barrier && mpirun.mpich -n 3 "$helpers/rank" hello barrier
END
    direct salloc -N 2 -n 4 $train -n 2 --out salloc
    code_is 0
    direct salloc -N 2 -n 4 srun --interactive --preserve-env $train -n 2 --out interactive
    code_is 0
    direct salloc -N 2 -n 4 srun --interactive --preserve-env "$helpers/rank" hello
    code_is 0
    out_count "rank 0 of 1 by local" 1
    await_end batch mpirun
    ended_as batch COMPLETED 0:0
    ended_as mpirun COMPLETED 0:0
    [ "$(grep -c "of 3 by mpi" mpirun.out)" = 6 ] || fail "not 3 ranks, twice: $(cat mpirun.out)"
    says batch "rank 0 of 1 by local"
    direct srun --mpi=pmix -N 2 -n 2 $train --out openmpi
    code_is 0
    direct srun --mpi=pmi2 -N 2 -n 2 $train --out mpich
    code_is 0
    for other in one run salloc interactive openmpi mpich; do
        cmp two/policy.cobre $other/policy.cobre || fail "the policy of $other is another one"
    done
    nothing_left
}

# A task that dies

three_tasks() { # three_tasks OPTION...: rank 0 is outside of any call, the others wait for it in a barrier
    rm -f ready.* *.out
    env "$mark" srun -N 2 -n 3 "$@" "$helpers/rank" barrier mark=ready 0:await=go barrier >tasks.out 2>&1 </dev/null &
    launcher=$!
    for rank in 0 1 2; do
        wait_for exists ready.$rank || fail "rank $rank does not start: $(cat tasks.out)"
    done
}
kill_task() { kill -9 "$(cut -d' ' -f1 ready.$1)"; } # RANK
has_said() { grep -qF -e "$1" tasks.out; }

case_killed_task() {
    for options in --mpi=pmix "--mpi=pmix --kill-on-bad-exit=1" "--mpi=pmi2 --kill-on-bad-exit=1"; do
        three_tasks $options
        kill_task 1
        finish
        [ $code -gt 128 ] || fail "$options: exit code $code: $(cat tasks.out)"
        says tasks "task 1: Killed"
        wait_for all_gone || fail "$options: ranks are left"
    done
    three_tasks --mpi=pmi2 # the others wait for ever
    kill_task 1
    wait_for has_said "task 1: Killed" || fail "nothing is said"
    sleep 1
    [ "$(marked | grep -cxf <(cut -d' ' -f1 ready.0 ready.2))" = 2 ] || fail "a rank has ended: $(cat tasks.out)"
    scancel -u root
    finish
    nothing_left
}

# tcp

case_tcp() {
    ln -s "$cases/brazil3" CASE
    submit train < <(of_page COBRE_TCP_RANK | sed 's/cobre train/& --iterations 4/')
    submit killed < <(of_page COBRE_TCP_RANK | sed "s|cobre train.*'|$helpers/rank barrier mark=ready 0:await=never barrier'|")
    for rank in 0 1 2 3; do
        wait_for exists ready.$rank || fail "rank $rank does not start: $(cat killed.out)"
    done
    kill_task 2
    wait_for grep -q "rank 3: failed" killed.out || fail "rank 3 does not hear of it"
    scancel "${job[killed]}"
    cobre train CASE --iterations 4 --out one
    await_end train killed
    ended_as train COMPLETED 0:0
    says train "4 ranks (tcp)"
    cmp one/policy.cobre RUN/policy.cobre || fail "the policies differ"
    for rank in 1 3; do
        grep -q "^rank $rank: failed at .* peer died, culprit 2: " killed.out || fail "rank $rank does not name it: $(cat killed.out)"
    done
    nothing_left
}

# Trainings that are asked to stop. Their folders have the names of their jobs.

trains() { lines_are "$1/training.csv" 3; }
await_trainings() { # await_trainings NAME...: each rests when it has begun, until `go_on`
    local name
    for name; do
        wait_for trains "$name" || fail "$name has no iterations: $(tail -c 1500 "$name.out")"
        kill -STOP $(comm -12 <(marked | sort) <(grep -slzx "SLURM_JOB_NAME=$name" /proc/[0-9]*/environ | cut -d/ -f3 | sort))
    done
}
go_on() { kill -CONT $(marked); }

# went_on NAME...: each was saved; going on from there gives the bits of a training that nobody stopped.
went_on() {
    local name count most=0
    for name; do
        says "$name" "stopped: asked to stop, after"
        count=$(($(wc -l <"$name/training.csv") - 1))
        [ $count -le $most ] || most=$count
    done
    cobre train CASE -n 2 --iterations $((most + 1)) --out whole
    code_is 0
    for name; do
        cobre train CASE -n 2 --iterations $((most + 1)) --out "$name" --resume "$name/policy.cobre"
        code_is 0
        cmp whole/policy.cobre "$name/policy.cobre" || fail "$name: another policy"
    done
}

# In a plain script, and in those of the page.
case_cancel() {
    ln -s "$cases/brazil60" CASE
    submit plain -n 2 <<END
#!/bin/bash
cobre run -n 2 cobre train CASE --out plain
END
    submit one -c 2 < <(of_page 'exec cobre' | sed 's/RUN/one/')
    submit forward -n 2 < <(of_page 'while kill' | sed 's/RUN/forward/')
    submit openmpi -n 2 -N 2 --ntasks-per-node=1 < <(of_page --mpi=pmix | sed 's/RUN/openmpi/')
    submit mpich -n 2 -N 2 --ntasks-per-node=1 < <(of_page --mpi=pmix | sed 's/pmix/pmi2/; s/RUN/mpich/')
    await_trainings plain one forward openmpi mpich
    go_on
    scancel -u root
    await_end plain one forward openmpi mpich
    went_on plain one forward openmpi mpich
    nothing_left
}

until_age() { # until_age SECONDS: of the controller
    local left=$(($1 - SECONDS + controller_since))
    [ $left -le 0 ] || sleep $left
}

# The controller looks at limits every 30 seconds. The trainings run only for the last of these.
case_limits() {
    ln -s "$cases/brazil60" CASE
    local name late='s/^\(exec \|srun \|cobre \)/until [ -e go ]; do sleep 0.1; done\n&/'
    submit term -c 2 < <(of_page 'exec cobre' | sed "$late; s/RUN/term/")
    submit forward -n 2 < <(of_page 'while kill' | sed "$late; s/RUN/forward/")
    submit steps -n 2 -N 2 --ntasks-per-node=1 --signal=USR1@300 < <(of_page --mpi=pmix | sed "$late; s/RUN/steps/")
    submit grace -c 2 < <(of_page 'exec cobre' |
        sed "$late; s/RUN/grace/; s/cobre train/& --forward-passes 10 --grace 0.2/")
    until_age 20
    touch go
    await_trainings term forward steps grace
    wait_for scontrol update "JobId=${job[term]}" EndTime=now+1 # refused if that has passed when the controller reads it
    for name in forward steps grace; do
        scontrol update JobId=${job[$name]} EndTime=now+3minutes
    done
    until_age 28
    go_on
    await_end term forward steps grace
    for name in forward steps grace; do
        ended_as $name COMPLETED 0:0
        says $name "stopped: asked to stop, after"
        cobre policy $name/policy.cobre
        code_is 0
    done
    went_on term
    nothing_left
}

start_cluster
run_cases "${@:3}"
