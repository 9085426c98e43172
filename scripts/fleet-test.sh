#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-test.sh: the exact checks of fleet/: format, licences, vet, tests, built with -trimpath. Of fleet/cmd/, which takes long to build, only the format.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh cc go
go=$(scripts/go.sh)
export GOFLAGS=-trimpath CGO_ENABLED=1
cd fleet
unformatted=$("$("$go" env GOROOT)/bin/gofmt" -l .)
[ -z "$unformatted" ] || { echo "fleet-test.sh: gofmt -w $unformatted"; exit 1; }

# Whether the text of a licence that goes with Apache-2.0 is in the folder of a module: that one, MIT, BSD or ISC.
is_permissive() {
  find "$1" -maxdepth 1 -iname 'licen[cs]e*' -exec \
    grep -qE 'Apache License|Redistribution and use in source and binary forms|Permission (is hereby granted|to use, copy)' {} +
}
modules=0
while read -r module folder; do
  modules=$((modules + 1))
  is_permissive "$folder" || { echo "fleet-test.sh: $module: not known to be under Apache-2.0, MIT, BSD or ISC: see $folder"; exit 1; }
done < <("$go" list -deps -f '{{with .Module}}{{.Path}} {{.Dir}}{{end}}' ./... | sort -u)
[ "$modules" -gt 20 ] || { echo "fleet-test.sh: go list names $modules modules only: not what the plugin links"; exit 1; }
echo "$modules modules, all of permissive licences"

# Vet looks at all that is linked, so it is run once, with all it has, and not by `go test` again.
"$go" vet ./...
"$go" test -vet=off -count=1 ./...
