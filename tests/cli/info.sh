#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum info` shows the machine and the options, explains the number of workers, and reports wrong variables.
. "$THRUM_SOURCE/tests/cli/expect.bash"

expect 0 info
is_content
for word in processors quota Slurm NUMA workers binding membarrier trace Graphviz gnuplot SimGrid; do
    says "$word "
done
for option in THRUM_WORKERS THRUM_CALLERS THRUM_BIND THRUM_TRACE THRUM_TRACE_EVENTS; do
    says "$option "
done
says "THRUM_TRACE=FILE.json"
says 'Devices "emu": '
for setting in memory link latency workers mode peer fail; do
    grep -Eq "^  $setting +[^ ]+ +.+" "$folder/output" || trouble "the setting '$setting' of emu is not in the table"
done
grep -Eq '^workers +[0-9]+, because .+' "$folder/output" || trouble "the number of workers is not explained"

# Where an option comes from.
export THRUM_WORKERS=3
expect 0 info
says "3, because THRUM_WORKERS says so; without it"
says "* THRUM_WORKERS "
export THRUM_WORKERS=0
expect 0 info
says "no threads, because THRUM_WORKERS says so"
export THRUM_WORKERS=1024
expect 0 info
says "more workers than usable processors"
unset THRUM_WORKERS

export SLURM_CPUS_PER_TASK=1
expect 0 info
says "SLURM_CPUS_PER_TASK allows 1"
grep -Eq '^workers +1, because ' "$folder/output" || trouble "one processor of Slurm's is not one worker"
unset SLURM_CPUS_PER_TASK

# The table comes first, then the sentence.
export THRUM_WORKERS=many
expect 1 info
says "THRUM_CALLERS "
complains "THRUM_WORKERS"
complains "many"
expect 1 info --json
says '"problem": "'
unset THRUM_WORKERS
export THRUM_WROKERS=2
expect 1 info
says "THRUM_CALLERS "
complains "THRUM_WROKERS"
unset THRUM_WROKERS

expect 0 info --json
is_content
for key in version machine machine_cpus affinity_cpus quota usable decided_by workers binding programs engines options; do
    says "\"$key\": "
done
says '"name": "THRUM_WORKERS"'
says '"problem": null'
says '"kind": "emu"'
says '"key": "memory"'

# A library with something else in the place of its module (the program finds this copy of the library first).
cp "$build"/libthrum.so.? "$folder/"
: >"$folder/libthrum-simgrid.so"
export LD_LIBRARY_PATH=$folder
expect 0 info
says "SimGrid      this build has no SimGrid engine"
expect 0 info --json
says '"simgrid": false'
unset LD_LIBRARY_PATH

expect 2 info --jsno
complains "unknown option '--jsno'; did you mean '--json'?"
expect 2 info machine
complains "'machine'"

verdict
