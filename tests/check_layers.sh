#!/usr/bin/env bash
# The layers of docs/design.md, about 2 s: includes point one way, only the check reads the Ast, the compiler has no
# writable globals, no input or output and no exit, and nothing in compiler/ or templates/ knows an expression. And what is tracked.
set -u
BUILD=${BUILD:-build}
bad=0 checked=0

complain() { echo "$1"; bad=$((bad + 1)); }

# The layer of a file of compiler/, by its name; each may include its own and lower ones.
layer_of() {
    case $1 in
        arena.*|text.*|diag.*) echo 1 ;;
        dtype.*|ops.*|ast.*|ast_*|parse*|lex.*) echo 2 ;;
        program.*|program_*|semiring.*|check.*|check_*|extents.*) echo 3 ;;
        bundle.*|coalesce.*|gather.*|plan.*|plan_*|planning.*|product.*|product_*|order.*|order_*|ordering.*|turn.*|cost.*|size.*|scale.*|state.*|target.*|target_*|lower.*|lower_*|lowering.*) echo 4 ;;
        emit.*|emit_*|emitting.*|library.*|names.*|embedded.*) echo 5 ;;
        compile.*|compile_*) echo 6 ;;
        *) echo 0 ;;
    esac
}

includes_of() { sed -n 's/^#include "\([^"]*\)".*/\1/p' "$1"; }

for file in compiler/*; do
    own=$(layer_of "$(basename "$file")")
    [ "$own" = 0 ] && complain "$file: which layer is it? Say so in $0"
    for header in $(includes_of "$file"); do
        other=$(layer_of "$header")
        checked=$((checked + 1))
        [ "$other" = 0 ] && complain "$file includes $header, which is no header of compiler/"
        [ "$other" -gt "$own" ] && complain "$file (layer $own) includes $header (layer $other)"
    done
done
for file in runtime/*.[ch]; do
    for header in $(includes_of "$file"); do
        checked=$((checked + 1))
        [ -e "runtime/$header" ] || [ -e "compiler/$header" ] || complain "$file includes $header, which is no header below it"
    done
done
for file in templates/*.* templates/*/*; do
    for header in $(includes_of "$file"); do
        checked=$((checked + 1))
        [ -e "$(dirname "$file")/$header" ] || complain "$file includes $header, which is no template"
    done
done

# What is tracked at the top, and nothing that a run left behind.
for name in $(git ls-tree --name-only HEAD 2> /dev/null); do
    checked=$((checked + 1))
    case $name in
        .ci|.gitattributes|.gitignore|LICENSE|Makefile|README.md|bench|cli|compiler|docs|examples|runtime|scripts|templates|tests) ;;
        *) complain "$name does not belong into the repository; if it does, say so in $0" ;;
    esac
done

# Who names a part of the Ast. Others may hold a pointer to a whole one, to pass it on.
for file in $(grep -lE '\bAst[A-Z][A-Za-z]*|\bast->' compiler/*.[chy] runtime/*.[ch] cli/*.[ch]); do
    checked=$((checked + 1))
    case $(basename "$file") in
        ast*|parse*|check*) ;;
        *) complain "$file reads the Ast: $(grep -nE '\bAst[A-Z][A-Za-z]*|\bast->' "$file" | head -1)" ;;
    esac
done

# Planner and emitters read the struct Target, and name no target.
for name in $(sed -n 's/^ *{* *\.name = "\([a-z0-9-]*\)".*/\1/p' compiler/target.c) avx512 avx2 neon sm_[0-9]+a?; do
    checked=$((checked + 1))
    found=$(sed -s 's|/\*.*\*/||' compiler/plan*.[ch] compiler/product.[ch] compiler/turn.[ch] compiler/emit*.[ch] compiler/lower*.[ch] \
                compiler/cost.c | grep -iE "\b$name\b" | grep -v portable)
    [ -n "$found" ] && complain "a target is named outside target.c: $found"
done

for object in "$BUILD"/compiler/*.o "$BUILD"/parse.o "$BUILD"/lex.o; do
    [ -e "$object" ] || { complain "$object is not built"; continue; }
    checked=$((checked + 1))
    # Flex names stdout, and Bison has a stack that it would grow with malloc; both are never used.
    calls=$(nm -u "$object" | grep -wE 'printf|fprintf|puts|putchar|fputs|fwrite|fopen|open|read|write|exit|_exit|abort|getenv|system|stderr|setlocale')
    [ -n "$calls" ] && complain "$object calls $(echo $calls)"
    data=$(size -A "$object" | awk '($1 == ".data" || $1 == ".bss") && $2 > 0 { print $1, $2 }')
    [ -n "$data" ] && complain "$object has writable globals: $data"
    case $object in *arena.o|*/parse.o) ;; *)
        heap=$(nm -u "$object" | grep -wE 'malloc|calloc|realloc|free')
        [ -n "$heap" ] && complain "$object takes memory beside the arena: $(echo $heap)" ;;
    esac
done

# Names of problems that expressions solve: none is known to the compiler or to a template.
problems='max_?sim|colbert|late.interaction|attention|transformer|chamfer|viterbi|convol|mat_?mul|gemm|cross.?entropy|nearest.neighbo|gaussian.kernel|flash'
for file in compiler/* templates/*.* templates/*/*; do
    checked=$((checked + 1))
    found=$(grep -niE "$problems" "$file" | grep -v 'docs/' | head -1)
    [ -n "$found" ] && complain "$file knows an expression: $found"
done

echo "$checked files, includes and words checked, $bad wrong"
[ $bad = 0 ] && [ $checked -gt 200 ]
