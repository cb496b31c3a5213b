#!/bin/sh
# embed.sh NAME FILE: a C source with the bytes of FILE as the array NAME and their number as
# NAME_size, on standard output.
set -eu
echo "/* Made from $2 by scripts/embed.sh. */"
echo "#include <stddef.h>"
echo "extern const unsigned char $1[];"
echo "extern const size_t $1_size;"
echo "const unsigned char $1[] = {"
od -An -v -tu1 "$2" | sed 's/[0-9][0-9]*/&,/g'
echo "};"
echo "const size_t $1_size = sizeof $1;"
