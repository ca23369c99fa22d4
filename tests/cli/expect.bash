# SPDX-License-Identifier: MIT
# What the scripts about the command share. A script sources this first; it ends with the last line's verdict.
#
#     expect CODE ARGUMENT...   runs the command; its exit code must be CODE
#     says TEXT                 its standard output must hold TEXT
#     complains TEXT            its standard error must hold TEXT
#     is_silent                 it must have printed nothing to standard output
#     is_content                it must have printed nothing to standard error
set -u

# Every variable that begins with THRUM_ is an option to the command, so none may be left over from the caller.
build=$THRUM_BUILD source_tree=$THRUM_SOURCE
for variable in ${!THRUM_@}; do
    unset "$variable"
done
unset SLURM_CPUS_PER_TASK variable

thrum=$build/thrum
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder/cache # where measured times are kept
failures=0 last=

trouble() {
    failures=$((failures + 1))
    printf 'FAILED: thrum %s\n    %s\n' "$last" "$1"
    printf '    standard output:\n%s\n    standard error:\n%s\n' "$(head -c 4000 "$folder/output")" "$(head -c 4000 "$folder/errors")"
}

expect() {
    local wanted=$1 code=0
    shift
    last=$*
    "$thrum" "$@" >"$folder/output" 2>"$folder/errors" || code=$?
    [ "$code" = "$wanted" ] || trouble "exit code $code, not $wanted"
}

says() { grep -qF -e "$1" "$folder/output" || trouble "standard output lacks: $1"; }
complains() { grep -qF -e "$1" "$folder/errors" || trouble "standard error lacks: $1"; }
is_silent() { [ ! -s "$folder/output" ] || trouble "standard output is not empty"; }
is_content() { [ ! -s "$folder/errors" ] || trouble "standard error is not empty"; }

# The last line of every script.
verdict() {
    [ "$failures" = 0 ] && exit 0
    printf '%d failed\n' "$failures"
    exit 1
}
