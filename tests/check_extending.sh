#!/usr/bin/env bash
# Follows docs/extending.md: applies its diffs to a copy of the tree, builds that, and runs the page's examples with it.
# Takes about 40 s. With --update, the page gets the outputs as they are now.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r Makefile LICENSE README.md cli compiler docs runtime scripts templates tests "$folder"
awk '/^```diff/ { on = 1; next } /^```/ { on = 0 } on' docs/extending.md >"$folder/all.diff"
patch -s -p1 -d "$folder" <"$folder/all.diff"
make -s -C "$folder" -j2 BUILD=build CFLAGS=-O0 all
cd "$folder"
EXTENDED=1 EINC=build/einc BUILD=build "${PYTHON:-python3}" tests/check_docs.py docs/extending.md "$@"
cd "$OLDPWD"
[ "${1:-}" != --update ] || cp "$folder/docs/extending.md" docs/extending.md
echo "applied $(grep -c '^@@' "$folder/all.diff") changes"
