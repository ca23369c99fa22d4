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
    ls_sdhb policy_counts nodes held starved; do
    says "\"$key\": "
done
for workers in 0 1 3; do # the same to the last digit
    export THRUM_WORKERS=$workers
    expect 0 sim $small --policy laheteroprio --formula auto --l 3,1 --seed 1 --json
    cmp -s "$folder/first" "$folder/output" || trouble "$workers workers give other numbers"
    unset THRUM_WORKERS
done

# Every policy.
"$thrum" info >"$folder/info"
policies=$(sed -n '/^  policy /,/^$/s/^  \([a-z]*\) .*/\1/p' "$folder/info" | grep -vx policy)
for policy in $policies "steal;rule=taskflow"; do
    expect 0 sim $small --policy "$policy" --set "noise normal:1,0.1"
    is_content
    says "makespan   "
done
expect 0 sim --machine taskflow --shape "random;tasks=2000;device=0.5;both=0;bytes=0" --policy "steal;rule=taskflow" --json
says '"rule_broken": false'
says '"worst_waste": 0.'

# Sweeps: the same numbers whatever the number of workers.
sweep="--machine k40+p100 --gpus 1+2 --app cholesky+life --n 2000 --tile 500 --steps 2 --policy heteroprio+laheteroprio --formula auto+mc --l 1,1+2,1 --runs 2"
for workers in 1 2; do
    export THRUM_WORKERS=$workers
    expect 0 sim $sweep --csv "$folder/sweep$workers.csv" --plot "$folder/sweep"
    unset THRUM_WORKERS
done
[ "$(wc -l <"$folder/sweep1.csv")" = 81 ] || trouble "not 80 rows of CSV"
cmp -s "$folder/sweep1.csv" "$folder/sweep2.csv" || trouble "two workers give other numbers than one"
[ -s "$folder/sweep.svg" ] || ! command -v gnuplot >/dev/null || trouble "no picture"
expect 0 sim $small --policy fifo+prio --csv -
[ "$(wc -l <"$folder/output")" = 3 ] || trouble "not 3 lines"

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
expect 2 sim $small --policy fifo+prio --trace x.json
complains "--trace is for one"
printf 'thrum-machine 1\ncores count=2\nspeed cholesky-gemm cpu=1e9\n' >"$folder/two.machine"
expect 1 sim --machine "$folder/two.machine" --app cholesky --n 500 --tile 250
complains "cholesky-potrf"
printf 'thrum-workload 1\ncodelet a cpu\ntask a work=1\ntask a work=1\nedge 0 1\nedge 1 0\n' >"$folder/cycle.wl"
expect 1 sim --machine k40 --workload "$folder/cycle.wl" --set "speed a cpu=1e9"
complains "cycle.wl:"

# Descriptions of this machine; that of emulated devices in timing mode is the quick one.
expect 2 sim --calibrate "$folder/this.machine" --tile 7
complains "--tile '7': to calibrate, a tile is from 16 to 512"
if [ -e "$build/libthrum-dense.so" ]; then
    expect 0 sim --calibrate "$folder/this.machine" --timing
    expect 0 sim --machine "$folder/this.machine" --app cholesky --n 1000 --tile 100 --policy dmda
    says "makespan   "
    expect 1 sim --calibrate /no/such/folder/this.machine --timing
    complains "'/no/such/folder/this.machine' cannot be written"
fi
verdict
