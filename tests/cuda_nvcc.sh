#!/usr/bin/env bash
# nvcc for machines without one: programs of the host and kernels together run in tests/cuda_emulator.h, whose device is the
# host. Takes sources, "-o PROGRAM" and -l; leaves other flags out.
set -euo pipefail
here=$(dirname "$0") sources=() libraries=() program=a.out
while [ $# -gt 0 ]; do
    case $1 in
        -o) program=$2; shift ;;
        -x) shift ;;
        -l*) libraries+=("$1") ;;
        -*) ;;
        *) sources+=("$1") ;;
    esac
    shift
done
"${CXX:-g++}" -xc++ -std=c++11 -O1 -w -U_FORTIFY_SOURCE -ffp-contract=fast -I"$here/cuda_host" -include "$here/cuda_emulator.h" "${sources[@]}" \
    -o "$program" "${libraries[@]}"
