#!/usr/bin/env bash
# The compiler of BPF programs for cargo (.cargo/config.toml): the clang that clang.sh chooses.
exec "$("${0%/*}/clang.sh")" "$@"
