#!/bin/sh
# scalar_cc.sh CC ARGUMENT...: compiles kernels whose instructions this CPU lacks. Vectors become plain C, and tiles what models
# them.
for argument; do
    shift
    case $argument in
    -mavx* | -mfma | -mf16c) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec "$@" -DEINC_SCALAR '-Dtarget(x)=unused'
