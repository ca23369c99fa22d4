#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The applications compute the right thing under every policy, without devices and with devices whose memories are too small.
. "$THRUM_SOURCE/tests/cli/expect.bash"
export THRUM_MODELS=$folder/models # times that are measured here concern nobody else

dense=yes
[ -e "$build/libthrum-dense.so" ] || dense=no
"$thrum" info >"$folder/info"
policies=$(sed -n '/^  policy /,/^$/s/^  \([a-z]*\) .*/\1/p' "$folder/info" | grep -vx policy)
[ "$(wc -w <<<"$policies")" -ge 8 ] || trouble "thrum info lists too few policies: $policies"

number() { sed -n "s/^  \"$1\": \([0-9]*\),*$/\1/p" "$folder/output"; } # of the JSON object itself
is_right() { grep -q "^check *ok: " "$folder/output" || trouble "the check does not say ok"; }
# The error says which device failed, and when.
complains_of_device() { # complains_of_device KERNEL
    grep -q "^thrum $app: .*emu [0-9] has failed, at its kernel number $1, as its setting fail says" "$folder/errors" ||
        trouble "the error does not say which device has failed"
}
is_right_or_complains_of_device() { # is_right_or_complains_of_device KERNEL ARGUMENT...
    local kernel=$1 code=0
    shift
    last=$*
    "$thrum" "$@" >"$folder/output" 2>"$folder/errors" || code=$?
    case $code in
    0) is_right ;;
    1) complains_of_device "$kernel" ;;
    *) trouble "exit code $code, not 0 or 1" ;;
    esac
}

# What each application is given, and a memory that holds the data of one task but not much more.
small_cholesky="--n 150 --tile 32" memory_cholesky=40KB
small_qr="--n 90 --tile 20 --inner 6" memory_qr=20KB
small_life="--n 22 --block 8 --steps 4" memory_life=8KB
small_kmeans="--points 2000 --block 250 --clusters 5 --turns 20" memory_kmeans=20KB

# The same work for the application and for the simulator, which makes workloads without running it (apps/workloads.c).
real_cholesky="--n 150 --tile 50" planned_cholesky="--n 150 --tile 50"
real_qr="--n 90 --tile 30" planned_qr="--n 90 --tile 30"
real_life="--n 22 --block 8 --steps 3" planned_life="--n 22 --tile 8 --steps 3"
real_kmeans="--points 2000 --block 250 --turns 2 --tolerance 0" planned_kmeans="--n 2000 --tile 250 --steps 2"

apps="life kmeans"
[ $dense = yes ] && apps="cholesky qr life kmeans"
for app in $apps; do
    small=small_$app memory=memory_$app
    expect 0 $app ${!small}
    is_content
    is_right
    for policy in $policies; do
        expect 0 $app ${!small} --policy $policy --devices cpu:2
        is_right
        [ $policy = steal ] && continue
        expect 0 $app ${!small} --policy $policy --devices cpu:2,emu:3 --memory ${!memory} --seed 2
        is_right
        expect 0 $app ${!small} --policy $policy --devices cpu:2,emu:3 --memory ${!memory} --device-only
        is_right
        grep -q ", [1-9][0-9]* evictions" "$folder/output" || trouble "nothing was evicted"
    done
    expect 0 $app ${!small} --devices cpu:1,emu:2 --link 1GB/s --latency 1us --repeat 3 --window 16
    is_right
    says "median of 3"
    expect 0 $app ${!small} --devices cpu:1,emu:1 --json
    is_content
    for key in app policy devices mode seed seconds samples home_seconds bytes tasks workers links nodes check residual limit; do
        says "\"$key\": "
    done
    says '"check": "ok"'
    case $app in
    life) says '"cells_per_second": ' ;;
    kmeans) says '"points_per_second": ' ;;
    *) says '"gflops": ' ;;
    esac
    for devices in cpu cpu:2,emu:2; do # every task ran once
        expect 0 $app ${!small} --devices $devices --json
        [ $app = kmeans ] || [ "$(number tasks)" = "$(number tasks_inserted)" ] || trouble "not as many tasks as were inserted"
    done
    expect 0 $app ${!small} --policy prio --workload "$folder/$app.workload"
    is_right
    [ "$(head -n 1 "$folder/$app.workload")" = "thrum-workload 1" ] || trouble "no workload was written"
    grep -q "^task $app-.* work=.* seconds.cpu=" "$folder/$app.workload" || trouble "no task was measured"
    real=real_$app planned=planned_$app # the same codelets, data and tasks, but for the times that were measured
    expect 0 $app ${!real} --policy prio --workload "$folder/real.workload"
    expect 0 sim --app $app ${!planned} --machine k40 --set "speed * cpu=1e9 gpu=1e9" --write-workload "$folder/planned.workload"
    sed 's/ seconds\.[a-z]*=[^ ]*//g' "$folder/real.workload" >"$folder/real-tasks"
    cmp -s "$folder/real-tasks" "$folder/planned.workload" ||
        trouble "its tasks are not those that are simulated: $(diff "$folder/real-tasks" "$folder/planned.workload" | head -n 6)"
    expect 0 $app ${!small} --no-check
    says "check      none"
    expect 0 $app ${!small} --devices "cpu:2,emu:2;link=1GB/s" --mode timing --json
    says '"mode": "timing"'
    says '"check": "none"'
    expect 0 $app ${!small} --trace "$folder/$app.json"
    is_right
    expect 0 trace summary "$folder/$app.json"
    expect 0 $app ${!small} --trace "$folder/$app.json" --devices cpu:2,emu:3
    expect 0 trace summary "$folder/$app.json"
    says " on 5 workers" # those of devices are workers, no helpers

    # Wrong use.
    for wrong in "--n x" "--tile 0" "--block 0" "--repeat 0" "--mode slow" "--policy nobody" "--devices gpu:1" "--link 1GB/s" \
        "--devices cpu,emu:1 --memory lots" "--check --no-check" "--device-only" "word" "--polcy fifo"; do
        expect 2 $app $wrong
        is_silent
        complains "thrum $app: "
        complains "Try 'thrum $app --help'."
    done
    expect 2 $app --policy nobody
    complains "nobody"
    expect 2 $app --memory 1MiB
    complains "--memory is for devices, and there are none"

    # A task's data that fits nowhere is an error, and says so.
    expect 1 $app ${!small} --workload "$folder/no/such/file"
    complains "cannot be written: No such file"
    expect 1 $app ${!small} --devices emu:1 --memory 64B
    complains "thrum $app: "
    # So is a device that breaks, at its first kernel and in mid-run.
    expect 1 $app ${!small} --devices "cpu:1,emu:1;fail=1" --policy random --repeat 20
    complains_of_device 1
    expect 1 $app ${!small} --devices "cpu:1,emu:2;fail=9" --memory ${!memory} --device-only --repeat 5
    complains_of_device 9
    for policy in $policies; do
        [ $policy = steal ] || is_right_or_complains_of_device 9 $app ${!small} --devices "cpu:1,emu:2;fail=9" --policy $policy
    done
    expect 0 $app ${!small} --policy "$build/tests/plugins/plugin_good.so" --devices cpu:1,emu:2 # of a user's own
    is_right
done

# Kernels alone, for calibration.
for app in $apps; do
    case $app in
    cholesky) tile=--tile ;;
    life) tile=--block ;;
    *) continue ;;
    esac
    expect 0 $app --kernels quick $tile 8
    grep -q '"extents": \[8, 8, 8\], "work": ' "$folder/output" || trouble "$app --kernels does not tell of its tile"
    [ $app = life ] && expect 0 $app --kernels all $tile 1
    expect 2 $app --kernels some
    complains "all"
done
if [ $dense = yes ]; then
    expect 0 cholesky --n 200 --tile 40 --on-device all --devices emu:2 --memory 60KB --json
    says '"check": "ok"'
    grep -q '"evictions": [1-9]' "$folder/output" || trouble "nothing was evicted"
    expect 0 cholesky --n 7 --tile 3
    is_right
    expect 0 cholesky --n 5 --tile 64
    is_right
    expect 0 qr --n 7 --tile 3
    is_right
    expect 2 qr --tile 16 --inner 17
    complains "--inner is more than --tile"
    expect 2 cholesky --on-device none
    complains "it must be one of: all|gemm"
fi
expect 0 life --n 8 --block 4 --devices "cpu:1,emu:1;link=1GB/s,emu:1" --link 2GB/s --memory 1MiB --latency 3us --json
says '"devices": "cpu:1,emu:1;link=1GB/s;latency=3us;memory=1MiB,emu:1;link=2GB/s;latency=3us;memory=1MiB"'
expect 2 life --devices "cpu,emu:1;memory=$(printf '%0600d' 1)B"
complains "--devices is too long"
expect 0 life --n 5 --block 8 --steps 3
is_right
expect 0 life --n 10 --block 5 --rule 5,7,6,6
is_right
for rule in 455 45555 4a55 5455 4554 0,27,1,1; do
    expect 2 life --rule $rule
    complains "--rule is '$rule'"
done
expect 0 kmeans --points 2000 --block 250 --devices cpu:2,emu:1 --json
[ "$(number tasks)" = $(($(number turns) * 9 + 1)) ] || trouble "not 8 tasks and one behind them in each turn, and one before"
expect 2 kmeans --points 3 --clusters 4
complains "--clusters is more than --points"
expect 0 kmeans --points 300 --clusters 300 --block 7 --tolerance 0
is_right
expect 2 kmeans --tolerance -1
complains "--tolerance is '-1'"

verdict
