#!/bin/sh
# A convolution with padding: the outline of a disc. einc makes the picture and the filter, too.
#
#     examples/convolution/convolution.sh [FOLDER]      FOLDER gets picture.npy, filter.npy and outline.npy
set -eu
einc=${EINC:-build/einc}
out=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -r "$out"' EXIT

"$einc" run 'where((2 * (@h - 11.5))^2 + (@w - 31.5)^2 < 900, 1, 0) -> [h,w]:f32' -d h=24,w=64 -o "$out/picture.npy"
"$einc" run 'where(@r == 1 && @s == 1, 8, -1) -> [r,s]:f32' -d r=3,s=3 -o "$out/filter.npy"

# What lies outside of the picture is never read: where() picks 0 there.
"$einc" run '
  where(@h+@r >= 1 && @h+@r <= 24 && @w+@s >= 1 && @w+@s <= 64, x[h+r-1,w+s-1], 0) * filter[r,s] -> [h,w]
' -d h=24,w=64 -i x="$out/picture.npy" -i filter="$out/filter.npy" -o "$out/outline.npy"

tail -c $((24 * 64 * 4)) "$out/outline.npy" | od -An -v -w256 -t f4 |
    awk '{ line = ""; for (i = 1; i <= NF; i++) line = line ($i > 0 ? "#" : $i < 0 ? "." : " "); print line }'
