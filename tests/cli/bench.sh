#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum bench`: what it lists, what it refuses, and that loops are run, verified and reported.
. "$THRUM_SOURCE/tests/cli/expect.bash"
cd "$folder" || exit 1

expect 0 bench --list
is_content
for row in 'create +base' 'condition +control' 'iterate +control' 'sort +control' 'sort-compare +control' 'reduce +control' \
    'scan +control' 'pipeline +control' 'corun-1 +control' 'corun-4 +control' 'loop-stat +loops' 'loop-gss +loops' \
    'loop-ss +loops' 'ramp-up-fac2 +loops' 'ramp-one-awf-c +loops' 'auto-uniform +loops' 'auto-change +loops' \
    'insert-1 +data' 'insert-8 +data' 'cholesky-256 +data' 'cholesky-32 +data' 'replay +data' \
    'redux-dot +data' 'redux-histogram +data' 'commute-histogram +data' 'rw-histogram +data' \
    'policy-fifo +data' 'policy-laheteroprio +data'; do
    grep -qE "^$row " output || trouble "no row of the list is like: $row"
done

expect 2 bench scam
complains "no work 'scam'; did you mean 'scan'"

# The runners are not built where sanitizers are on.
if [ -x "$build/bench/bench-thrum" ]; then
    works=(loop-stat loop-gss loop-ss loop-fork ramp-up-fac2 ramp-down-awf-c ramp-random-af ramp-one-auto auto-memory)
    expect 0 bench "${works[@]}" --quick --passes 1 --workers 2 --json --out samples
    for work in "${works[@]}"; do
        grep -qE "^\{\"work\":\"$work\",\"workers\":2,.*\"thrum\":[0-9.]+," output || trouble "there is no number for $work"
    done
    says '"limit_of":"ratio","peer_limits":{"oneTBB":0.5,"libgomp":0.5,"libomp":0.125}'
    says '"unit":"of-bound"'
    # Peers are optional: what is here must have worked, or the exit code were not 0.
    expect 0 bench insert-3 cholesky-128 rw-histogram policy --quick --passes 1 --workers 2 --json --out samples
    says '"work":"insert-3","workers":2,"unit":"ns"'
    says '"peer_limits":{"libgomp":1.0,"StarPU":0.15,"StarPU-dmda":0.15}'
    grep -qE '"work":"rw-histogram","workers":2,.*"thrum":[0-9.]+,.*"sequential":[0-9.]+' output ||
        trouble "there are no numbers of rw-histogram"
    grep -qE '"gflops":\{.*"sequential":[0-9.]+[,}]' output || trouble "there is no rate of sequential code"
    grep -q '"loop-gss"' samples/*.json || trouble "the samples are not kept"
    [ "$(find samples -name '*.json' | wc -l)" -eq 2 ] || trouble "two runs have not left two files"
fi

verdict
