#!/bin/sh
# write-ops.sh PRINTER: rewrites the files that follow from tensor/ops.def, where they differ.
set -eu
write() { # what, file
    "$printer" "$1" >"$2.tmp"
    if cmp -s "$2.tmp" "$2"; then
        rm "$2.tmp"
    else
        mv "$2.tmp" "$2"
        echo "  wrote $2"
    fi
}
printer=$1
write tensor tensor/ct_ops.h
write var autodiff/ct_var_ops.h
write docs docs/ops.md
