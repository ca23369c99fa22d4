#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command explains itself, and names the word that was wrong.
. "$THRUM_SOURCE/tests/cli/expect.bash"

expect 0 --version
version=$(sed -n 's/^#define THRUM_VERSION_[A-Z]* //p' "$source_tree/include/thrum/version.h" | paste -sd.)
[ "$(cat "$folder/output")" = "thrum $version" ] || trouble "not 'thrum $version'"

for word in help --help -h; do
    expect 0 $word
    is_content
    for verb in info graph trace loop-sim cholesky qr life kmeans bench tour; do
        says "  $verb "
    done
done

for verb in info graph trace loop-sim cholesky qr life kmeans bench tour; do
    expect 0 $verb --help
    is_content
    grep -qi "^usage: thrum $verb" "$folder/output" || trouble "does not begin with how it is used"
    cp "$folder/output" "$folder/help"
    expect 0 help $verb
    cmp -s "$folder/help" "$folder/output" || trouble "'help $verb' and '$verb --help' differ"
done

expect 2
is_silent
complains "usage: thrum VERB"

expect 2 grpah
is_silent
complains "unknown verb 'grpah'; did you mean 'graph'?"
complains "info, graph, trace, loop-sim, sim, cholesky, qr, life, kmeans, bench, tour"

expect 2 zzzzzzzz
complains "unknown verb 'zzzzzzzz'"
complains "info, graph, trace, loop-sim, sim, cholesky, qr, life, kmeans, bench, tour"
! grep -q 'did you mean' "$folder/errors" || trouble "suggests a word for one that is like none"

expect 2 --verison
complains "unknown option '--verison'"
expect 2 help inof
complains "unknown verb 'inof'; did you mean 'info'?"

# A full disk is not passed over.
last='--help >/dev/full'
if "$thrum" --help >/dev/full 2>"$folder/errors"; then trouble "success though nothing could be written"; fi
complains "cannot write to standard output"

verdict
