#!/usr/bin/env bash
# Builds and runs every example and compares what it computes: about 15 s, twice that on a busy machine.
#
# The programs in C compare with their own plain loops and exit with 1; that they notice a wrong number is tested with
# altered data. What the scripts and the demo's commands compute is compared with numpy.
set -u
: "${BUILD:=build}" "${EINC:=$BUILD/einc}" "${PYTHON:=python3}" "${CC:=cc}" "${MAKE:=make}"
EINC=$(realpath "$EINC") || exit 1
export EINC
data=examples/data
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export EINC_CACHE_DIR=$scratch/cache
checked=0 wrong=0

fail() { echo "examples: $*" >&2; wrong=$((wrong + 1)); }
right() { checked=$((checked + 1)); }
# expect NAME COMMAND...: it succeeds; its output is in $scratch/NAME and shown when it does not
expect() {
    local name=$1
    shift
    "$@" > "$scratch/$name" 2> "$scratch/$name.err" < /dev/null && { right; return 0; }
    fail "$name failed: $*"
    cat "$scratch/$name" "$scratch/$name.err" >&2
    return 1
}
holds() { if grep -q -- "$2" "$scratch/$1"; then right; else fail "$1 does not print '$2'"; fi; }
numpy() { expect "$1" "$PYTHON" -c "import sys, numpy as np; D = '$data/'; O = '$scratch/'
def close(name, found, expected, error):
    assert found.shape == expected.shape, (name, found.shape, expected.shape)
    assert np.abs(found - expected).max() <= error, (name, np.abs(found - expected).max())
$2"; }

# ---- the data ----

expect sums sh -c "cd $data && sha256sum -c --quiet SHA256SUMS"
[ "$(ls $data | grep -vc SHA256SUMS)" = "$(wc -l < $data/SHA256SUMS)" ] && right || fail "SHA256SUMS lists other files than $data has"

# ---- programs in C ----

expect build "$MAKE" -s BUILD="$BUILD" CC="$CC" examples || exit 1
expect api "$BUILD/examples/api"
holds api '^scores 4 5$'
for name in heads gradient chain embed; do
    expect "$name" "$BUILD/examples/$name"
done
holds chain '^peak memory'
[ "$(sed -n 's/^peak memory *\([0-9]*\)\..*/\1/p' "$scratch/chain")" -lt 40 ] && right || fail "the chain takes 40 MB or more"

# ---- the demo ----

expect demo "$BUILD/examples/demo" "$data"
# Its answers are the first three of each question's five in top5.txt: score and text.
sed -n 's/^ *\([0-9]\.[0-9][0-9]\)  \(.\{20\}\).*/\1 \2/p' "$scratch/demo" > "$scratch/answers"
grep -q $'\033' "$scratch/demo" && fail "the demo colours a pipe" || right
numpy answers_check "
best = np.argsort(-np.load(D + 'scores.npy'), axis=1, kind='stable')[:, :3]
texts = open(D + 'documents.txt').read().splitlines()
scores = np.load(D + 'scores.npy')
expected = ['%.2f %s' % (scores[i, m], texts[m][:20]) for i in range(16) for m in best[i]]
found = open(O + 'answers').read().splitlines()
assert [f[5:] for f in found] == [e[5:] for e in expected], (found, expected)
assert all(abs(float(f[:4]) - float(e[:4])) < 0.011 for f, e in zip(found, expected)), (found, expected)
"
[ "$(grep -c ' right$' "$scratch/demo")" = 4 ] && right || fail "the demo does not compare four forms"

# Another score in the file, one other number in the documents: it must say so.
cp -r $data "$scratch/altered"
chmod -R u+w "$scratch/altered"
printf '\x00\x00\xc0\x40' | dd of="$scratch/altered/scores.npy" bs=1 seek=20000 conv=notrunc status=none
"$BUILD/examples/demo" "$scratch/altered" > "$scratch/altered.out" 2>&1 && fail "the demo takes a wrong score" || right
holds altered.out WRONG
cp $data/scores.npy "$scratch/altered/"
printf '\x40\x56' | dd of="$scratch/altered/documents.npy" bs=1 seek=200 conv=notrunc status=none
"$BUILD/examples/demo" "$scratch/altered" > "$scratch/altered.out" 2>&1 && fail "the demo takes wrong vectors" || right
rm "$scratch/altered/queries.npy"
"$BUILD/examples/demo" "$scratch/altered" > "$scratch/altered.out" 2>&1 && fail "the demo needs no questions" || right
holds altered.out 'queries.npy is missing'

# The commands that it prints, each up to an empty line.
awk '/^  build\/einc/ { n++ } /^$/ { open = 0 } /^  build\/einc/ { open = 1 }
     open { sub(/^  build\/einc/, "\"$EINC\""); print > (folder "/command" n) }' folder="$scratch" "$scratch/demo"
for n in 1 2; do
    [ -f "$scratch/command$n" ] || { fail "the demo prints no command $n"; continue; }
    echo " -o '$scratch/scores$n.npy'" | cat <(sed '$ s/$/ \\/' "$scratch/command$n") - > "$scratch/run$n"
    expect "run$n.out" sh "$scratch/run$n"
done
numpy commands_check "
for n in '12':
    close(n, np.load(O + 'scores%s.npy' % n), np.load(D + 'scores.npy'), 1e-5)
"
expect command3.out sh "$scratch/command3"
holds command3.out 'not stored'

# ---- scripts ----

expect nearest examples/nearest/nearest.sh "$scratch"
holds nearest 'leopard  *tiger$'
numpy nearest_check "
X, n = np.load(D + 'documents.npy').astype(float), np.load(D + 'document_lengths.npy')
mean = X.sum(1) / n[:, None]
d = ((mean[:, None] - mean[None]) ** 2).sum(-1)
np.fill_diagonal(d, np.inf)
close('distance', np.load(O + 'distance.npy'), d.min(1), 1e-9)
assert (np.load(O + 'word.npy') == d.argmin(1)).all()
"
expect convolution examples/convolution/convolution.sh "$scratch"
numpy convolution_check "
h, w = np.mgrid[:24, :64]
x = ((2 * (h - 11.5)) ** 2 + (w - 31.5) ** 2 < 900).astype(float)
close('picture', np.load(O + 'picture.npy'), x, 0)
p = np.pad(x, 1)
sums = sum(p[r:r + 24, s:s + 64] for r in range(3) for s in range(3))
close('outline', np.load(O + 'outline.npy'), 9 * x - sums, 1e-6)
lines = open(O + 'convolution').read().splitlines()
assert len(lines) == 24 and sum(l.count('#') for l in lines) == (9 * x - sums > 0).sum()
"

# ---- a kernel for CUDA, in an emulator; nvcc compiles it where that is ----

mkdir "$scratch/cuda" "$scratch/altered_cuda"
expect cuda.built "$MAKE" -s -C examples/cuda NVCC="$PWD/tests/cuda_nvcc.sh" OUT="$scratch/cuda"
expect cuda.out "$scratch/cuda/cuda"
cp examples/cuda/* "$scratch/altered_cuda"
sed -i 's/{ LONGEST \* WIDTH, WIDTH, 1 }/{ LONGEST * WIDTH, WIDTH, 0 }/' "$scratch/altered_cuda/main.c"
expect altered_cuda.built "$MAKE" -s -C "$scratch/altered_cuda" NVCC="$PWD/tests/cuda_nvcc.sh"
"$scratch/altered_cuda/cuda" > "$scratch/altered.out" 2>&1 && fail "the example for CUDA takes wrong strides" || right
holds altered.out 'max error'
nvcc=$("$PYTHON" tests/cuda_tools.py nvcc)
if [ -n "$nvcc" ]; then
    expect nvcc "$MAKE" -s -C examples/cuda NVCC="$nvcc -L$(dirname "$nvcc")/../lib" OUT="$scratch/cuda" NVCCFLAGS='-O2 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror' -B
fi

# ---- generated files are what einc generates today ----

for files in embed/attention.c embed/attention.h cuda/maxsim.cu cuda/maxsim.h; do
    folder=${files%/*}
    [ -d "$scratch/project/$folder" ] || { mkdir -p "$scratch/project" && cp -r "examples/$folder" "$scratch/project/" &&
        expect "regenerate_$folder" "$MAKE" -s -C "$scratch/project/$folder" regenerate EINC="$EINC"; }
    cmp -s "examples/$files" "$scratch/project/$files" && right ||
        fail "examples/$files is not what einc generates: make -C examples/$folder regenerate EINC=\$PWD/build/einc"
done

[ $wrong = 0 ] && echo "examples: $checked checks passed" || { echo "examples: $wrong checks failed" >&2; exit 1; }
