#!/usr/bin/env bash
# The templates as they stand, cross-compiled for aarch64 and run under qemu: NEON's regions, plain vectors, scalars.
# About 50 s.
set -eu
cross=aarch64-linux-gnu-gcc
for tool in $cross qemu-aarch64-static; do
    command -v $tool >/dev/null || { echo "this machine has no $tool" && exit 77; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

tests=0
check() {
    local program=$1 && shift
    $cross -static -O2 -std=c11 -Wall -Wextra -Wpedantic -Werror -Wno-psabi -D_GNU_SOURCE -Icompiler -Itests/cross "$@" \
        -o "$scratch/program" "tests/$program.c" -lm
    if ! qemu-aarch64-static "$scratch/program" >"$scratch/output" || ! grep -q ' 0 failed' "$scratch/output"; then
        echo "$program $*:" && cat "$scratch/output" && exit 1
    fi
    tests=$((tests + $(grep -c ' OK ' "$scratch/output")))
}

check test_template_extremes -DLANES=2 -DEINC_NEON
check test_template_memory -DLANES=2 -DEINC_NEON
check test_template_numbers -DLANES=2 -DEINC_NEON
check test_template_extremes -DLANES=4 -DEINC_NEON
check test_template_memory -DLANES=4 -DEINC_NEON
check test_template_numbers -DLANES=4 -DEINC_NEON
check test_template_functions -DLANES=4 -DEINC_NEON
check test_template_contract -DLANES=4 -DEINC_NEON
check test_template_memory -DLANES=4
check test_template_numbers -DLANES=4
check test_template_memory -DEINC_SCALAR
check test_template_numbers -DEINC_SCALAR
echo "$tests tests of the templates on aarch64"
