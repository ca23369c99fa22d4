#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Applications know what THRUM_POLICY and THRUM_DEVICES say: what they print is what ran, and options win.
. "$THRUM_SOURCE/tests/cli/expect.bash"
export THRUM_MODELS=$folder/models # times that are measured here concern nobody else
small="--n 16 --block 8 --steps 2"
plugin=$build/tests/plugins/plugin_good.so

# said POLICY DEVICES: the heading
said() { says "; policy $1, devices $2"; }

# The policy.
THRUM_POLICY=fifo expect 0 life $small
said fifo cpu
says " in them, " # a policy's executor counts tasks and times itself
THRUM_POLICY=fifo expect 0 life $small --policy prio
said prio cpu
THRUM_POLICY=$plugin expect 0 life $small --devices cpu,emu:1
said "$plugin" cpu,emu:1
THRUM_POLICY=steal expect 0 life $small
said steal cpu
THRUM_POLICY=steal expect 0 life $small --devices cpu,emu:1
said dmda cpu,emu:1
expect 0 life $small --devices cpu,emu:1 --policy steal
said dmda cpu,emu:1
THRUM_POLICY=nobody expect 2 life $small
complains "nobody"

# Devices.
export THRUM_DEVICES=cpu:1,emu:2
expect 0 life $small
said dmda cpu:1,emu:2
says "machine    3 workers, 3 memory nodes"
says "emu 1 "
says "check      ok"
expect 0 life $small --json
says '"devices": "cpu:1,emu:2"'
says '"policy": "dmda"'
says '"tasks": 16'
says '"tasks_of_others": 0' # the executor has counted, not the kernels
expect 0 life $small --link 1GB/s --memory 1MiB --device-only
said dmda "cpu:1,emu:2;link=1GB/s;memory=1MiB"
expect 0 life $small --devices cpu:2
said steal cpu:2
expect 2 life $small --devices cpu:2 --link 1GB/s
complains "--link is for devices, and there are none"
THRUM_DEVICES=cpu:1 expect 2 life $small --mode timing
complains "--mode timing is for devices, and there are none"
THRUM_DEVICES=gpu:1 expect 2 life $small
complains "gpu"
THRUM_DEVICES="emu:1;memory=$(printf '%0600d' 1)B" expect 2 life $small
complains "THRUM_DEVICES is too long"

# Timing mode: nothing is computed, so nothing is checked.
for devices in "cpu:1,emu:1;mode=timing" " cpu:1 , emu:1 ; link=2GB/s ; mode = timing"; do
    THRUM_DEVICES=$devices expect 0 life $small
    says "$devices, timing mode"
    says "check      none"
done
# An option wins over what the variable says of a device; not over what --devices says of it.
export THRUM_DEVICES="cpu:1,emu:1;link=1GB/s;mode=timing,emu:1"
expect 0 life $small --mode real --link 2GB/s
said dmda "cpu:1,emu:1;link=2GB/s;mode=real,emu:1;link=2GB/s;mode=real"
says "check      ok"
expect 0 life $small --devices "cpu:1,emu:1;link=1GB/s" --link 2GB/s
said dmda "cpu:1,emu:1;link=1GB/s"

verdict
