#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The compiler of BPF programs for cargo (.cargo/config.toml): runs the clang that clang.sh chooses.
exec "$("${0%/*}/clang.sh")" "$@"
