#!/usr/bin/env bash
# A C compiler to einc that takes kernels for CUDA and makes objects in which they run in tests/cuda_emulator.h. It takes
# --version, and a text on stdin with "-o OBJECT" among flags that it leaves out. CUDA_FAULT is a script for sed -z that spoils
# the text; one that changes nothing is an error. "--precompile HEADER" makes a precompiled header of the emulator, to be taken where
# CUDA_EMULATOR names it. CUDA_LEVEL is how much it optimises: -Og without it.
set -euo pipefail
here=$(dirname "$0")
if [ "$1" = --version ]; then
    echo "gcc in the place of nvcc, $(cat "$0" "$here"/cuda_*.h | sha256sum | cut -c1-16)"
    exit
fi
fma=$(grep -qw fma /proc/cpuinfo 2> /dev/null && echo -mfma || true)
compile() {
    "${CXX:-g++}" "$@" -std=c++11 ${CUDA_LEVEL:--Og} -fPIC -w -U_FORTIFY_SOURCE $fma -ffp-contract=fast -DEMULATED_RACES \
        -fsanitize=thread --param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0
}
if [ "$1" = --precompile ]; then
    echo "#include \"$(realpath "$here")/cuda_emulator.h\"" > "$2"
    compile -xc++-header "$2" -o "$2.gch"
    exit
fi
while [ "$1" != -o ]; do
    shift
done
spoil() {
    if [ -z "${CUDA_FAULT:-}" ]; then
        cat
    else
        text=$(cat) changed=$(sed -zE "$CUDA_FAULT" <<< "$text")
        [ "$text" != "$changed" ] || { echo "the kernel has nothing that '$CUDA_FAULT' changes" >&2; exit 1; }
        echo "$changed"
    fi
}
# What the launcher in the file does, others may do, too: each kernel by its name.
name_kernels() {
    text=$(cat)
    echo "$text"
    echo "template <class F> static size_t frame_bytes(void (*)(const F)) { return sizeof(F); }"
    tr '\n' ' ' <<< "$text" | grep -oE '__global__ void __launch_bounds__\([A-Z_0-9, ]*\) +\w+' | grep -oE '\w+$' | while read -r kernel; do
        echo "extern \"C\" int emulated_$kernel(void **arguments, unsigned blocks, unsigned threads)"
        echo "{ return cudaLaunchKernel($kernel, dim3(blocks), dim3(threads), arguments, 0, NULL); }"
        echo "extern \"C\" size_t frame_bytes_$kernel() { return frame_bytes($kernel); }"
    done
}
{ spoil; echo "__shared__ char behind_all_arrays;"; } | name_kernels | compile -xc++ -include "${CUDA_EMULATOR:-$here/cuda_emulator.h}" -c - -o "$2.o"
"${CXX:-g++}" -shared "$2.o" -o "$2"
rm "$2.o"
