#!/usr/bin/env bash
# The build itself, in a copy of the sources whose path has a space: with the other compiler without optimisation, and
# with the sanitizers, whose build runs the unit tests and makes the golden files; nothing is made twice. About 140 s.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
copy="$scratch/a copy"
mkdir "$copy"
tar -c --exclude=./.git --exclude='./build*' . | tar -x -C "$copy"
cd "$copy"
unset BUILD EINC
fail() { echo "check_build: $*" && exit 1; }

# The expression that every build has to get through: parser, planner, emitter.
works() { "$1/einc" explain 'ijk,mnk->ijmn | max n | sum j' -d i=3,j=4,m=5,n=6,k=7 >/dev/null || fail "$1/einc"; }

case $($CC --version) in *clang*) other=gcc ;; *) other=clang ;; esac
command -v $other >/dev/null || fail "no $other"
make -s -j2 CC=$other DEBUG=1
works build-debug
make -q CC=$other DEBUG=1 || fail "a build with nothing changed makes something"
touch -r compiler/planning.h "$scratch/time" && touch compiler/planning.h
make -n CC=$other DEBUG=1 | grep -q -- '-o build-debug/compiler/plan.o' || fail "a changed header makes nothing"
make -n CC=$other DEBUG=1 | grep -q -- '-o build-debug/runtime/npy.o' && fail "a changed header makes what does not include it"
touch -r "$scratch/time" compiler/planning.h
before=$(cat build-debug/identity.c)
echo >>templates/stream.c
make -s -j2 CC=$other DEBUG=1
[ "$before" != "$(cat build-debug/identity.c)" ] || fail "a changed template is the same compiler to the cache"
make -n CC="$other -O3" DEBUG=1 | grep -q -- '-o build-debug/runtime/npy.o' || fail "changed flags make nothing"

# Functions are as precise with that compiler, which fuses products and sums by other rules, where this CPU has the instructions.
functions=test_template_functions
ran=
for variant in $([ "$(uname -m)" = x86_64 ] && echo 4 8-EINC_FMA 16-EINC_AVX512); do
    make -s BUILD=build-other CC=$other build-other/tests/$functions.$variant
    status=0
    "build-other/tests/$functions.$variant" >"$scratch/output" 2>&1 || status=$?
    case $status in
    0) ran="$ran $variant" ;;
    77) ran="$ran (not $variant)" ;;
    *) cat "$scratch/output" && fail "$functions.$variant with $other" ;;
    esac
done

units="test_array test_evaluate test_evaluate_bounds test_npy_read test_npy_write"
make -s -j2 CC="$CC" SANITIZE=1 CFLAGS=-O0 all $(for unit in $units; do echo "build-sanitize/tests/$unit"; done)
works build-sanitize
nm -D build-sanitize/einc | grep -q __asan_ || fail "the sanitizers are not in the build"
for unit in $units; do
    "build-sanitize/tests/$unit" >"$scratch/output" 2>&1 || { cat "$scratch/output" && fail "$unit with the sanitizers"; }
done
EINC=build-sanitize/einc bash tests/check_golden.sh >"$scratch/output" 2>&1 || { cat "$scratch/output" && fail "golden files with the sanitizers"; }
echo "built with $other without optimisation, and with sanitizers: $(echo "$units" | wc -w) unit tests run; its functions are precise:$ran"
