#!/usr/bin/env bash
# Golden files, about 20 s: what the command says about mistakes (tests/golden/errors/*.einc, each with its .err) and what
# each pass makes of correct programs (tests/golden/passes/*.einc, each with its .dump). A first line "#: ARGUMENTS" is
# for the command. Mistakes end with exit code 3, those in files called usage_* with 2. UPDATE=1 writes the expected
# files anew; read the difference before you commit it.
set -u
EINC=${EINC:-build/einc}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/einc-golden.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
count=0 bad=0

arguments_of() { sed -n '1s/^#: //p' "$1"; }

# compare MADE EXPECTED
compare() {
    count=$((count + 1))
    if [ "${UPDATE:-0}" = 1 ]; then
        cp "$1" "$2"
    elif ! diff -u "$2" "$1" > "$scratch/diff" 2>&1; then
        bad=$((bad + 1))
        cat "$scratch/diff"
    fi
}

for file in tests/golden/errors/*.einc; do
    "$EINC" explain "@$file" $(arguments_of "$file") > "$scratch/out" 2> "$scratch/made"
    code=$? expected=3
    case $file in */usage_*) expected=2 ;; esac
    if [ $code != $expected ] || [ -s "$scratch/out" ]; then
        echo "$file: exit code $code, and $(wc -c < "$scratch/out") bytes on stdout: expected $expected and none"
        bad=$((bad + 1))
    fi
    compare "$scratch/made" "${file%.einc}.err"
    "$EINC" compile "@$file" $(arguments_of "$file") -o "$scratch/kernel.c" > "$scratch/out" 2>&1
    code=$?
    if [ $code != $expected ] || [ -n "$(ls "$scratch" | grep kernel)" ]; then
        echo "$file: compile ends with $code and leaves $(ls "$scratch" | grep kernel): a mistake leaves nothing"
        bad=$((bad + 1))
        rm -f "$scratch"/kernel*
    fi
done

for file in tests/golden/passes/*.einc; do
    : > "$scratch/made"
    for pass in ast program order lower plan; do
        "$EINC" explain "@$file" $(arguments_of "$file") --target portable --dump $pass > "$scratch/pass" 2>&1
        [ $pass = order ] && cmp -s "$scratch/pass" "$scratch/before" && continue    # nothing is ordered
        echo "-- $pass" | cat - "$scratch/pass" >> "$scratch/made"
        cp "$scratch/pass" "$scratch/before"
    done
    compare "$scratch/made" "${file%.einc}.dump"
done

expected=$(ls tests/golden/*/*.err tests/golden/*/*.dump | wc -l)
if [ "$expected" != "$count" ]; then
    echo "tests/golden has $expected expected files for $count inputs"
    bad=$((bad + 1))
fi
echo "$count golden files, $bad wrong"
[ $bad = 0 ] && [ $count -gt 100 ]
