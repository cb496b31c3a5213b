#!/bin/sh
# count_instructions.sh CALLS [ROW]: instructions per call beside the arithmetic, counted by callgrind
# (which has no AVX-512: the AVX2 kernels run). Bars: 400 for an eager call, 600 for a recorded op.
# With CT_CALLS_LIMIT set, ends with status 1 where a row takes more than that many times its bar.
set -eu
calls=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CT_ISA=avx2 CT_NUM_THREADS=1 valgrind --tool=callgrind --callgrind-out-file="$dir/out" \
    --toggle-collect=measured --dump-after=measured "$calls" ${2:+"$2"} \
    > "$dir/names" 2> "$dir/log" || { cat "$dir/log" >&2; exit 1; }
n=$(wc -l < "$dir/names")
i=1
while [ "$i" -le "$n" ]; do
    sed -n 's/^totals: //p;s/^summary: //p' "$dir/out.$i" | head -1
    i=$((i + 1))
done > "$dir/counts"
paste -d ' ' "$dir/names" "$dir/counts" | awk -v limit="${CT_CALLS_LIMIT:-0}" '
    BEGIN { printf "%-10s %-4s %6s %10s %8s %8s %9s %9s\n", "call", "type", "items", "arithmetic",
                   "eager", "beyond", "recorded", "beyond" }
    { key = $1 " " $2 " " $3
      if (key == last && $4 == kind) {
          per = ($6 - count) / ($5 - times)
          found[key, $4] = per
          if ($4 == "recorded") line(key, $1, $2, $3)
      }
      last = key; kind = $4; times = $5; count = $6 }
    function line(key, name, type, items,    own, e, r) {
        own = found[key, "alone"] + 0
        e = found[key, "eager"] - own
        r = found[key, "recorded"] - own
        printf "%-10s %-4s %6d %10.0f %8.0f %8.0f %9.0f %9.0f\n", name, type, items, own,
               found[key, "eager"], e, found[key, "recorded"], r
        if (limit > 0 && (e > 400 * limit || r > 600 * limit)) bad = 1
    }
    END { exit bad }'
