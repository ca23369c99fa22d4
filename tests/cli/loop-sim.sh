#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum loop-sim` simulates loops, says what was wrong with its arguments, and repeats the experiments of the paper.
. "$THRUM_SOURCE/tests/cli/expect.bash"

# All the arguments that are needed but one technique.
loop="--n 2^10 --p 4 --dist exp:1 --h 0.5 --runs 50"

expect 0 loop-sim --technique FAC2 $loop --seed 7
is_content
says "FAC2, n = 1024, p = 4, times exp:1, h = 0.5; model hagerup, engine native, 50 runs, seed 7"
says "wasted time "
says "makespan "

# The same numbers with any number of workers, and other ones with another seed.
expect 0 loop-sim --technique BOLD $loop --json
cp "$folder/output" "$folder/first"
for key in technique n p h dist model engine runs seed mean stderr sd min max chunks makespan; do
    says "\"$key\": "
done
for workers in 0 1 3; do
    export THRUM_WORKERS=$workers
    expect 0 loop-sim --technique bold $loop --json
    cmp -s "$folder/first" "$folder/output" || trouble "$workers workers give other numbers"
    unset THRUM_WORKERS
done
expect 0 loop-sim --technique BOLD $loop --json --seed 2
! cmp -s "$folder/first" "$folder/output" || trouble "another seed gives the same numbers"

# Several techniques and both models.
expect 0 loop-sim --technique all $loop --model both --csv "$folder/all.csv"
[ "$(wc -l <"$folder/output")" = 49 ] || trouble "not 49 lines"
[ "$(wc -l <"$folder/all.csv")" = 49 ] || trouble "not 49 lines of CSV"
grep -q '^AWF-C,1024,4,0.5,"exp:1",msg,native,50,1,' "$folder/all.csv" || trouble "AWF-C is not in the CSV"
expect 0 loop-sim --technique SS,GSS $loop --json
says '['
expect 0 loop-sim --technique SS,GSS $loop --csv -
[ "$(wc -l <"$folder/output")" = 3 ] || trouble "not 3 lines"
expect 0 loop-sim --technique FSC,SS --n 100 --p 1 --dist exp:1 --h 1 --runs 2
says "SS "
complains "FSC divides by the logarithm of the number of workers"

# Numbers in all forms, distributions, speeds.
for n in 1000 1e3 10^3; do
    expect 0 loop-sim --technique STAT --n $n --p 4 --dist const:1 --runs 1
    says "n = 1000, p = 4"
    says "makespan      250"
done
for dist in const:1 uniform:0,2 exp:1 twopoint:0.1 normal:3,1 gamma:2,0.5; do
    expect 0 loop-sim --technique TAP --n 100 --p 3 --dist $dist --runs 3
done
printf '1\n2\n3\n' >"$folder/times"
expect 0 loop-sim --technique STAT --n 6 --p 2 --dist "file:$folder/times" --runs 1
says "makespan      6"
expect 0 loop-sim --technique SS --n 3 --p 8 --dist const:1 --runs 1
says "chunks        3"
complains "5 of the 8 workers get nothing to do"
expect 0 loop-sim --technique STAT --n 8 --p 4 --dist const:1 --runs 1 --speeds 3x1,1x0.5 --slow 0:1:3:0.5,1:0:inf:0.1
says "makespan      20"
expect 0 loop-sim --technique WF --n 8 --p 2 --dist const:1 --runs 1 --weights 0.5,1.5 --least 4
says "chunks        2"
expect 0 loop-sim --technique TSS --n 8 --p 2 --dist twopoint:0.1 --h 2 --model msg --nearest --runs 20000
says "wasted time   7.2"

# The other engine says the same, where it is.
if "$thrum" info | grep -q "^SimGrid *yes"; then
    expect 0 loop-sim --technique GSS --n 100 --p 4 --dist exp:1 --h 0.5 --runs 4
    wasted=$(grep "^wasted" "$folder/output")
    expect 0 loop-sim --technique GSS --n 100 --p 4 --dist exp:1 --h 0.5 --runs 4 --engine simgrid
    says "engine simgrid"
    says "$wasted"
else
    expect 1 loop-sim --technique GSS --n 100 --p 4 --dist exp:1 --runs 4 --engine simgrid
    complains "SimGrid"
fi

# Wrong use.
expect 2 loop-sim
complains "--technique is missing"
expect 2 loop-sim --technique SS --n 10 --p 2
complains "--dist is missing"
expect 2 loop-sim --technique FAC9 $loop
complains "'FAC9' is no schedule of loops"
complains "AWF-C"
expect 2 loop-sim --technique AUTO $loop
complains "cannot be simulated"
expect 1 loop-sim --technique SS --n 10 --p 2 --dist pareto:1
complains "'pareto:1' is no distribution of times"
expect 1 loop-sim --technique SS --n 10 --p 2 --dist exp:0
complains "the mean is more than 0"
for n in 2^63 1e19 9223372036854775808; do
    expect 2 loop-sim --technique SS --n $n --p 2 --dist exp:1
    complains "beyond 2^63 - 1"
done
for n in -1 1.5 x 2^ ^3 nan 10x; do
    expect 2 loop-sim --technique SS --n $n --p 2 --dist exp:1
    complains "--n is '$n'; it must be a whole number"
done
expect 2 loop-sim --technique SS --n 0 --p 2 --dist exp:1
complains "--n is 0; a loop without iterations has nothing to simulate."
expect 2 loop-sim --technique SS --n 10 --p 0 --dist exp:1
complains "--p is '0'"
expect 1 loop-sim --technique SS --n 10 --p 2 --dist "file:$folder/none"
complains "the file of times '$folder/none' cannot be opened"
: >"$folder/empty"
expect 1 loop-sim --technique SS --n 10 --p 2 --dist "file:$folder/empty"
complains "$folder/empty: it is empty"
printf '1\n2\nx\n' >"$folder/wrong"
expect 1 loop-sim --technique SS --n 10 --p 2 --dist "file:$folder/wrong"
complains "$folder/wrong:3: 'x' is no number"
expect 1 loop-sim --technique FAC --n 10 --p 2 --dist exp:1 --mean nan
complains "mean time of an iteration for FAC is nan"
expect 1 loop-sim --technique FAC --n 10 --p 2 --dist exp:1 --mean -1
complains "-1"
expect 2 loop-sim --technique FAC --n 10 --p 2 --dist exp:1 --sigma 0
complains "--sigma is 0"
expect 1 loop-sim --technique FSC --n 10 --p 2 --dist const:1 --h 1
complains "deviation"
expect 1 loop-sim --technique BOLD --n 10 --p 2 --dist exp:1
complains "BOLD needs the cost"
expect 1 loop-sim --technique WF --n 10 --p 2 --dist exp:1 --weights 1,2
complains "sum up to"
expect 2 loop-sim --technique WF --n 10 --p 2 --dist exp:1 --weights 1,2,3
complains "more numbers than there are workers"
expect 2 loop-sim --technique WF --n 10 --p 2 --dist exp:1 --speeds 1,a
complains "--speeds is '1,a'"
expect 2 loop-sim --technique WF --n 10 --p 2 --dist exp:1 --slow 1:2:3
complains "W:FROM:TO:FACTOR"
expect 1 loop-sim --technique WF --n 10 --p 2 --dist exp:1 --slow 2:2:3:1
complains "worker 2 is to be perturbed"
expect 2 loop-sim --technique SS $loop --model hagrup
complains "there is no model 'hagrup'"
expect 2 loop-sim --technique SS $loop --engine simgird
complains "there is no engine 'simgird'"
expect 2 loop-sim --technique SS $loop --runs 0
complains "--runs is 0"
expect 2 loop-sim --paper set-x
complains "there is no experiment 'set-x'"
expect 2 loop-sim --paper set-a --p 3
complains "does not go with --paper"
expect 2 loop-sim --paper table-vi --technique SS
complains "table VI is of GSS and TSS"

# The paper, with few runs.
expect 0 loop-sim --paper table-vi --runs 500 --out "$folder/paper"
[ "$(wc -l <"$folder/output")" = 21 ] || trouble "not 21 lines"
[ "$(wc -l <"$folder/paper/table-vi.csv")" = 21 ] || trouble "not 21 lines of CSV"
rows_of() {
    case $1 in a) echo 160 ;; b | d) echo 80 ;; c) echo 100 ;; e) echo 60 ;; f) echo 75 ;; esac
}
for set in a b c d e f; do
    expect 0 loop-sim --paper set-$set --runs 1 --out "$folder/paper"
    [ "$(wc -l <"$folder/paper/set-$set.csv")" = $(($(rows_of $set) + 1)) ] || trouble "set-$set has not $(rows_of $set) rows"
    grep -q "set multiplot" "$folder/paper/set-$set-hagerup.gp" || trouble "no script for gnuplot"
    if command -v gnuplot >/dev/null; then
        grep -q "</svg>" "$folder/paper/set-$set-hagerup.svg" || trouble "no picture of set-$set"
    fi
done
expect 0 loop-sim --paper set-c --runs 1 --technique TAP,AF --model both --out "$folder/paper"
[ "$(wc -l <"$folder/paper/set-c.csv")" = 101 ] || trouble "not 100 rows"

verdict
