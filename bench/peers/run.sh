#!/usr/bin/env bash
# Measures the rows beside other libraries, each at its best; makes limits.json's neighbours peers.json
# and peers2.json (two threads) in $OUT. `make bench-peers` calls it after building the rows.
#   COTANGENT_PEERS  the Python environment (default ~/.cache/cotangent-peers), made if it is missing
#   CT_ISA=avx2      holds the peers to AVX2 too (their files are then peers-avx2.json)
#   PEERS='torch'    only these Python peers
# Words select rows by parts of their titles.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-build/bench}
peers=${COTANGENT_PEERS:-$HOME/.cache/cotangent-peers}
# The environment itself, or a folder that holds it as venv/.
[ -x "$peers/venv/bin/python" ] && peers=$peers/venv

debian='libopenblas0-pthread libblis4-pthread libdnnl2 libxsmm-dev'
missing=
for package in $debian; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
    as=
    [ "$(id -u)" = 0 ] || as='sudo -n'
    # shellcheck disable=SC2086 # lists of words
    $as env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2 ||
        echo "not installed:$missing; their rows are left out" >&2
fi
if [ ! -x "$peers/bin/python" ]; then
    python3 -m venv "$peers"
    "$peers/bin/pip" install --quiet torch numpy jax mkl matplotlib
    "$peers/bin/pip" install --quiet cynn || echo 'no cynn: KANN is left out' >&2
fi

xsmm=
[ -e /usr/include/libxsmm.h ] && xsmm='-DHAVE_LIBXSMM -lxsmm -lxsmmnoblas'
mkdir -p "$out"
# shellcheck disable=SC2086
${CC:-cc} -std=gnu17 -O2 -Wall -Wextra -fPIC -shared bench/peers/c_peers.c -o "$out/libct-peers.so" \
    $xsmm -ldl -lm -pthread

ggml=$peers/ggml # made by bench/peers/ggml.sh, which takes minutes: optional
if [ -d "$ggml" ]; then
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu17 -O2 -fPIC -shared bench/peers/ggml_peer.c -o "$out/libct-ggml.so" -I "$ggml/include" \
        "$ggml/libggml-cpu.a" "$ggml/libggml-base.a" -lstdc++ -lm -pthread
fi

# Each at its best: Debian's OpenBLAS and BLIS do not know every machine and then fall back to cores of
# long ago; waiting OpenMP threads must not spin beside ours.
if [ "${CT_ISA:-}" = avx2 ]; then
    export OPENBLAS_CORETYPE=HASWELL BLIS_ARCH_TYPE=3 ATEN_CPU_CAPABILITY=avx2 \
        MKL_ENABLE_INSTRUCTIONS=AVX2 DNNL_MAX_CPU_ISA=AVX2 LIBXSMM_TARGET=hsw ONEDNN_MAX_CPU_ISA=AVX2 \
        NPY_DISABLE_CPU_FEATURES='AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4' \
        XLA_FLAGS='--xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX2'
    suffix=-avx2
elif grep -q avx512f /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=SKYLAKEX BLIS_ARCH_TYPE=0 ATEN_CPU_CAPABILITY=avx512 \
        MKL_ENABLE_INSTRUCTIONS=AVX512
    suffix=
else
    suffix=
fi
export OMP_WAIT_POLICY=passive MKL_FOLDER="$peers/lib" XLA_FLAGS="${XLA_FLAGS:---xla_cpu_multi_thread_eigen=false}"

measure() { # threads, file, words
    threads=$1 file=$2
    shift 2
    CT_NUM_THREADS=$threads OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads \
        MKL_NUM_THREADS=$threads BLIS_NUM_THREADS=$threads \
        "$peers/bin/python" bench/peers/peers.py "$out/libct-rows.so" "$out/libct-peers.so" "$file" "$@"
}
measure 1 "$out/peers$suffix.json" "$@"
[ "$(nproc)" -lt 2 ] || measure 2 "$out/peers2$suffix.json" "$@"
