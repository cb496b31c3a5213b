#!/bin/sh
# symbols.sh LIBRARY CC: the names that the shared library exports are those marked CT_API, no more
# and no fewer.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
nm -D --defined-only "$1" | awk '{print $3}' | grep -v '^_' | LC_ALL=C sort >"$scratch/exported"
# The mark, preprocessed, begins each public declaration; the name stands before "(", "[" or ";".
"$2" -std=c17 -I. -E -P -x c cotangent.h | tr '\n' ' ' |
    sed 's/__attribute__((visibility("default")))/\n@/g' | sed -n 's/^@[^;(]*[ *]\(ct_[a-z0-9_]*\) *[(;[].*/\1/p' |
    LC_ALL=C sort -u >"$scratch/declared"
if diff "$scratch/declared" "$scratch/exported"; then
    echo "symbols: the library exports its $(wc -l <"$scratch/exported") public names and nothing else"
else
    echo 'symbols: < is declared and not exported, > is exported and not declared' >&2
    exit 1
fi
