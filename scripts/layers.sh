#!/bin/sh
# The law of layers: which folder may include which, and that the inner headers of a folder stay in it.
set -eu
awk_law='
BEGIN {
    may["tensor"] = "tensor"
    may["fixed"] = "fixed tensor"
    may["dual"] = "dual tensor"
    may["autodiff"] = "autodiff dual tensor"
    may["optim"] = "optim autodiff tensor"
    may["nn"] = "nn optim autodiff tensor"
    may["io"] = "io tensor"
    # the platform, what rules borrow and the vector vocabulary, which every layer may stand on
    platform = "tensor/fail.h tensor/alloc.h tensor/checked.h tensor/conv.h tensor/factor.h tensor/options.h tensor/parallel.h tensor/peek.h tensor/row_pulls.h tensor/isa.h tensor/kernels/vec.h"
    # what the command needs beside the public interface
    command = "tensor/fail.h tensor/topology.h io/atomic_file.h"
}
function has(list, word) { return index(" " list " ", " " word " ") > 0 }
function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; wrong = 1 }
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split(FILENAME, place, "/"); from = place[1]
    target = $0; sub(/^[^"]*"/, "", target); sub(/".*/, "", target)
    if (target ~ /(^|\/)\.\.(\/|$)/) { complain("\"" target "\" climbs out of its folder; name it from the root"); next }
    if (split(target, part, "/") < 2) {
        if (target == "cotangent.h" && from in may) complain(from " includes the umbrella header")
        next
    }
    to = part[1]; file = part[split(target, part, "/")]
    public = file ~ /^ct_.*\.h$/ || file ~ /\.def$/
    if (from == "examples" && !public) complain("examples see public headers only, not \"" target "\"")
    if (from == "cli" && !public && !has(command, target))
        complain("the command sees public headers and a few named ones, not \"" target "\"")
    if (!(from in may) || to == from) next
    if (!(to in may) && to != "kernels") complain(from " may not include \"" target "\"")
    else if (to != "kernels" && !has(may[from], to)) complain("the layer " from " may not know " to " (\"" target "\")")
    else if (to != "kernels" && !public && !has(platform, target))
        complain("\"" target "\" is an inner header of " to)
}
END { exit wrong }'
find tensor fixed dual autodiff optim nn io cli examples bench tests docs -name '*.[chi]' -o -name '*.inc' -o -name '*.def' |
    LC_ALL=C sort | xargs awk "$awk_law"
echo 'layers: every include follows the law'
