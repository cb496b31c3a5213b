#!/bin/sh
# suite-list.sh FILE...: one line SUITE(name) for each tests/suite_<name>.c among the files, lower
# layers first, so that the first failure is the cause of the others; then the rest by name.
set -eu
layers='error platform alloc pool vmath kernels tensor shape view reduce matmul random dual table ops tape grad'
names=$(for file; do
    case $file in tests/suite_*.c) basename "$file" .c | sed 's/^suite_//' ;; esac
done | LC_ALL=C sort)
for name in $layers; do
    echo "$names" | grep -qx "$name" && echo "SUITE($name)"
done
for name in $names; do
    case " $layers " in *" $name "*) ;; *) echo "SUITE($name)" ;; esac
done
