#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum graph` reads DOT, has the library check it, measures and draws it; each mistake is named with its place.
. "$THRUM_SOURCE/tests/cli/expect.bash"
cd "$folder" || exit 1

cat >bread.dot <<'DOT'
# how bread is made
digraph "bread" {
    rankdir = LR; node [shape=box, work=99]
    grain [label="grow \"rye\"", work=3.5];
    grain -> flour -> dough [style=bold];   // a chain
    /* two at
       once */
    dough -> {loaf rolls};
    subgraph cluster_oven { label="oven"; loaf -> eat; rolls:n -> eat }
    salt -> dough
}
DOT
expect 0 graph check bread.dot
is_content
says "bread.dot: good: 7 tasks, 7 edges, 2 sources, 1 sinks"

expect 0 graph stats bread.dot
is_content
grep -Eq '^work +9\.5 ' output || trouble "work is not 9.5"
grep -Eq '^span +7\.5 ' output || trouble "span is not 7.5"
grep -Eq '^longest path 5 ' output || trouble "the longest path has not 5 tasks"
grep -Eq '^parallelism +1\.267 ' output || trouble "parallelism is not 1.267"

expect 0 graph stats --json - <bread.dot
says '"graph":"bread","tasks":7,"edges":7,"sources":2,"sinks":1,"span_tasks":5,"work":9.5,"span":7.5,"parallelism":1.26666'

# What is read but easily forgotten.
reads() { # reads TASKS EDGES DOT
    printf '%s' "$3" >case.dot
    expect 0 graph check case.dot
    says "good: $1 tasks, $2 edges"
}
reads 0 0 'digraph {}'
reads 1 0 'strict digraph g {;;a;;}'
reads 4 4 'digraph { {a b} -> {c, d} }'
reads 4 2 'digraph { "a -> b" -> "c" "d" + "e" -> -1.5 }'
reads 2 1 'digraph { <<b>x</b>> -> b:port:sw [label="e"; weight=2] }'
reads 3 2 'DIGRAPH { a -> subgraph { b c [work=.5] } }'
reads 2 2 'digraph { a -> b; a -> b }'
reads 2 1 'digraph { é -> ü }'

# Edges into the next iteration make no circle; what stands in a set has attributes of its own.
reads 2 1 'digraph { a -> b; b -> a [style=dashed, label="next"] }'
reads 3 1 'digraph { {a -> b} -> c [label=next]; c -> {a b} [label="next"] }'
reads 1 0 'digraph { a [label=next] }'
printf 'digraph { is [shape=diamond]; is -> a [label=next] }' >across.dot
expect 1 graph check across.dot
complains "across.dot:1: "
complains "iteration distance across a condition: 'is'"

# What the library says about graphs that cannot run.
printf 'digraph { start -> mill; mill [label="old mill"]; mill -> bake -> mill }' >cycle.dot
expect 1 graph check cycle.dot
is_silent
complains "cycle.dot: "
complains "old mill"
complains "bake"
expect 1 graph stats cycle.dot
complains "old mill"
printf 'digraph { hen -> egg; egg -> hen }' >nosource.dot
expect 1 graph check nosource.dot
complains "nosource.dot: "
printf 'digraph {\n a;\n self -> self }' >self.dot
expect 1 graph check self.dot
complains "self.dot:3: "
complains "self"

# Edges into the next iteration hold between iterations, not in one.
printf 'digraph { a -> b -> c; c -> a [label=next]; a -> a [label="next"]; }' >next.dot
expect 0 graph check next.dot
says "next.dot: good: 3 tasks, 2 edges, 1 sources, 1 sinks"

# Conditions: loops through them are none of the circles that are reported.
printf 'digraph { init -> body -> more; more -> body [style=dashed]; more -> more; more -> done; more [shape=diamond] }' >loop.dot
expect 0 graph check loop.dot
says "loop.dot: good: 4 tasks, 5 edges, 1 sources, 1 sinks"
expect 0 graph stats loop.dot
grep -Eq '^longest path 3 ' output || trouble "weak edges were followed"
expect 0 graph draw loop.dot
is_content
[ -s loop.svg ] || trouble "a loop is not drawn"
printf 'digraph { body -> more -> body; more [shape=diamond] }' >nostart.dot
expect 1 graph check nostart.dot
complains "no task that could start"
printf 'digraph { start -> a -> b -> a; b -> more; more [shape=diamond] }' >both.dot
expect 1 graph check both.dot
complains "'a' -> 'b' -> 'a'"

# Mistakes in the text.
wrong() { # wrong DOT MESSAGE
    printf '%b' "$1" >wrong.dot
    expect 1 graph check wrong.dot
    is_silent
    complains "wrong.dot:$2"
}
wrong '' "1: the text ends where 'digraph' should follow"
wrong 'hello' "1: 'hello' stands where 'digraph' should follow"
wrong 'graph { a -- b }' "1: a 'graph' has no directions"
wrong 'digraph {\n a -- b }' "2: '--' has no direction"
wrong 'digraph {\n a -> }' "2: '}' stands where a node"
wrong 'digraph {\n a -> b\n' "3: the text ends but the '{' of line 1 has no '}'"
wrong 'digraph {\n { a\n' "2: the '{' of this line has no '}'"
wrong 'digraph {\n a [label="x }' "2: the text that begins here has no end"
wrong 'digraph {\n\n /* }' "3: the comment that begins here has no end"
wrong 'digraph {\n a [work=heavy] }' "2: the work of 'a' is 'heavy'"
wrong 'digraph {\n a [work=-1] }' "2: the work of 'a' is '-1'"
wrong 'digraph { a ] }' "1: ']' stands where"
wrong 'digraph { a @ b }' "1: '@' is not part"
wrong 'digraph { a } b' "1: 'b' stands where the end of the file"
wrong "digraph $(printf '{%.0s' {1..5000})" "1: subgraphs are nested more than"

# Pictures.
expect 0 graph draw bread.dot
says "bread.svg written"
grep -q '<svg' bread.svg || trouble "bread.svg is no SVG"
grep -q 'rye' bread.svg || trouble "bread.svg lacks a label"
expect 0 graph draw -o other.svg bread.dot
cmp -s bread.svg other.svg || trouble "-o draws something else"
expect 0 graph draw --out=- - <bread.dot
says "<svg"
expect 1 graph draw cycle.dot
complains "old mill"
[ -s cycle.svg ] || trouble "a graph with a circle is not drawn"
expect 1 graph draw bread.dot -o nowhere/bread.svg
complains "cannot write nowhere/bread.svg"
mkdir empty
PATH=$folder/empty expect 1 graph draw bread.dot
complains "install the package graphviz"
(for i in {1..3000}; do echo "t$i [label=\"task number $i\"];"; done) >many.txt
(echo 'digraph {' && cat many.txt && echo '}') >many.dot
expect 0 graph check many.dot
says "3000 tasks"

# Wrong use.
expect 1 graph check missing.dot
complains "cannot read missing.dot"
expect 1 graph check .
complains "cannot read ."
expect 2 graph
complains "check, stats or draw"
expect 2 graph chek bread.dot
complains "did you mean 'check'?"
expect 2 graph check
complains "needs a FILE"
expect 2 graph check bread.dot cycle.dot
complains "'cycle.dot' is one argument too many"
expect 2 graph check --json bread.dot
complains "'--json' belongs to 'stats'"
expect 2 graph stats -o x bread.dot
complains "'--out' belongs to 'draw'"
expect 2 graph draw bread.dot -o
complains "'--out' needs a value"
expect 2 graph draw bread.dot --colour
complains "unknown option '--colour'"

verdict
