#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `thrum trace summary` finds of copies in an application's trace is what the application itself has counted.
. "$THRUM_SOURCE/tests/cli/expect.bash"
cd "$folder" || exit 1
export THRUM_MODELS=$folder/models # times that are measured here concern nobody else

# links FILE: from, to, bytes and copies of each link in a JSON object that something went over
links() {
    awk '/"links": \[/ { on = 1 }
         /"from":/ { from = $2 }
         /"to":/ { to = $2 }
         /"bytes":/ { bytes = $2 }
         /"copies":/ { copies = $2 }
         /}/ { if (on && copies + 0) print from + 0, to + 0, bytes + 0, copies + 0; copies = 0 }
         /\]/ { on = 0 }' "$1" | sort
}

# sum FILE KEY: of all such numbers in it
sum() { awk -v key="\"$2\":" '$1 == key { sum += $2 } END { print sum + 0 }' "$1"; }

for policy in random dmda; do
    expect 0 life --n 22 --block 8 --steps 6 --policy $policy --devices cpu:1,emu:2 --memory 12KB --device-only \
        --trace run.json --json
    cp output app.json
    expect 0 trace summary run.json --json
    cp output trace.json
    [ "$(links app.json | wc -l)" -ge 2 ] || trouble "nothing was copied to devices and back"
    [ "$(links app.json)" = "$(links trace.json)" ] ||
        trouble "the application counts these links, bytes and copies: $(links app.json); its trace: $(links trace.json)"
    [ "$(sum app.json evictions)" -gt 0 ] || trouble "nothing was evicted"
    [ "$(sum app.json evictions)" = $(($(sum trace.json thrown_out) + $(sum trace.json written_back))) ] ||
        trouble "the trace has other evictions than $(sum app.json evictions)"
    [ "$(sum app.json written_back)" = "$(sum trace.json written_back)" ] || trouble "other evictions with a copy home"
    [ "$(sum trace.json lost_events)" = 0 ] || trouble "events were lost"
done

# Fewer are kept than there are: the last ones, of each link.
export THRUM_TRACE_EVENTS=16
expect 0 life --n 22 --block 8 --steps 6 --devices cpu:1,emu:1 --policy random --device-only --trace run.json
expect 0 trace summary run.json
says " events were overwritten"
grep -Eq "^0>1 +16 " output || trouble "not the last 16 copies are shown"

verdict
