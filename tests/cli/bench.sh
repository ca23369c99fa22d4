#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# thrum bench: what can be asked for without measuring anything.
set -eu

list=$("$THRUM_BUILD/thrum" bench --list)
for row in 'create +base' 'condition +control' 'iterate +control' 'sort +control' 'sort-compare +control' 'reduce +control' 'scan +control' 'pipeline +control' 'corun-1 +control' 'corun-4 +control'; do
    if ! grep -qE "^$row " <<<"$list"; then
        printf 'no row of the list is like: %s\n%s\n' "$row" "$list" >&2
        exit 1
    fi
done

if said=$("$THRUM_BUILD/thrum" bench scam 2>&1) || ! grep -q "no work 'scam'; did you mean 'scan'" <<<"$said"; then
    printf 'an unknown work should be named, and the nearest one:\n%s\n' "$said" >&2
    exit 1
fi
