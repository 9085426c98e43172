#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Records `make -j2` of a Debian source package as a workload.
#
#   scripts/record-build.sh [PACKAGE [OUTPUT]]      (nginx, data/workloads/recorded-build.toml)
#
# Gets the source with apt from the archives that this machine already uses, through separate package lists: needs no root and
# does not change the system. All files go below ${XDG_CACHE_HOME:-~/.cache}/lopsided. Configures before recording.
#
#   LOP        the command to record with (default: lop)
#   CONFIGURE  the command that configures the source (default: a minimal one for known packages, else ./configure)
#   JOBS       parallel jobs (default: 2)
set -eu

package=${1:-nginx}
output=${2:-$(dirname "$0")/../data/workloads/recorded-build.toml}
lop=${LOP:-lop}
jobs=${JOBS:-2}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lopsided

fail() {
    echo "record-build: $1" >&2
    exit 1
}

for tool in apt-get dpkg-source make cc "$lop"; do
    command -v "$tool" >/dev/null || fail "$tool is missing (apt-get install dpkg-dev make gcc; LOP=path of lop)"
done

# Prints a deb-src entry for every deb entry of this distribution; other archives may have no sources.
source_entries() {
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -r "$file" ] || continue
        awk -v codename="$codename" 'BEGIN { RS = ""; ORS = "\n\n" }
            $0 ~ ("(^|\n)Suites:([^\n]* )? *" codename "([-/ \n]|$)") && /(^|\n)Types: *deb/ {
                sub(/Types:[^\n]*/, "Types: deb-src"); print }' "$file"
    done >"$1/lop.sources"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -r "$file" ] || continue
        awk -v codename="$codename" '$1 == "deb" && $0 ~ (" " codename "([-/ ]|$)") { $1 = "deb-src"; print }' "$file"
    done >"$1/lop.list"
    [ -s "$1/lop.sources" ] || [ -s "$1/lop.list" ] || fail "no archive of $codename in /etc/apt/sources.list*"
}

apt() {
    apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$cache/apt/sources" \
        -o Dir::State::lists="$cache/apt/lists" -o Dir::Cache="$cache/apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

fetch() {
    mkdir -p "$cache/apt/sources" "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial"
    source_entries "$cache/apt/sources"
    apt update >&2
    rm -rf "$cache/source/$package"
    mkdir -p "$cache/source/$package"
    (cd "$cache/source/$package" && apt --only-source source "$package" >&2)
}

configure_command() {
    case $package in
        # Without parts that need further libraries.
        nginx) echo "./configure --without-http_rewrite_module --without-http_gzip_module" ;;
        *) echo ./configure ;;
    esac
}

fetch
tree=$(find "$cache/source/$package" -mindepth 1 -maxdepth 1 -type d)
[ -d "$tree" ] || fail "expected one source tree in $cache/source/$package"
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$tree/debian/changelog")
configure=${CONFIGURE:-$(configure_command)}
echo "record-build: $package $version: $configure" >&2
(cd "$tree" && sh -c "$configure" >"$cache/configure.log" 2>&1) || fail "configuring failed, see $cache/configure.log"

read -r load _ </proc/loadavg
case $load in
    0.*) ;;
    *) echo "record-build: the machine is busy (load $load): the recorded waits will be longer than necessary" >&2 ;;
esac

recording=$cache/recorded-build.toml
rm -f "$recording"
(cd "$tree" && "$lop" workload record --name recorded-build --output "$recording" -- make -j"$jobs" >"$cache/make.log") ||
    fail "the build failed, see $cache/make.log"
{
    echo "# Debian source package $package $version, configured with \`$configure\`; made by scripts/record-build.sh."
    cat "$recording"
} >"$output.part"
mv "$output.part" "$output"
sed -n '1,8p' "$output" >&2
