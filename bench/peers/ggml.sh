#!/usr/bin/env bash
# Builds ggml from the source that ggml-python brings, for this machine and with its fast matrix products, into
# $COTANGENT_PEERS/ggml, where run.sh finds it. Needs cmake; takes some minutes.
set -euo pipefail
peers=${COTANGENT_PEERS:-$HOME/.cache/cotangent-peers}
[ -x "$peers/venv/bin/python" ] && peers=$peers/venv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$peers/bin/pip" download --quiet --no-deps --no-binary :all: -d "$work" ggml-python==0.0.45
tar -xzf "$work"/ggml_python-*.tar.gz -C "$work"
source=$(echo "$work"/ggml_python-*/vendor/ggml)
cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DGGML_OPENMP=OFF \
    -DGGML_LLAMAFILE=ON -DGGML_BUILD_TESTS=OFF -DGGML_BUILD_EXAMPLES=OFF -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON
cmake --build "$work/build" --target ggml-base ggml-cpu -j "$(nproc)"
mkdir -p "$peers/ggml"
cp -r "$source/include" "$peers/ggml/"
find "$work/build" -name 'libggml-base.a' -o -name 'libggml-cpu.a' | xargs cp -t "$peers/ggml"
