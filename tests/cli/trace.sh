#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `thrum trace summary` adds up what a trace holds, and says what is wrong with a file that is none.
. "$THRUM_SOURCE/tests/cli/expect.bash"
cd "$folder" || exit 1

cat >run.json <<'JSON'
{"displayTimeUnit":"ns","otherData":{"thrum":"0.1.0","lost_events":"0"},"traceEvents":[
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"worker 1"}},
{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"worker 0"}},
{"ph":"X","pid":1,"tid":0,"ts":100.000,"dur":60.000,"name":"mill","cat":"bread"},
{"ph":"X","pid":1,"tid":1,"ts":150.000,"dur":50.000,"name":"bake","cat":"bread"},
{"ph":"X","pid":1,"tid":0,"ts":110.000,"dur":20.000,"name":"sift","cat":"bread"},
{"ph":"X","pid":1,"tid":0,"ts":180.000,"dur":20.000,"name":"sift","cat":"bread"}]}
JSON
expect 0 trace summary run.json
is_content
line() { grep -Eq "$1" output || trouble "no line like: $1"; }
line '^makespan +100 us$'
line '^tasks +4 on 2 workers$'
line '^busy +130 us, 65\.0 % '
line '^idle +70 us$'
line '^worker 0 +3 +80 us +20 us +80\.0 %  \|#{30} {10}#{10}\|$'
line '^worker 1 +1 +50 us +50 us +50\.0 %  \| {25}#{25}\|$'
line '^ +1 +60 us +60 us +60 us   mill$'
line '^ +2 +40 us +20 us +20 us   sift$'
says "ran inside others"
! grep -q overwritten output || trouble "speaks of lost events where there are none"
! grep -q steals output || trouble "speaks of steals where the trace does not"

expect 0 trace summary --top 1 run.json
says "and 2 more"
! grep -q sift output || trouble "lists more than was asked for"

expect 0 trace summary run.json --json
for text in '"makespan_us": 100.0' '"tasks": 4' '"occupancy": 0.65' '"name": "worker 1"' '"busy_us": 80.0' '"mean_us": 20.0' \
    '"max_us": 60.0' '"lost_events": 0'; do
    says "$text"
done

sed 's/"lost_events":"0"/"format":"7","lost_events":"0"/' run.json >other.json
expect 1 trace summary other.json
complains "other.json:1: a trace in format 7, written by thrum 0.1.0; this thrum reads format 1"
sed 's/"lost_events":"0"/"lost_events":"12"/' run.json >lost.json
expect 0 trace summary - <lost.json
says "12 events were overwritten"
says "THRUM_TRACE_EVENTS"

echo '[{"ph":"X","tid":7,"ts":1,"dur":2},{"ph":"C","name":"other"}]' >array.json
expect 0 trace summary array.json
says "worker 7"
says "(no name)"
echo '{"traceEvents":[]}' >nothing.json
expect 0 trace summary nothing.json
says "No task ran"
expect 0 trace summary --json nothing.json
says '"tasks": 0'

# A thread that helped in a worker's place adds no capacity; one that did nothing is not shown.
cat >helped.json <<'JSON'
[{"ph":"M","tid":0,"name":"thread_name","args":{"name":"worker 0"}},
{"ph":"M","tid":1,"name":"thread_name","args":{"name":"caller 1"}},
{"ph":"M","tid":2,"name":"thread_name","args":{"name":"caller 2"}},
{"ph":"X","tid":0,"ts":0,"dur":5,"name":"a"},
{"ph":"X","tid":2,"ts":5,"dur":5,"name":"b"}]
JSON
expect 0 trace summary helped.json
line '^tasks +2 on 1 worker, in whose place 1 other thread helped$'
line '^busy +10 us, 100\.0 % '
line '^caller 2 +1 +5 us +5 us +50\.0 %  \| {25}#{25}\|$'
! grep -q 'caller 1' output || trouble "shows a helper that did nothing"

# What workers did for want of work.
cat >counts.json <<'JSON'
[{"ph":"M","tid":0,"name":"thread_name","args":{"name":"worker 0"}},
{"ph":"M","tid":0,"name":"thrum_stats","args":{"steals":3,"wasted_steals":40,"sleeps":6,"wakes":5,"naps":7}},
{"ph":"M","tid":1,"name":"thrum_stats","args":{"steals":1,"wasted_steals":2,"sleeps":1,"wakes":1,"naps":0}},
{"ph":"X","tid":0,"ts":0,"dur":5,"name":"a"}]
JSON
expect 0 trace summary counts.json
line '^worker +steals +wasted +slept +woken +napped$'
line '^worker 0 +3 +40 +6 +5 +7$'
line '^worker 1 +1 +2 +1 +1 +0$'
line '^all +4 +42 +7 +6 +7$'
expect 0 trace summary counts.json --json
for text in '"wasted_steals": 40' '"wasted_steals": 42' '"steals": 4' '"sleeps": 6' '"wakes": 5' '"naps": 7'; do
    says "$text"
done

# Copies between memories are no tasks; and time counts from the first of both to the last.
cat >links.json <<'JSON'
[{"ph":"M","tid":0,"name":"thread_name","args":{"name":"worker 0"}},
{"ph":"X","tid":0,"ts":10,"dur":70,"name":"a"},
{"ph":"M","tid":7,"name":"thrum_link","args":{"from":0,"to":2}},
{"ph":"M","tid":7,"name":"thread_name","args":{"name":"link 0>2"}},
{"ph":"X","tid":7,"ts":0,"dur":20,"name":"v","cat":"copy","args":{"bytes":1024,"reason":"needed"}},
{"ph":"X","tid":7,"ts":20,"dur":30,"name":"v","cat":"copy","args":{"bytes":512,"reason":"prefetched"}},
{"ph":"M","tid":8,"name":"thrum_link","args":{"from":2,"to":0}},
{"ph":"X","tid":8,"ts":75,"dur":25,"name":"v","cat":"copy","args":{"bytes":1024,"reason":"written back"}},
{"ph":"i","s":"t","tid":8,"ts":60,"name":"v","cat":"copy","args":{"bytes":512,"reason":"thrown out"}}]
JSON
expect 0 trace summary links.json
is_content
line '^makespan +100 us$'
line '^tasks +1 on 1 worker$'
line '^worker 0 +1 +70 us +30 us +70\.0 %'
line '^link +copies +bytes +busy +occupancy$'
line '^0>2 +2 +1\.5 KiB +50 us +50\.0 %  \|#{25} {25}\|$'
line '^2>0 +1 +1 KiB +25 us +25\.0 %'
line '^thrown out of memory 2: 2 times, 1 after a copy back$'
expect 0 trace summary links.json --json
for text in '"links": [' '"tasks": 1' '"from": 0' '"to": 2' '"bytes": 1536' '"prefetched": 1' '"written_back": 1' '"thrown_out": 1' \
    '"busy_us": 50.0'; do
    says "$text"
done
expect 0 trace summary run.json --json
says '"links": []'
expect 1 trace summary - <<<'[{"ph":"M","tid":8,"name":"thrum_link"},{"ph":"X","tid":8,"ts":1}]'
complains "no number in 'dur'"

# A real one.
if [ -x "$build/examples/01-hello" ]; then
    THRUM_TRACE=$folder/hello.json "$build/examples/01-hello" >/dev/null || trouble "01-hello fails with a trace"
    expect 0 trace summary hello.json
    line '^tasks +4 on [0-9]+ workers?(,|$)'
    line '^worker 0 +[0-9]+ +[0-9]+ +[1-9][0-9]* +[1-9][0-9]* +[0-9]+$'
    line '^all +[0-9]+ +[0-9]+ +[1-9][0-9]* +[1-9][0-9]* +[0-9]+$'
fi

# Wrong files.
wrong() { # wrong TEXT MESSAGE
    printf '%s' "$1" >wrong.json
    expect 1 trace summary wrong.json
    is_silent
    complains "wrong.json$2"
}
wrong '' " is empty"
wrong '  ' " is empty"
wrong "$(head -c 400 run.json)" " is cut off in line"
wrong 'hello' ":1: not a trace"
wrong '{"a":1}' " is JSON but no trace: it has no list 'traceEvents'"
wrong '{"traceEvents":3}' " is JSON but no trace"
wrong '[{"ph":"X","ts":1}]' " is damaged: event 0 of traceEvents has no number in 'dur'"
wrong '[{"ph":"X","ts":"1","dur":1}]' " is damaged: event 0 of traceEvents has no number in 'ts'"
wrong '[{"ph":"X","ts":1,"dur":-1}]' " is damaged: event 0 of traceEvents has a negative 'dur'"
wrong '[1]' " is not a trace"
expect 1 trace summary missing.json
complains "cannot read missing.json"

# Wrong use.
expect 2 trace
complains "summary"
expect 2 trace sumary run.json
complains "cannot 'sumary' a trace"
expect 2 trace summary
complains "needs a FILE"
expect 2 trace summary run.json lost.json
complains "'lost.json' is one argument too many"
expect 2 trace summary run.json --top ten
complains "'--top ten' is wrong"
expect 2 trace summary run.json --jason
complains "did you mean '--json'?"

verdict
