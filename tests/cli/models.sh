#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum info` lists the policies; `thrum info --models` shows what was measured, and why a file was not used.
. "$THRUM_SOURCE/tests/cli/expect.bash"

expect 0 info
for policy in steal fifo prio random ws lws dmda dmdas heteroprio laheteroprio; do
    grep -Eq "^  $policy +[a-z]" "$folder/output" || trouble "the policy $policy is not listed"
done
expect 0 info --json
says '"policies": ['
says '"name": "dmdas"'
says '"name": "laheteroprio"'

export THRUM_MODELS=off
expect 0 info --models
says "kept in      no file"
says "Nothing has been measured yet"
expect 0 info --models --json
says '"file": null'
says '"models": []'

models=$folder/models
mkdir "$models"
export THRUM_MODELS=$models
expect 0 info --models
says "kept in      $models/"
file=$(sed -n 's/^kept in *//p' "$folder/output")

cat >"$file" <<'END'
thrum models 1
# a comment
gemm cpu 8f3a0011223344aa 6291456 412 3 10234567890 34567890
gemm emu 8f3a0011223344aa 6291456 40 0 2234567890 94567890
sparse%20axpy cpu 97 100000 0 0 0 0 12345678 12345698
end 3
END
expect 0 info --models
is_content
grep -Eq '^codelet +worker +footprint +bytes +samples +dropped +mean +deviation$' "$folder/output" || trouble "no heading"
grep -Eq '^gemm +cpu +8f3a0011223344aa +6.0 MiB +412 +3 +10.23 ms +0.3 %$' "$folder/output" || trouble "gemm's row is wrong"
grep -Eq '^sparse axpy +cpu +97 +97.7 KiB +2 +0 +12.35 us +0.0 %$' "$folder/output" || trouble "the row of a class is wrong"
expect 0 info --models --json
says '"codelet": "sparse axpy"'
says '"samples": 412'
says '"mean": 0.0102346'

echo "something else" >"$file"
expect 1 info --models
complains "'$file' is ignored: it does not begin with 'thrum models 1'"
expect 1 info --models --json
says '"problem": "'

export THRUM_MODELS=folder-without-a-slash
expect 1 info --models
complains "THRUM_MODELS is 'folder-without-a-slash', but it must be one of: auto, off, or a folder with a '/' in it"

verdict
