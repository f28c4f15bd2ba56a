#!/usr/bin/env python3
# Generated files: the same bytes for the same input, warning-free as C11 and as C++17 with gcc and clang for x86-64 and
# aarch64, the golden ones as they were blessed; programs for aarch64 under qemu. About 60 s.
#
#     tests/check_generated.py --bless      writes tests/golden/kernels/*.c anew: read the difference before you commit
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

EINC = os.path.abspath(os.environ.get("EINC", os.path.join(os.environ.get("BUILD", "build"), "einc")))
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "kernels")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
TARGETS = ["portable", "avx2", "avx512"]
NARROW_TARGETS = ["avx512bf16", "amx", "avx512vnni,sapphirerapids,amx"]    # of kernels that multiply bf16, i8 or i16
COMPILERS = [["gcc", "-std=c11"], ["clang", "-std=c11"],
             ["g++", "-std=c++17", "-xc++"], ["clang++", "-std=c++17", "-xc++"]]
CROSS = [["aarch64-linux-gnu-gcc", "-std=c11"], ["aarch64-linux-gnu-g++", "-std=c++17", "-xc++"]]

# name: the expression and options of einc compile. Those in the first group have a golden file.
KERNELS = {
    "maxsim": ("ijk,mnk->ijmn | max n | sum j", []),
    "packed_maxsim": (
        "Q[i,j,k], D[start[m]:i64+n,k] -> [i,j,m,n] | where(@n < len[m]:i64, _, -inf) | max n | sum j", []),
    "short_maxsim": ("jk,mnk->jmn | max n | sum j", ["-d", "j=16,k=128,m=1000,n=180", "--target", "avx512"]),
    "matrix_product": ("ij,jk->ik", ["--target", "avx2"]),
    "attention": ("bhqd,bhkd->bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * bhkv -> bhqv",
                  ["-d", "b=2,h=4,q=128,k=128,d=64,v=64", "--target", "avx512"]),
    "attention_in_blocks": ("qd,kd->qk | where(@q >= @k, _, -inf) | softmax k | * kv -> qv",
                            ["-d", "q=2048,k=65536,d=64,v=64", "--target", "avx512"]),
    "convolution": ("where(@h+@r >= 1 && @h+@r <= 56, x[n,c,h+r-1], 0) * k[o,c,r] -> [n,o,h]", ["-d", "h=56"]),
    "padded_convolution": ("where(@h+@r >= 1 && @h+@r <= 56 && @w+@s >= 1 && @w+@s <= 56, x[n,c,h+r-1,w+s-1], 0), k[o,c,r,s] -> [n,o,h,w]",
                           ["-d", "n=1,c=64,h=56,w=56,o=64,r=3,s=3", "--target", "avx512"]),
    "nearest": ("(ik - jk)^2 -> ij | min j & argmin j", []),
    "ranked": ("(ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j", []),
    "cross_entropy": ("lse = X[t,h], W[v,h] -> [t,v] | logsumexp v; pick = X[t,h], W[y[t]:i64,h] -> [t]; "
                      "lse[t] - pick[t] | mean t", []),
    "scatter": ("dW[y[t]:i64,h]:f32 += g[t,h]:bf16", []),
    "trace": ("ii->", ["--target", "avx2"]),
    "cumulative": ("ij | cumsum j", []),
    "complex_product": ("A[i,k]:c64 * conj(B[k,j]:c64) -> [i,j]", []),
    "short_rows": ("a[b,n,d] + c[b,n,d]", ["-d", "b=4,n=1000,d=3"]),
    "short_rows_in_parts": ("nd,nd->", ["-d", "n=100000,d=3"]),
    "half_sum": ("x[i,j]:f16 | mean j", ["--target", "avx2"]),
    "normalised": ("x[i,j] | _ - m[i] | where(v[i] > 0, _ / sqrt(v[i]), 0)", []),
    "scalars": ("a[]*b[] + 1", []),
    "maxsim_in_parts": ("ijk,mnk->ijmn | max n | sum j", ["--precision", "bf16x6", "--target", "amx"]),
    "narrow_maxsim": ("Q[i,j,k]:bf16, D[m,n,k]:bf16 -> [i,j,m,n] | max n | sum j", ["--target", "amx"]),
    "guessed_attention": ("bhqd:bf16,bhkd:bf16->bhqk | _ * 0.125 | softmax k | bf16 | _ * bhkv:bf16 -> bhqv:bf16", ["--target", "amx"]),
    "viterbi": ("ik + kj -> ikj | max k & argmax k", ["--target", "avx512"]),
    "matrix_times_tensor": ("be,dcea->dcba", ["-d", "b=84,e=96,d=84,c=84,a=96", "--target", "avx512"]),
    "columns_in_place": ("adb,cd->cba", ["-d", "a=384,b=384,c=24,d=384", "--target", "amx"]),
    "lines_of_two_rows": ("bk,cak->cba", ["-d", "a=24,b=400,c=2000,k=24", "--target", "avx512"]),
    "matrix_times_vector": ("ij,j->i", ["-d", "i=16384,j=8192", "--target", "avx512bf16"]),
    "narrow_matrix_times_vector": ("ij:bf16,j:bf16->i", ["-d", "i=16384,j=8192", "--target", "avx512bf16"]),
    "far_transpose": ("ij->ji", ["-d", "i=4000,j=4000", "--target", "avx512"]),
    "column_sums": ("ij->j", ["-d", "i=131072,j=1024", "--target", "avx512"]),
    "small_products": ("bij,bjk->bik", ["-d", "b=100000,i=4,j=4,k=4", "--target", "avx512"]),
    # these have none
    "few_columns": ("ik:f64,jk:f64->ij", ["-d", "i=1000,j=12,k=100"]),
    "small_squares": ("A[b,i,j]:f64, B[b,j,k]:f64 -> [b,i,k] | relu(_ + c[b,i]:f64)", ["-d", "b=1000,i=4,j=4,k=4"]),
    "transpose": ("ij->ji", []), "outer": ("i,j", []), "dot": ("i,i", []), "batch": ("bij,bjk->bik", []),
    "bilinear": ("ij,ikl,kl->j", []), "heads": ("bij,abj->abi", []),
    "dots": ("...i,...j->...", ["--shape", "2,3,4", "--shape", "3,5"]),
    "softmax": ("ij | softmax j", []), "log_softmax": ("ij | log_softmax ij", []), "variance": ("ij | std(1) j", []),
    "complex_variance": ("x[i,j]:c128 | var j", []), "norms": ("ij | norm(3) j", []),
    "infinite_norm": ("ij | norm(inf) j", []),
    "product": ("ij:f64 | prod j", []), "any": ("ij | _ > 0 | any j & all j", []),
    "integers": ("ij:i32,jk:i32->ik", []),
    "bytes": ("ij:i8 | sum j", []), "integer_rest": ("x[i]:i64 / y[i]:i64 + mod(x[i]:i64, 3)", []),
    "truths": ("ij:bool,jk:bool->ik", []),
    "gelu": ("gelu(ij) | * silu(ij)", []), "trigonometry": ("sin(i) + cos(i) * atan2(i, j)", []),
    "powers": ("i^2 + i^3.5 + 2^i", []),
    "erf": ("erf(ij) | sum j", []), "logarithms": ("log(i) + log2(i) + log10(i) + log1p(i)", []),
    "roundings": ("floor(i) + ceil(i) + round(i) + trunc(i)", []), "casts": ("i8(i) + i16(i) + f16(i) + bf16(i)", []),
    "log_product": ("ik + kj -> ikj | logsumexp k", []),
    "masked_attention": (
        "Q[b,q,d], K[b,k,d] -> [b,q,k] | where(@k <= @q && @q - @k < 100 && @k < len[b]:i64 && @q < len[b], tanh(_), -inf) | "
        "softmax k | * V[b,k,v] -> [b,q,v]", ["-d", "b=2,q=300,k=300,d=64,v=64"]),
    "masked_log_sum": ("qd,kd->qk | where(@q >= @k, _, -inf) | logsumexp k", ["-d", "q=300,k=300,d=64"]),
    "masked_largest": ("qd,kd->qk | where(@q >= @k, _, -inf) | max k", ["-d", "q=300,k=300,d=64"]),
    "triangle": ("qd,kd->qk | where(@q >= @k, _, 0)", ["-d", "q=300,k=300,d=64"]),
    "triangle_product": ("where(@i >= @j, A[i,j], 0) * B[j,k] -> [i,k]", ["-d", "i=300,j=300,k=64"]),
    "gaussian": ("(id - jd)^2 -> ij | exp(-0.5 * _) | * jv -> iv", []), "cumulative_maximum": ("ij | cummax j", []),
    "largest": ("ij:f64 | topk(3) j", []), "ranked_columns": ("A[s,j] | topk(3) s & argtopk(3) s", []), "embedding": ("E[t[i]:i64,h], W[h,v] -> [i,v]", []),
    "masked_argmax": ("ij | where(@j < len[i]:i64, _, -inf) | argmax j", []), "window": ("x[2*i+r], k[r] -> [i]", []),
    "polar": ("exp(z[i]:c64) * abs(z[i]:c64)", []), "hyperbolic": ("sinh(z[i]:c128) * tanh(z[i]:c128)", []), "chain": ("a = i,j; b = a[i,j] | exp; b[i,j] | sum i | _ + 1", []),
    "static": ("ij,jk->ik", ["--static", "j=64"]), "all_static": ("jk,mnk->jmn | max n | sum j", ["--static", "j=16,k=128,m=11651,n=180"]), "budget": ("ij | softmax j", ["--memory", "64K"]),
    "chosen": ("where(s[] > 2, x[d]:f64 + y[d]:f64, x[d] * 2) -> [d]", []),
    "product_in_parts": ("ik,kj->ij", ["--precision", "bf16x3", "--target", "amx"]),
    "narrow_product": ("A[i,k]:i8, B[k,j]:i8 -> [i,j]", []),
    "narrow_sums": ("A[i,k]:i8, B[k,j]:i8 -> [i,j] | max i & sum i", []),
    # names that the emitter has, too
    "names": ("start[tile,kept,depth], tile_1[rows,points,depth] -> [tile,kept,rows,points] | max points | sum kept", []),
    "numbered": ("panels_1[i_1,step_1,x], kept[at_1,launch_1,x] -> [i_1,step_1,at_1,launch_1] | max launch_1 | sum step_1", []),
    "network": ("ab,bcd,ce,dfg,eg->af", []), "log_network": ("ij + jk + kl -> ijkl | logsumexp jk", []),
    "narrow_attention": ("bhqd:bf16,bhkd:bf16->bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * bhkv:bf16 -> bhqv",
                         ["-d", "b=2,h=4,q=128,k=128,d=64,v=64"]),
    # rows that go together and of which nothing is asked for, being at computed positions; and rows that lie apart
    "computed_rows": ("a[i,2*j], b[j] -> [i]", ["-d", "i=100000,j=64"]),
    "rows_apart": ("bhd,bkhd->bhk", ["-d", "b=8,h=32,k=1024,d=128"]),
    "short_product": ("A[i,k]:i16, B[j,k]:i16 -> [i,j]", []),
    # rankings that keep their candidates from block to block of a sweep, or in parts, and rows cut into parts
    "search": ("qd,nd->qn | topk(10) n & argtopk(10) n", ["-d", "q=256,n=100000,d=64"]),
    "search_of_many": ("qd,nd->qn | bottomk(3) n", ["-d", "q=1000,n=300000,d=64"]),
    "search_of_few": ("qd,nd->qn | topk(10) n", ["-d", "q=16,n=100000,d=64"]),
    "largest_of_few": ("qd,nd->qn | max n & argmax n", ["-d", "q=16,n=100000,d=64"]),
    "narrow_dots": ("ij:i8,j:i8->i", ["-d", "i=100000,j=768"]),
}
GOLDEN_COUNT = 32

# Expressions whose programs run under qemu too: the shapes of their operands.
PROGRAMS = {
    "maxsim": [[3, 4, 37], [5, 6, 37]], "softmax": [[5, 19]], "nearest": [[4, 7], [9, 7]], "variance": [[3, 50]],
    "gelu": [[4, 9], [4, 9]], "cumulative": [[3, 21]],
}


class Wrong(Exception):
    pass


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise Wrong("%s:\n%s" % (" ".join(command), done.stderr[-3000:]))
    return done


def compile_silently(command):
    said = run(command).stderr
    if said:
        raise Wrong("%s says:\n%s" % (" ".join(command), said[-3000:]))


def compile_kernel(folder, name, target=None, *more):
    expression, options = KERNELS[name]
    if target and "--target" in options:
        options = options[:options.index("--target")]
    options = options + (["--target", target] if target else [])
    path = os.path.join(folder, "%s.c" % name)
    run([EINC, "compile", expression, "-o", path, *options, *more])
    return path


def available(compilers):
    return [c for c in compilers if shutil.which(c[0])]


def check_kernel(scratch, number, name):
    """How many compilations went through."""
    count = 0
    narrow = re.search(r":(bf16|i8|i16)\b", KERNELS[name][0]) or "--precision" in KERNELS[name][1]
    targets = TARGETS + (NARROW_TARGETS if narrow else [])
    for t, target in enumerate(targets):
        folders = [os.path.join(scratch, target, again) for again in ("first", "second")]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
        first, second = [compile_kernel(folder, name, target) for folder in folders]
        if open(first).read() != open(second).read():
            raise Wrong("%s for %s: not the same text twice" % (name, target))
        for c, compiler in enumerate(available(COMPILERS) + (available(CROSS) if target == "portable" else [])):
            if "-xc++" in compiler and t != number % len(targets):    # what C++ refuses, it refuses of all targets
                continue
            # Each kernel is optimised by one of the compilers for one of the targets: some warnings come only then. Of
            # loops whose ends are numbers they say most, the first one above all.
            whole = c == number % 2 and t == number % len(targets) or c == 0 and "--static" in KERNELS[name][1]
            how = ["-O2", "-c", "-o", os.devnull] if whole else ["-fsyntax-only"]
            compile_silently(compiler + WARNINGS + how + [first])
            count += 1
    return count


def check_program(scratch, name):
    """The program for aarch64, by C and by C++, gives what the kernel gives here."""
    folder = os.path.join(scratch, "programs", name)
    os.makedirs(folder, exist_ok=True)
    random = np.random.RandomState(3)
    inputs = []
    for k, shape in enumerate(PROGRAMS[name]):
        inputs.append(os.path.join(folder, "in%d.npy" % k))
        np.save(inputs[-1], random.normal(0, 1, shape).astype(np.float32))
    path = compile_kernel(folder, name, "portable", "--emit-main")
    outputs = ["out0.npy", "out1.npy"] if "&" in KERNELS[name][0] else ["out0.npy"]
    here = [os.path.join(folder, "here_" + o) for o in outputs]
    operands = [word for i in inputs for word in ("-i", i)]
    run([EINC, "run", KERNELS[name][0], "--target", "portable", *operands, *[w for o in here for w in ("-o", o)]])
    for compiler in CROSS:
        program = os.path.join(folder, compiler[0])
        compile_silently(compiler + WARNINGS + ["-O2", "-static", path, "-o", program, "-lm"])
        there = [os.path.join(folder, compiler[0] + "_" + o) for o in outputs]
        run(["qemu-aarch64-static", program, *inputs, *[w for o in there for w in ("-o", o)]])
        for a, b in zip(here, there):
            if not np.allclose(np.load(a), np.load(b), rtol=1e-5, atol=1e-6):
                raise Wrong("%s by %s under qemu: %s is not %s" % (name, compiler[0], b, a))


def golden_text(scratch, name):
    folder = os.path.join(scratch, "golden")
    os.makedirs(folder, exist_ok=True)
    return open(compile_kernel(folder, name)).read()


def check_golden(scratch, name):
    path = os.path.join(GOLDEN, name + ".c")
    text = golden_text(scratch, name)
    if not os.path.exists(path) or open(path).read() != text:
        generated = os.path.join(scratch, "golden", name + ".c")
        changes = subprocess.run(["diff", "-u", path, generated], capture_output=True, text=True).stdout.splitlines()
        raise Wrong("golden file %s (to bless: tests/check_generated.py --bless):\n%s" % (path, "\n".join(changes[:40])))


def bless(scratch, names):
    os.makedirs(GOLDEN, exist_ok=True)
    for old in os.listdir(GOLDEN):
        os.remove(os.path.join(GOLDEN, old))
    for name in names:
        with open(os.path.join(GOLDEN, name + ".c"), "w") as file:
            file.write(golden_text(scratch, name))


def main():
    golden = list(KERNELS)[:GOLDEN_COUNT]
    scratch = tempfile.mkdtemp(prefix="einc-check-")
    try:
        if "--bless" in sys.argv:
            return bless(scratch, golden)
        runs = shutil.which("qemu-aarch64-static") and len(available(CROSS)) == len(CROSS)
        programs = list(PROGRAMS) if runs else []
        wrong, compiled = [], 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(check_golden, scratch, name) for name in golden]
            jobs += [pool.submit(check_program, scratch, name) for name in programs]
            jobs += [pool.submit(check_kernel, scratch, number, name) for number, name in enumerate(KERNELS)]
            for job in jobs:
                try:
                    compiled += job.result() or 0
                except Wrong as failure:
                    wrong.append(str(failure))
        for failure in wrong:
            print(failure)
        compilers = [c[0] for c in available(COMPILERS + CROSS)]
        print("%d kernels for %s: %d compilations by %s; %d golden files; %d programs under qemu; %d wrong" % (
            len(KERNELS), ", ".join(TARGETS + NARROW_TARGETS), compiled, ", ".join(compilers), len(golden), len(programs), len(wrong)))
        return len(wrong) > 0
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
