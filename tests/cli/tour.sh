#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum tour` runs everything and writes one page that needs nothing beside itself.
. "$THRUM_SOURCE/tests/cli/expect.bash"
cd "$folder" || exit 1

expect 0 tour --out pages/tour.html
is_content
says "] The machine"
says "] Observers"
says "pages/tour.html written"
page=pages/tour.html
has() { grep -qF -e "$1" "$page" || trouble "the page lacks: $1"; }
for id in machine diamond wavefront fib runs loop loops data errors observers; do
    has "<section id=\"$id\">"
done
has '<title>diagonal 22'
has 'preserveAspectRatio="none"'
has '<title>diamond</title>'
has '832040'
has '<title>search</title>'
has "FAC2: batches of chunks"
has "wasted time"
has '<title>cholesky</title>'
has '>gemm 3 2<'
has '<title>potrf, 2'
has '<code>dmdas</code>, 220 tasks'
has 'to emu 1'
grep -q '<strong>[1-9][0-9]*</strong><span>tiles thrown out' $page || trouble "nothing was thrown out of devices"
has 'stroke-dasharray'
has 'THRUM_ECYCLE'
grep -q '<blockquote>.*miller' $page || trouble "the page does not name the tasks of the circle"
has 'cell 17 is not a number'
has 'prefers-color-scheme:dark'
has '</html>'
for foreign in '<script' '<link' '<img' '<iframe' 'src=' '@import' 'url('; do
    ! grep -qF -e "$foreign" "$page" || trouble "the page brings in something with $foreign"
done
[ "$(grep -c '<section' $page)" = "$(grep -c '</section' $page)" ] || trouble "sections are not closed"

expect 0 tour
says "out/tour.html written"
[ -s out/tour.html ] || trouble "no page at the default place"

# Without Graphviz the graph is shown as text.
mkdir empty
PATH=$folder/empty expect 0 tour -o plain.html
grep -q 'digraph' plain.html || trouble "the graph is not shown as text"
grep -q 'graphviz' plain.html || trouble "the page does not name the package"

# Wrong use.
expect 2 tour --ouput x
complains "did you mean '--out'?"
expect 2 tour everything
complains "'everything'"
expect 1 tour --out "$folder/plain.html/x"
complains "cannot write"
export THRUM_WORKERS=many
expect 1 tour --out never.html
complains "THRUM_WORKERS"
[ ! -e never.html ] || trouble "a tour that failed left a page"

verdict
