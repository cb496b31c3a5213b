#!/bin/sh
# coverage.sh FOLDER: line coverage of the library from the objects in FOLDER, a line per source file
# and the total. Kernels count once per instruction set.
set -eu
find "$1" -name '*.gcda' -path '*/tests/*' -prune -o -name '*.gcda' -print | LC_ALL=C sort | while read -r data; do
    gcov -n -o "$(dirname "$data")" "$data" 2>/dev/null
done | awk -F"'" '
    /^File/ { file = $2 }
    /^Lines executed/ && file !~ /^\// && file !~ /^(tests|build)/ {
        split($0, part, /[:%]| of /); lines[file] += part[4]; hit[file] += part[2] * part[4] / 100
        file = "/"
    }
    END {
        for (f in lines) { printf "%6.1f %% of %5d  %s\n", 100 * hit[f] / lines[f], lines[f], f; all += lines[f]; got += hit[f] }
        if (all) printf "%6.1f %% of %5d  total\n", 100 * got / all, all
    }' | LC_ALL=C sort -k5
