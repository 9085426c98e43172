#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-test.sh: the exact checks of fleet/: format, vet, tests, built with -trimpath.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh cc go
go=$(scripts/go.sh)
export GOFLAGS=-trimpath CGO_ENABLED=1
cd fleet
unformatted=$("$("$go" env GOROOT)/bin/gofmt" -l .)
[ -z "$unformatted" ] || { echo "fleet-test.sh: gofmt -w $unformatted"; exit 1; }
"$go" vet ./...
"$go" test -count=1 ./...
