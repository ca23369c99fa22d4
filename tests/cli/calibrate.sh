#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum sim --calibrate` describes this machine, here that of emulated devices in timing mode. What it is to find is known: the speeds and
# the link of the machine `timing`, and besides, what tasks and copies take here, as runs show it.
. "$THRUM_SOURCE/tests/cli/expect.bash"

expect 2 sim --calibrate "$folder/this.machine" --tile 7
complains "--tile '7': to calibrate, a tile is from 16 to 512"

seconds_of() { "$thrum" "$@" --json --no-check --repeat 5 2>>"$folder/errors" | sed -n 's/^  "seconds": \([0-9.e-]*\).*/\1/p'; }
makespan_of() { "$thrum" sim "$@" --json 2>>"$folder/errors" | sed -n 's/^  "makespan": \([0-9.e-]*\).*/\1/p'; }
core="heteroprio;fastest.cholesky-gemm=cpu;factor.cholesky-gemm=1000000" # nothing for the device

# on_device MACHINE TILES TILE, on_core: a factorization as it is simulated; and as it is
on_device() { makespan_of --machine "$1" --set "cores count=0" --app cholesky --n $(($2 * $3)) --tile "$3" --policy prio --on-device all; }
on_core() { makespan_of --machine "$1" --set "cores count=1" --app cholesky --n $(($2 * $3)) --tile "$3" --policy "$core" --on-device gemm; }
really_on_device() { seconds_of cholesky --n $(($1 * $2)) --tile "$2" --devices cpu:1,emu:1 --mode timing --policy prio --on-device all --device-only; }
really_on_core() { seconds_of cholesky --n $(($1 * $2)) --tile "$2" --devices cpu:1,emu:1 --mode timing --policy "$core"; }

ratio_within() { awk "BEGIN { exit !($1 > 0 && $2 > 0 && $1 / $2 < $3 && $2 / $1 < $3) }"; } # ratio_within PREDICTED MEASURED FACTOR
tiles_of_64() { # what kernels take is most of it
    ratio_within "$(on_device "$1" 16 64)" "$(really_on_device 16 64)" 1.25 && ratio_within "$(on_core "$1" 16 64)" "$(really_on_core 16 64)" 1.25
}
copies() { # of blocks and their halos; on a device, all go over the link
    ratio_within "$(makespan_of --machine "$1" --set "cores count=0" --app life --n 64 --tile 16 --steps 10 --policy prio --on-device all)" \
        "$(seconds_of life --n 64 --block 16 --steps 10 --devices cpu:1,emu:1 --mode timing --policy prio --device-only)" 1.25
}
besides() { # what is left of a run with tiny tiles if kernels took no time but what `timing` says; there caches count, too
    awk "BEGIN { exit !($1 > $3 && $2 > $3) }" && ratio_within "($1 - $3)" "($2 - $3)" 3
}
overheads() {
    besides "$(on_device "$1" 16 16)" "$(really_on_device 16 16)" "$(on_device timing 16 16)" &&
        besides "$(on_core "$1" 16 16)" "$(really_on_core 16 16)" "$(on_core timing 16 16)"
}
# Processor time, in hundredths of a second: of all, and of this script with what it has run.
busy() { awk '/^cpu /{print $2 + $3 + $4 + $7 + $8 + $9}' /proc/stat; }
own() { awk '{print $14 + $15 + $16 + $17}' /proc/$$/stat; }
foreign() { echo $(($(busy) - $(own))); }

# Whoever else works on this computer disturbs what is measured. So each of these may try again, with a new description, and has failed if it
# has four times while others had less than a twentieth of a core. If that never comes, it is not known.
judge() { # judge NAME ...
    local pending="$*" still name try before begun quiet
    local -A failed=()
    for try in 1 2 3 4 5 6; do
        before=$(foreign) begun=${EPOCHREALTIME/[.,]/}
        expect 0 sim --calibrate "$folder/this.machine" --timing --quick
        still=
        for name in $pending; do
            "$name" "$folder/this.machine" || still+=" $name"
        done
        quiet=$((($(foreign) - before) * 10000 * 20 < ${EPOCHREALTIME/[.,]/} - begun))
        pending=$still
        for name in $pending; do
            failed[$name]=$((${failed[$name]:-0} + quiet))
            [ "${failed[$name]}" -lt 4 ] && continue
            last="sim --machine this.machine ($name)"
            trouble "that is not near what a run takes: $(grep -E '^(device|overhead|insert)' "$folder/this.machine")"
            return
        done
        [ -n "$pending" ] || return
    done
    echo "$try tries, too many of them disturbed by others: not known of $pending"
}

if [ -e "$build/libthrum-dense.so" ]; then
    expect 0 sim --calibrate "$folder/this.machine" --timing --quick
    is_content
    plain="overhead cpu=0s access.cpu=0s copy.cpu=0s crowd.cpu=0 emu=0s access.emu=0s copy.emu=0s crowd.emu=0; insert task=0s access=0s; device emu latency=5us"
    for app in "cholesky --n 1000 --tile 100" "qr --n 1000 --tile 100" "life --n 64 --tile 16" "kmeans --n 10000 --tile 1000"; do
        expect 0 sim --machine timing --app $app --policy dmda --json
        grep -E '"(makespan|busy|bytes)"' "$folder/output" >"$folder/first"
        expect 0 sim --machine "$folder/this.machine" --set "$plain" --app $app --policy dmda --json
        grep -E '"(makespan|busy|bytes)"' "$folder/output" | cmp -s "$folder/first" - || trouble "speeds and the link are not those of the machine 'timing'"
    done
    judge tiles_of_64 copies overheads
    expect 1 sim --calibrate /no/such/folder/this.machine --timing --quick
    complains "'/no/such/folder/this.machine' cannot be written"
fi
verdict
