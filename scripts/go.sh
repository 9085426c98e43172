#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# go.sh: prints the go command that builds fleet/: the one on PATH, or, if that is older than fleet/go.mod requires, one that it fetches once as a
# module from the module proxy (GOPROXY) into the module cache, verified by the checksum database.
set -euo pipefail
cd "$(dirname "$0")/.."
asked=$(awk '$1 == "go" { print $2 }' fleet/go.mod)
cd /
export GOTOOLCHAIN=local GOFLAGS=
have=$(go env GOVERSION)
have=${have#go}
if printf '%s\n' "$asked" "${have%% *}" | sort -VC; then
  command -v go
  exit
fi
module=golang.org/toolchain@v0.0.1-go$asked.$(go env GOOS)-$(go env GOARCH)
echo "go.sh: go ${have%% *} is older than fleet/go.mod requires: $module" >&2
root=$(go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
# Modules do not keep executable bits.
chmod +x "$root"/bin/* "$root"/pkg/tool/*/*
echo "$root/bin/go"
