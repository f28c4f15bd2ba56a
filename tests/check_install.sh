#!/usr/bin/env bash
# Installs into an empty folder, then uses what is there as another project would: pkg-config, a program linked with
# the shared library and with the static one, exported symbols, the command, man page and completion. About 20 s.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
make_here() { make -s -j2 BUILD="$scratch/build" PREFIX="$prefix" CC="$CC" CFLAGS=-O0 "$@"; }
fail() { echo "check_install: $*" && exit 1; }
same() { diff <(echo "$1") <(echo "$2") || fail "$3"; }

make_here install
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig MANPATH=$prefix/share/man
version=$(pkg-config --modversion einc)
same "$("$prefix/bin/einc" --version | grep -o "$version")" "$version" "the command and einc.pc disagree about the version"

# What the header declares, and nothing else, is exported: by the shared library and by the static one.
declared=$(sed -n 's/^EINC_API .*[ *]\(einc_[a-z_]*\)(.*/\1/p' runtime/einc.h | sort)
same "$declared" "$(nm -D --defined-only "$prefix/lib/libeinc.so" | awk '{ print $3 }' | sort)" "the shared library's symbols"
same "$declared" "$(nm -g --defined-only "$prefix/lib/libeinc.a" | awk 'NF == 3 { print $3 }' | sort)" "the static one's"
abi=$(sed -n 's/^#define EINC_ABI \([0-9]*\).*/\1/p' runtime/einc.h)
same "libeinc.so.$abi" "$(objdump -p "$prefix/lib/libeinc.so" | awk '/SONAME/ { print $2 }')" "the SONAME"

# A program of its own, in C and in C++.
cat >"$scratch/program.c" <<'END'
#include <einc.h>
#include <stdio.h>
int main(void)
{
    float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 1, 0, -1, 2, 0, 1 }, c[2] = { 0, 0 };
    int64_t of_a[] = { 2, 3 }, of_b[] = { 2, 3 }, of_c[] = { 2 };
    DLTensor x = einc_tensor(a, "f32", 2, of_a), y = einc_tensor(b, "f32", 2, of_b), z = einc_tensor(c, "f32", 1, of_c);
    const DLTensor *in[] = { &x, &y };
    DLTensor *out[] = { &z };
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, "ik,jk->ij | max j", NULL);
    int status = kernel ? einc_call(kernel, in, 2, out, 1, NULL) : EINC_FAILED;
    printf(status ? "%s" : "%s%g %g\n", einc_error(context), c[0], c[1]);
    einc_kernel_free(kernel);
    einc_context_free(context);
    return status;
}
END
# Rows of a: (1,2,3) and (4,5,6); with (1,0,-1): -2, -2; with (2,0,1): 5, 14.
flags="-Wall -Wextra -Wpedantic -Werror"
$CC -std=c11 $flags -o "$scratch/shared" "$scratch/program.c" $(pkg-config --cflags --libs einc) -Wl,-rpath,"$prefix/lib"
same "5 14" "$("$scratch/shared")" "the program with the shared library"
readelf -d "$scratch/shared" | grep -q "libeinc.so.$abi" || fail "the program does not use the shared library"
c++ -x c++ -std=c++17 $flags -o "$scratch/cxx" "$scratch/program.c" $(pkg-config --cflags --libs einc) \
    -Wl,-rpath,"$prefix/lib"
same "5 14" "$("$scratch/cxx")" "the program in C++"
$CC -std=c11 $flags -o "$scratch/static" "$scratch/program.c" $(pkg-config --cflags einc) "$prefix/lib/libeinc.a" \
    $(pkg-config --libs-only-l --static einc | sed 's/-leinc//')
same "5 14" "$("$scratch/static")" "the program with the static library"
readelf -d "$scratch/static" | grep -q libeinc && fail "the static program needs the shared library"

# The command, away from the source tree.
cd "$scratch"
"$PYTHON" -c 'import numpy; numpy.save("a.npy", numpy.arange(6.0).reshape(2, 3))'
"$prefix/bin/einc" run 'ik,jk->ij | max j' -i a.npy -i a.npy -o c.npy
"$PYTHON" -c 'import numpy; assert numpy.load("c.npy").tolist() == [14.0, 50.0]' || fail "the installed command"
cd - >/dev/null

same "$prefix/share/man/man1/einc.1" "$(man -w einc)" "the man page is not found"
same "" "$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 "$prefix/share/man/man1/einc.1" 2>&1 >/dev/null)" \
    "the man page has mistakes"
bash -eu -c 'source "$1"; complete -p einc' - "$prefix/share/bash-completion/completions/einc" >/dev/null ||
    fail "the completion"

# A staged installation has the same files; an uninstallation leaves none.
make_here install DESTDIR="$scratch/stage"
files=$(cd "$prefix" && find . ! -type d | sort)
same "$files" "$(cd "$scratch/stage/$prefix" && find . ! -type d | sort)" "DESTDIR"
make_here uninstall
same "" "$(find "$prefix" ! -type d)" "files left by make uninstall"
echo "$(echo "$files" | wc -l) files installed, $(echo "$declared" | wc -l) functions exported, 4 programs run"
