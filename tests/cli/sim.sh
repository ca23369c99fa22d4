#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum sim` simulates graphs of tasks on machines that are described in files, and says what was wrong with them.
. "$THRUM_SOURCE/tests/cli/expect.bash"

small="--machine k40 --gpus 2 --app cholesky --n 4000 --tile 400"

expect 0 sim --machines
is_content
for machine in k40 p100 taskflow cluster64 cluster50; do
    says "$machine "
done
expect 0 sim --machines --machine k40
says "thrum-machine 1"

# One simulation, in full.
expect 0 sim $small --policy laheteroprio --formula auto --l 3,1 --seed 1
is_content
says "machine    k40: "
says "work       cholesky: 220 tasks"
says "policy     laheteroprio;formula=auto;l=3,1, seed 1, engine native"
says "makespan   "
says "bmd.ls_sdh2 "
expect 0 sim $small --policy laheteroprio --formula auto --l 3,1 --seed 1 --json
is_content
cp "$folder/output" "$folder/first"
for key in machine work policy seed makespan bound ratio critical_path area bytes copies links idle idle_by_cause workers bmd \
    ls_sdhb policy_counts nodes held starved steals wasted_steals; do
    says "\"$key\": "
done
for workers in 0 1 3; do # the same to the last digit
    export THRUM_WORKERS=$workers
    expect 0 sim $small --policy laheteroprio --formula auto --l 3,1 --seed 1 --json
    cmp -s "$folder/first" "$folder/output" || trouble "$workers workers give other numbers"
    unset THRUM_WORKERS
done
number() { sed -n "s/^  \"$1\": \([0-9.e+-]*\).*/\1/p" "$folder/output"; } # of the JSON object that was printed

# Every policy.
"$thrum" info >"$folder/info"
policies=$(sed -n '/^  policy /,/^$/s/^  \([a-z]*\) .*/\1/p' "$folder/info" | grep -vx policy)
for policy in $policies "steal;rule=taskflow"; do
    expect 0 sim $small --policy "$policy" --set "noise normal:1,0.1"
    is_content
    says "makespan   "
    says "steals     "
done
for policy in ws lws laheteroprio; do
    expect 0 sim $small --policy $policy --json
    [ "$(number steals)" -gt 0 ] && [ "$(number wasted_steals)" -gt 0 ] || trouble "nothing was stolen"
done
expect 0 sim $small --policy fifo --json
says '"steals": 0'
says '"wasted_steals": 0'
stolen="--machine taskflow --shape random;tasks=2000;device=0.5;both=0;bytes=0"
expect 0 sim $stolen --policy "steal;rule=taskflow" --trace "$folder/trace.json" --json
says '"rule_broken": false'
says '"worst_waste": 0.'
steals=$(number steals) wasted=$(number wasted_steals)
expect 0 sim $stolen --policy "steal;rule=taskflow+fifo" --csv -
says ",steals,wasted_steals,worst_waste,rule_broken,error"
says ",$steals,$wasted,0."
says ",0,0,,,"
expect 0 sim $stolen --policy "steal;rule=taskflow+fifo"
says "  steals    wasted"
grep -Eq " $steals +$wasted\$" "$folder/output" || trouble "the table lacks what was stolen"
expect 0 trace summary "$folder/trace.json"
grep -Eq "^all +$steals +$wasted " "$folder/output" || trouble "the trace says something else than $steals and $wasted"
expect 0 sim $small --policy ws --trace "$folder/trace.json"
expect 0 trace summary "$folder/trace.json"
! grep -q steals "$folder/output" || trouble "a trace speaks of what was not counted by worker"

# Sweeps: the same numbers whatever the number of workers, and other ones with another seed.
sweep="--machine k40+p100 --gpus 1+2 --app cholesky+life --n 2000 --tile 500 --steps 2 --policy heteroprio+laheteroprio+random+ws --formula auto+mc --l 1,1+2,1 --runs 2"
for workers in 1 2; do
    export THRUM_WORKERS=$workers
    expect 0 sim $sweep --set "noise normal:1,0.1" --csv "$folder/sweep$workers.csv" --plot "$folder/sweep"
    is_content # no bar: this is no terminal
    unset THRUM_WORKERS
done
[ "$(wc -l <"$folder/sweep1.csv")" = 113 ] || trouble "not 112 rows of CSV"
cmp -s "$folder/sweep1.csv" "$folder/sweep2.csv" || trouble "two workers give other numbers than one"
sed 's/"[^"]*"/text/g' "$folder/sweep1.csv" | # two seeds of everything, one line below the other
    awk -F, 'NR % 2 == 0 { first = $10 } NR > 1 && NR % 2 == 1 && $10 == first { same++ } END { exit same > 0 }' ||
    trouble "two seeds give the same makespan"
[ -s "$folder/sweep.svg" ] || ! command -v gnuplot >/dev/null || trouble "no picture"
expect 0 sim $small --policy fifo+prio --csv -
[ "$(wc -l <"$folder/output")" = 3 ] || trouble "not 3 lines"

# On a terminal there is a bar, which goes away at the end. The first step is always shown.
if command -v script >/dev/null; then
    last="sim, on a terminal"
    script -qec "'$thrum' sim $small --policy fifo+prio --csv '$folder/bar.csv'" /dev/null </dev/null >"$folder/output" 2>"$folder/errors" ||
        trouble "it failed"
    grep -Eq '\[#{20}\.{20}\] 1 of 2, [0-9]+ s left' "$folder/output" || trouble "there is no bar"
    says "$(printf '\r%79s\r' '')"
fi

# A graph of 102,340 tasks on 28 workers takes at most 20 seconds.
for policy in fifo laheteroprio; do
    last="sim, 102,340 tasks, $policy"
    timeout 20 "$thrum" sim --machine k40 --set "device gpu workers=2" --app cholesky --n 33600 --tile 400 --policy $policy --json \
        >"$folder/output" 2>"$folder/errors" || trouble "it took more than 20 seconds, or failed"
    says '"tasks": 102340'
    [ "$(grep -c '"refused"' "$folder/output")" = 28 ] || trouble "not 28 workers"
done

# Nothing to do, and work that takes no time: all numbers are there.
printf 'thrum-workload 1\n' >"$folder/nothing.wl"
printf 'thrum-workload 1\ncodelet a cpu\ntask a work=0\n' >"$folder/zero.wl"
printf 'thrum-machine 1\ncores count=2\nspeed * cpu=1e9\n' >"$folder/plain.machine"
for work in nothing zero; do
    for policy in fifo ws; do
        expect 0 sim --machine "$folder/plain.machine" --workload "$folder/$work.wl" --policy $policy --json
        says '"makespan": 0.0'
        says '"ratio": 1.0'
        says '"workers": '
    done
    expect 0 sim --machine "$folder/plain.machine" --workload "$folder/$work.wl"
    says "makespan   0 s, 1.000 of the bound"
    ! grep -qi nan "$folder/output" || trouble "there is a number that is none"
    expect 0 sim --machine "$folder/plain.machine" --workload "$folder/$work.wl" --policy fifo+ws
    ! grep -qi nan "$folder/output" || trouble "there is a number that is none"
done
expect 0 sim --machine "$folder/plain.machine" --workload "$folder/zero.wl" --policy steal --json # looking for it takes time
says '"ratio": null'
says '"workers": '

# What a policy counts is told in full, however much that is.
{
    printf 'thrum-workload 1\n'
    for i in $(seq 60); do printf 'codelet c%s cpu\ntask c%s work=1\n' "$i" "$i"; done
} >"$folder/many.wl"
expect 0 sim --machine "$folder/plain.machine" --workload "$folder/many.wl" --policy heteroprio --json
[ "$(grep -c '"factor.c' "$folder/output")" = 60 ] || trouble "not all of 60 buckets"

# A workload in a file is the same work; a trace can be summed up.
expect 0 sim $small --policy dmdas --write-workload "$folder/work.wl" --trace "$folder/trace.json" --json
sed 's/"work": .*//; s/"n": .*//; s/"tile": .*//' "$folder/output" >"$folder/first"
expect 0 sim --machine k40 --gpus 2 --workload "$folder/work.wl" --policy dmdas --json
sed 's/"work": .*//; s/"n": .*//; s/"tile": .*//' "$folder/output" | cmp -s "$folder/first" - || trouble "the file gives other numbers"
expect 0 trace summary "$folder/trace.json"
says "cholesky-gemm"

# An independent engine, where it is there.
if "$thrum" sim $small --engine simgrid --json >"$folder/simgrid" 2>/dev/null; then
    expect 0 sim $small --json
    a=$(sed -n 's/^  "makespan": \([0-9.]*\).*/\1/p' "$folder/output") b=$(sed -n 's/^  "makespan": \([0-9.]*\).*/\1/p' "$folder/simgrid")
    awk "BEGIN { exit !($a > 0 && $b > 0.99999 * $a && $b < 1.00001 * $a) }" || trouble "SimGrid says $b, the native engine $a"
fi

# What is wrong.
expect 2 sim
complains "--machine is missing"
expect 2 sim --machine k40
complains "--app, --workload or --shape must say"
expect 2 sim --machine k40 --app cholesky --shape fft
complains "only one of"
expect 1 sim --machine k44 --app cholesky
complains "k44"
expect 1 sim --machine k40 --app colesky
complains "colesky"
expect 1 sim $small --policy laheteroprio --formula best
complains "best"
expect 1 sim $small --policy laheteroprio --l 0,1
complains "l="
expect 1 sim $small --policy hetero
complains "hetero"
expect 2 sim $small --policy fifo --formula auto
complains "laheteroprio"
expect 1 sim $small --policy "heteroprio;fastest.cholesky-potrf=emu"
complains "cholesky-potrf"
expect 1 sim $small --set "root bandwith=10GB/s"
complains "bandwidth"
expect 1 sim $small --set "speed cholesky-gemm cpu=-1"
complains "--set"
for option in --n --tile --steps; do
    expect 2 sim --machine k40 --app life $option 0
    complains "$option is 0; it must be 1 at least."
done
expect 2 sim $small --runs 0
complains "--runs"
export THRUM_WORKERS=x
expect 1 sim $small
complains "THRUM_WORKERS is 'x'"
unset THRUM_WORKERS
export THRUM_POLICY=nonsense # of the executor that simulates: it is asked for when the work begins
for policy in fifo fifo+prio; do
    expect 1 sim $small --policy $policy
    complains "there is no policy 'nonsense'"
done
unset THRUM_POLICY
expect 2 sim $small --policy fifo+prio --trace x.json
complains "--trace is for one"
printf 'thrum-machine 1\ncores count=2\nspeed cholesky-gemm cpu=1e9\n' >"$folder/two.machine"
expect 1 sim --machine "$folder/two.machine" --app cholesky --n 500 --tile 250
complains "cholesky-potrf"
printf 'thrum-workload 1\ncodelet a cpu\ntask a work=1\ntask a work=1\nedge 0 1\nedge 1 0\n' >"$folder/cycle.wl"
expect 1 sim --machine k40 --workload "$folder/cycle.wl" --set "speed a cpu=1e9"
complains "cycle.wl:6: workload"
verdict
