#!/bin/sh
# quick_cc.sh CC ARGUMENT...: compiles kernels in half of the time, not optimised, for tests of many that hardly run.
exec "$@" -O0
