#!/bin/sh
# Looks for what Cotangent needs and installs what is missing, where it may (root, or sudo without a
# password). Otherwise prints the one line to type and ends with status 1. With --check it never
# installs. Graphviz draws the pictures and is the only optional one.
set -u

# The packages that are missing, found by what they bring.
missing() {
    list=
    for tool in cc c++ make; do
        command -v $tool >/dev/null || list=' build-essential'
    done
    command -v pkg-config >/dev/null || list="$list pkg-config"
    pair sleef libsleef-dev
    pair hwloc libhwloc-dev
    pair check check
    pair jansson libjansson-dev
    pair nettle nettle-dev
    pair zlib zlib1g-dev
    echo $list
}

pair() { # pkg-config name, Debian package
    pkg-config --exists "$1" 2>/dev/null || list="$list $2"
}

# The words before apt-get that give it the right to install; fails where nothing does.
privilege() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" = 0 ]; then
        echo env
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo sudo -n env
    else
        return 1
    fi
}

install() {
    as=$(privilege) || return 1
    echo "installing: $*" >&2
    run="$as DEBIAN_FRONTEND=noninteractive apt-get"
    $run install -y --no-install-recommends "$@" >&2 && return 0
    echo 'trying again with a fresh list of packages' >&2
    $run update >&2 && $run install -y --no-install-recommends "$@" >&2
}

give_up() {
    echo "Cotangent needs packages that are not installed. On Debian, type:" >&2
    echo "    sudo apt-get install $1" >&2
    exit 1
}

need=$(missing)
if [ -n "$need" ]; then
    [ "${1-}" = --check ] && give_up "$need"
    # shellcheck disable=SC2086 # a list of words
    install $need || give_up "$need"
    need=$(missing)
    [ -z "$need" ] || give_up "$need"
fi
if [ "${1-}" != --check ] && ! command -v dot >/dev/null; then
    install graphviz 2>/dev/null ||
        echo 'Graphviz (dot) is missing: tapes are written as .dot files only. apt-get install graphviz' >&2
fi
exit 0
