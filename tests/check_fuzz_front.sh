#!/usr/bin/env bash
# The front end's fuzzer with address and undefined-behaviour sanitizers, about 60 s with the build: tests/fuzz_front.c on
# the golden files and the examples of the notation, then COUNT inputs of a fixed SEED; where clang has libFuzzer, a
# quarter as many that follow coverage. More by hand: COUNT=1000000 SEED=7 bash tests/check_fuzz_front.sh
set -eu
BUILD=${BUILD:-build} CC=${CC:-cc} COUNT=${COUNT:-20000} SEED=${SEED:-1}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/einc-fuzz.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

make -s -f tests/fuzz_front.make BUILD="$BUILD" CC="$CC" FUZZER=standalone
"$BUILD/fuzz-standalone/fuzz_front" "$SEED" "$COUNT" tests/golden/*/*.einc

if ! command -v clang > /dev/null ||
   ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n ? 0 : 0; }' |
     clang -x c -fsanitize=fuzzer,address,undefined -o "$scratch/has" - 2> /dev/null; then
    echo "clang has no libFuzzer here: the second part is left out"
    exit 0
fi
make -s -f tests/fuzz_front.make BUILD="$BUILD" CC=clang FUZZER=libfuzzer
fuzzer=$(realpath "$BUILD/fuzz-libfuzzer/fuzz_front")
mkdir "$scratch/corpus"
for file in tests/golden/*/*.einc; do
    { printf T; cat "$file"; } > "$scratch/corpus/$(basename "$file")"
done
# The words of the notation, as libFuzzer wants them.
sed -n '/words\[\] = {/,/^};/p' tests/fuzz_front.c | grep -o '"[^"]*"' | grep -v '\\n' | grep -v '[^ -~]' > "$scratch/words"
cd "$scratch"
if ! "$fuzzer" -runs=$((COUNT / 4)) -seed="$SEED" -max_len=400 -len_control=0 -timeout=20 \
     -dict=words corpus > log 2>&1; then
    tail -40 log
    exit 1
fi
echo "libFuzzer: $(grep -o 'Done .*' log), $(grep -o 'cov: [0-9]*' log | tail -1)"
