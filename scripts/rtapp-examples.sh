#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints a directory with rt-app's own example files. They are GPL and not ours, so they are not kept here but fetched: from the
# installed package if there is one, else from Debian's binary package with apt's own client (nothing is installed).
# Cached under ${XDG_CACHE_HOME:-$HOME/.cache}/lopsided/rt-app.
set -eu

installed=/usr/share/doc/rt-app/examples
cache="${XDG_CACHE_HOME:-$HOME/.cache}/lopsided/rt-app"
examples="$cache/usr/share/doc/rt-app/examples"

has_examples() {
    [ -n "$(find "$1" -name '*.json' -print -quit 2>/dev/null)" ]
}

if has_examples "$installed"; then
    echo "$installed"
    exit 0
fi
if has_examples "$examples"; then
    echo "$examples"
    exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
# First with the existing package lists; if there are none, with separate lists, which needs no root either.
download() {
    (cd "$work" && apt-get -qq -o APT::Sandbox::User="$(id -un)" "$@" download rt-app >&2)
}
private_lists() {
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    set -- -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/archives"
    apt-get -qq -o APT::Sandbox::User="$(id -un)" "$@" update >&2 && download "$@"
}
if ! download 2>/dev/null && ! private_lists; then
    echo "rtapp-examples: apt-get cannot download the package rt-app (see above); with examples from elsewhere, set" >&2
    echo "LOP_RTAPP_EXAMPLES to their directory (doc/examples of https://github.com/scheduler-tools/rt-app)" >&2
    exit 1
fi
dpkg-deb -x "$work"/rt-app_*.deb "$work/tree"
if ! has_examples "$work/tree/usr/share/doc/rt-app/examples"; then
    echo "rtapp-examples: the package rt-app no longer has examples; set LOP_RTAPP_EXAMPLES to a directory that has them" >&2
    exit 1
fi
# Moved into place as a whole, so that an incomplete fetch never counts as a good one.
rm -rf "$cache/usr"
mv "$work/tree/usr" "$cache/usr"
echo "$examples"
