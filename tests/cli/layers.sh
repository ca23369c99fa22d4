#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/check-layers names each offence of a wrong tree, with its line, and is silent on a right one.
set -eu

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{src/base,src/sys,src/sched,src/trace,src/exec,src/odd,include/thrum,tools,tests/api,tests/support,bench/fib}

file() { # file PATH LINE...: writes the lines
    local path=$tree/$1
    shift
    printf '%s\n' "$@" >"$path"
}

check() { "$THRUM_SOURCE/scripts/check-layers" "$tree" 2>/dev/null; }

# A right tree.
file include/thrum/thrum.h '#include <stddef.h>'
file src/base/list.h '#include <thrum/thrum.h>'
file src/base/list_int.h ''
file src/base/list.c '#include "base/list.h"' '#include "list_int.h"' '#include <stdio.h>' '#include <sys/mman.h>'
file src/sys/cpu.h '#include <hwloc.h>'
file src/exec/run.h '#include "sys/cpu.h"' '#include "base/list.h"'
file src/trace/ring.h ''
file tools/main.h ''
file tools/main.c '#include "main.h"' '#include <thrum/thrum.h>' '#include <jansson.h>'
file tests/support/help.h ''
file tests/api/run.c '#include "help.h"' '#include <thrum/thrum.h>'
file bench/row.h ''
file bench/fib/seq.c '#include "../row.h"' '#include "row.h"'
if ! check; then
    echo "a right tree was found wrong" >&2
    exit 1
fi

# Wrong lines, one file each; the number is the line that must be named.
expected=()
wrong() { # wrong LINE WORDS PATH TEXT...
    expected+=("$3:$1: .*$2")
    file "${@:3}"
}
wrong 2 'only lower layers' src/base/up.c '#include <stdio.h>' '#include "exec/run.h"'
wrong 1 'only lower layers' src/base/angle.c '#include <exec/run.h>'
wrong 1 'must not know each other' src/sched/side.c '#include "trace/ring.h"'
wrong 1 'internal to src/base' src/exec/inside.c '#include "base/list_int.h"'
wrong 1 'only src/sys may' src/exec/topology.c '#include <hwloc.h>'
wrong 1 'no file of src/exec' src/exec/bare.c '#include "list.h"'
wrong 1 'no folder that has a layer' src/odd/x.c '#include <stdio.h>'
wrong 1 'nor a file of tools' tools/peek.c '#include "exec/run.h"'
wrong 1 'nor a file of tools' tools/climb.c '#include "../src/exec/run.h"'
wrong 3 'header of src/' tests/api/peek.c '' '' '#  include <exec/run.h>'
wrong 1 'nor a file of bench' bench/fib/peek.c '#include "sys/cpu.h"'
wrong 1 'nor a file of include/thrum' include/thrum/peek.h '#include "sys/cpu.h"'

if found=$(check); then
    echo "a wrong tree was found right" >&2
    exit 1
fi
for pattern in "${expected[@]}"; do
    if ! grep -q "^$pattern" <<<"$found"; then
        printf 'no offence matches: %s\nfound:\n%s\n' "$pattern" "$found" >&2
        exit 1
    fi
done
if [ "$(wc -l <<<"$found")" -ne ${#expected[@]} ]; then
    printf 'expected %d offences, found:\n%s\n' ${#expected[@]} "$found" >&2
    exit 1
fi
