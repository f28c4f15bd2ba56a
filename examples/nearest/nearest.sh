#!/bin/sh
# Which of 600 words lie closest together? For each the nearest other one, by the mean of its definition's vectors.
#
#     examples/nearest/nearest.sh [FOLDER]      FOLDER gets distance.npy and word.npy; else nothing is kept
set -eu
data=$(dirname "$0")/../data
einc=${EINC:-build/einc}
out=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -r "$out"' EXIT

# The mean of the real tokens, then the nearest other mean: its squared distance and its number. Nothing of [i,j,k] or
# [i,j] is stored.
"$einc" run '
  mean[m,k] = where(@n < len[m], D[m,n,k], 0) / len[m] -> [m,k]
  (mean[i,k] - mean[j,k])^2 -> [i,j] | where(@i != @j, _, inf) | min j & argmin j
' -i D="$data/documents.npy" -i len="$data/document_lengths.npy" -o "$out/distance.npy" -o "$out/word.npy"

# The last 600 * 8 bytes of the files are the numbers, f64 and i64.
numbers() { tail -c 4800 "$2" | od -An -v -w8 -t "$1"; }
numbers f8 "$out/distance.npy" > "$out/distance.txt"
numbers d8 "$out/word.npy" > "$out/word.txt"
paste "$out/distance.txt" "$out/word.txt" | awk '
    NR == FNR { split($0, part, ":"); word[NR - 1] = part[1]; next }
    { other[FNR - 1] = $2; distance[FNR - 1] = $1 }
    END { for (i in other) printf "%.3f  %-14s %s\n", distance[i], word[i], word[other[i]] }
' "$data/documents.txt" - | sort | sed -n '1,10p'
rm "$out/distance.txt" "$out/word.txt"
