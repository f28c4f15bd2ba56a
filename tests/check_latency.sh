#!/usr/bin/env bash
# How long a kernel takes from its string to its result: cold, from the disk, and from memory, each beside its goal in
# the same run. About 10 s.
# Runs alone: it measures time.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
EINC_CACHE_DIR=$folder/cache CC=${CC:-cc} "${BUILD:-build}/tests/latency_main" "${CC:-cc}" "$folder"
echo "check_latency.sh: 5 figures, none above its limit"
