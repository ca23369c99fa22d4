#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# heteroprio and laheteroprio in real runs: laheteroprio moves at most half of the bytes on emulated devices in timing mode
# (scripts/compare-hetero has more sizes, and times), and settings that no task fits are refused.
. "$THRUM_SOURCE/tests/cli/expect.bash"
export THRUM_MODELS=off

dense=yes
[ -e "$build/libthrum-dense.so" ] || dense=no

bytes() { sed -n 's/^  "bytes": \([0-9]*\),*$/\1/p' "$folder/output"; }

# It is a third or less in both, whatever else the machine does.
moves_half() { # moves_half APP OPTION...
    local most
    expect 0 "$@" --mode timing --devices "cpu:4,emu:4;workers=2" --link 2GB/s --policy heteroprio --json
    most=$(($(bytes) / 2))
    expect 0 "$@" --mode timing --devices "cpu:4,emu:4;workers=2" --link 2GB/s --policy laheteroprio --json
    [ "$(bytes)" -gt 0 ] && [ "$(bytes)" -le $most ] || trouble "it moved $(bytes) bytes, and half of heteroprio's are $most"
}

moves_half life --n 384 --block 96 --steps 10
[ $dense = yes ] && moves_half cholesky --n 8192 --tile 256

# Only gemm has a kernel for devices; in life all tasks have one.
for policy in heteroprio laheteroprio; do
    if [ $dense = yes ]; then
        expect 1 cholesky --n 256 --tile 64 --devices cpu:1,emu:1 --policy "$policy;fastest.cholesky-potrf=emu"
        complains "'fastest.cholesky-potrf=emu', but codelet 'cholesky-potrf' of that bucket is not for emu"
    fi
    expect 0 life --n 32 --block 16 --steps 2 --devices cpu:1,emu:1 --policy "$policy;fastest.life-step=emu;lists=newest"
    expect 2 life --n 32 --block 16 --steps 2 --policy "$policy;lists=old"
    complains "'lists=old': what is taken first out of a list can be the oldest, the newest, or by priority"
done

verdict
