#!/bin/sh
# headers.sh CC CXX HEADER...: each header alone, as strict C17 and as C++17, without a warning. A
# public header includes only the C standard library's freestanding part and its like.
set -u
cc=$1 cxx=$2
shift 2
wrong=0
for header; do
    echo "#include \"$header\"" | "$cc" -std=c17 -I. -Wall -Wextra -Wpedantic -Wstrict-prototypes \
        -Werror -fsyntax-only -x c - || { echo "headers: $header does not stand alone as C17"; wrong=1; }
    echo "#include \"$header\"" | "$cxx" -std=c++17 -I. -Wall -Wextra -Wpedantic -Werror \
        -fsyntax-only -x c++ - || { echo "headers: $header does not stand alone as C++17"; wrong=1; }
    if grep -nE '^ *# *include *<' "$header" | grep -vE '<(stddef|stdint|stdbool)\.h>'; then
        echo "headers: $header includes more than stddef.h, stdint.h and stdbool.h"
        wrong=1
    fi
done
[ $wrong = 0 ] && echo "headers: $# headers stand alone as C17 and C++17"
exit $wrong
