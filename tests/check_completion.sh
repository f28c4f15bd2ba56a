#!/usr/bin/env bash
# The bash completion, sourced and asked as bash asks it; and that the man page names each command and option of the
# help. About 3 s.
set -eu
EINC=$(realpath "${EINC:-build/einc}")
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/work"
ln -s "$EINC" "$folder/bin/einc"
PATH=$folder/bin:$PATH
export COLUMNS=200
source cli/einc.bash
cd "$folder/work"
touch queries.npy documents.npy notes.txt kernel.c product.ein
checks=0

# complete WORDS... : the last is what is being typed
completions()
{
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _einc
    printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd ' '    # as bash shows them
}

expect()
{
    local expected=$1 got
    shift
    got=$(completions "$@")
    checks=$((checks + 1))
    if [ "$got" != "$expected" ]; then
        echo "completing '$*': expected '$expected', but got '$got'"
        exit 1
    fi
}

complete -p einc | grep -q _einc
expect "--version bench cache compile doctor explain help run" einc ""
expect "compile" einc comp
expect "cache" einc ca
expect "--version" einc --v
expect "clear ls path" einc cache ""
expect "clear" einc cache c
expect "run" einc help ru
expect "--memory" einc run 'ij->i' --mem
expect "--header --help" einc compile 'ij->i' --he
expect "--json" einc explain 'ij->i' --js
expect "" einc run 'ij->i' --js
expect "documents.npy queries.npy" einc run 'ij,jk' -i ""
expect "queries.npy" einc run 'ij,jk' -i q
expect "queries.npy" einc run 'ij,jk' -i Q = que
expect "kernel.c" einc compile 'ij' -o ""
expect "avx2 avx512 avx512bf16 avx512vnni" einc run 'ij' --target avx
expect "amx" einc run 'ij' --target am
expect "avx2 avx512 avx512bf16 avx512vnni" einc run 'ij' --target = avx
expect "cpu cuda" einc run 'ij' --device ""
expect "plan" einc explain 'ij' --dump pl
expect "@product.ein" einc run @prod
expect "" einc run 'ij' -d ""

for command in run explain compile bench cache doctor help; do
    grep -q "^\.SS.*einc $command\|^\.B einc $command\|einc $command" "$root/docs/einc.1" || { echo "einc.1 lacks $command"; exit 1; }
    for option in $(einc help "$command" | sed -n 's/^  \(-[a-z], \)\{0,1\}--\([a-z-]*\).*/\2/p'); do
        checks=$((checks + 1))
        grep -q -e "\\\\-\\\\-${option//-/\\\\-}" "$root/docs/einc.1" || { echo "einc.1 lacks --$option"; exit 1; }
    done
done
for target in $(einc help run | sed -n '/^targets:/,$s/^  \([a-z0-9]*\) .*/\1/p'); do
    checks=$((checks + 1))
    grep -q "^\.BR\? $target\b" "$root/docs/einc.1" || { echo "einc.1 lacks the target $target"; exit 1; }
done
if command -v man >/dev/null; then
    checks=$((checks + 1))
    problems=$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$root/docs/einc.1" 2>&1 >/dev/null)
    [ -z "$problems" ] || { echo "einc.1: $problems"; exit 1; }
fi
echo "check_completion.sh: $checks checks"
