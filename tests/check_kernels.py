#!/usr/bin/env python3
# Random programs as compiled kernels against the evaluator: 1,000 of them, each on 20 data sets, and some on more than
# caches hold, a third of them with the JIT's own flags: about 180 s. EINC_FUZZ_SEED=N takes other programs. Faults planted into kernels come
# first: each must be found. Then what was wrong once.
# Runs alone: it has two jobs of its own, and its 1,000 kernels are to take at most 4 minutes.
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, "tests")

import numpy as np

import instructions
import kernel_fuzz

BUILD = os.environ.get("BUILD", "build")
CC = os.environ.get("CC", "cc")
RUNNER = os.path.join(BUILD, "tests", "kernel_main")
SEED = int(os.environ.get("EINC_FUZZ_SEED", "1"))

# How many programs, with which C compiler, for which targets, on how many data sets each, and with what else.
SHARES = [
    (200, CC, "portable,avx2,avx512", 20),
    (600, instructions.QUICK + " " + CC, "portable,avx2,avx512", 20),
    (80, "clang", "portable,avx2,avx512", 20),
    (80, CC + " -DEINC_SCALAR", "portable", 20),
    (40, CC, "amx", 20),
    (24, CC, "", 3, "--large"),
]

BEFORE = r"s/^    f->host = host;/&\n"      # what follows is written into the kernel's function
SUM = ("ij->i", [[8, 5]])
ROWS = ("ij | softmax j | * 2", [[3, 40]])
GATHER = ("x[t[i]:i64]", [[4], [3]])

# A program, what a faulty compiler makes of its kernel (a script for sed), and what the runner must say of it.
FAULTS = {
    "a sum that begins at 1": (SUM, r"s/splat_f32v(0.0f)/splat_f32v(1.0f)/", "must be"),
    "memory taken": (SUM, BEFORE + r"extern void *malloc(size_t);\nvoid *volatile p = malloc(1);\n(void)p;/",
                     "took memory"),
    "memory mapped": (SUM, BEFORE + r"extern void *mmap(void *, size_t, int, int, int, long);\n"
                      r"void *volatile p = mmap(0, 4096, 3, 34, -1, 0);\n(void)p;/", "took memory"),
    "a write behind the workspace": (ROWS, BEFORE + r"((volatile char *)workspace)[all] = 1;/", "ended"),
    "workspace that is not used": (ROWS, BEFORE + r"return 0;/", "were used"),
    "a budget that is not kept": (ROWS, r"s/\*bytes = (size_t)all/& - 1/; s/return BAD_WORKSPACE;/;/",
                                  "one byte too small"),
    "a write between the elements of an output": (SUM, BEFORE + r"((volatile char *)f->in.out.data)[4] = 1;/", "wrote"),
    "a write behind an output": (SUM, BEFORE + r"((volatile float *)f->in.out.data)[f->in.out.shape[0] * "
                                 r"f->in.out.stride[0] + 1024] = 1;/", "ended"),
    "a position that is not checked": (GATHER, r"s/FAIL(f, OUT_OF_RANGE.*/(void)f;/", "did not notice"),
    "points that all begin at one": (("ij,j->i", *[[[16, 40], [40]]] * 6), r"s/_points\[point\] = A + i_2/_points[point] = A + i/",
                                     "must be"),
    "rows that begin the sums anew": (("ij->j", *[[[1203, 260]]] * 3), r"s/first_unit && i == i_first/first_unit/", "must be"),
    "rows that are taken to follow each other": (("a[b,i,j] + c[b,i,j]", *[[[5, 4, 3], [5, 4, 3]]] * 6),
                                                 r"s/if (shape\[to\] == 1 ? !innermost.*/if (0)/", "must be"),
    "a part's rows that are taken to follow each other": (("nd,nd->", *[[[90, 3], [90, 3]]] * 6),
                                                          r"s/f->rows_follow_1 ? /1 ? /g", "must be"),
    "lanes that all read one element": (("bij,bjk->bik", *[[[40, 4, 4], [40, 4, 4]]] * 6), r"s/ + (int32_t)arrays.*;/;/", "must be", "avx2"),
    "whole vectors where fewer elements are left": (("bij,bjk->bik", *[[[40, 2, 4], [40, 4, 4]]] * 6), r"s/full ? LANES : /LANES + 0 * /",
                                                    "ended", "avx2"),
    "shapes that are not checked": (("ij,jk->ik", [[3, 4], [4, 5]], [[3, 4], [7, 5]]), r"s/return BAD_SHAPES;/;/",
                                    "takes shapes"),
}

# What kernels once got wrong, and the target that showed it.
ONCE_WRONG = {
    "rankings in two sweeps":
        (("a = Q[q,d], N[n,d] -> [q,n] | topk(9) n ; b = Q[q,d], M[m,d] -> [q,m] | topk(5) m ; a[q,i] * b[q,j] -> [q,i,j]",
          [("Q", [20, 3]), ("N", [600, 3]), ("M", [900, 3])]), "avx2"),
    "a read out of range that nothing needs in the end":
        (("x[t[p]:i64+d] -> [p,d] | cumsum p | sum p | _ / D[d,y]", [[9], [4], [3, 2]], [[2], [4], [3, 0]]), "portable"),
    "large arguments of a softmax fused with its difference":
        (("65536*a[i], 32768*b[i,j] -> [i,j] | log_softmax j", [[64], [64, 1]]), "avx2"),
    "a softmax in vectors of two registers":
        (("w[m], x[e,b,c], y[n,b,e] -> [b,c,m,n] | f64 | log_softmax ncb", [[4], [32, 2, 32], [32, 2, 32]]), "avx2"),
    "an array that is made and added to by blocks of other indices":
        (("t[i] = x[i,k] | sum k; a[i,j] = t[i] * y[j]; a[j,i] += t[i] * z[j]; a[i,j] | exp", [[64, 3], [64], [64]]),
         "avx2"),
    "an array that is read and added to by blocks of other indices":
        (("a[i,j] = x[i,j] * y[j]; b[j] = a[i,j] | max i; a[i,j] += z[j] * x[i,j]; b[i] + a[i,j] | max j",
          [[64, 64], [64], [64]]), "avx2"),
    "a value behind a where that is stored for another such": (("a[t[i]] + b[w] + c[j] | any wj | _, d[w] -> | where(q[z] < 0, _, 0)",
                                                                [[1], [2], [1], [1], [1], [1]]), "avx512"),
    "a stored value that nothing reads": (("a[t[i],j] | cummin i | log_softmax ij | where(1, _, 1)", [[9, 3], [2]]), "avx2"),
    "a sum of what is not there, for a result without elements":
        (("x[2*p,y] -> [] | x[a,y] - _", [[0, 1], "p=1"]), "portable"),
    "an array that two += add to, with other strides":
        (("n[B+1,z,z,f] += x[B,z] | argmin B; m[] += 1e-1; m[] += 1", [[2, 127], ("n", [3, 127, 127, 7]), ("m", [])]), "avx2"),
    "a function of an angle that is not a number": (("x[i] | log(1 - _) | sum i | sin(atan(_)) + cos(atan(_))", [[9]]), "avx2"),
    "an array that is added to from other places of itself": (("a[i,j] = x[i,j]; a[i,j] += a[j,i] * a[i,i]", [[40, 40]]), "avx512"),
    "rows of a reduction that has another one inside": (("A[k,i,u] -> [i,u] | min i & argmin i", [[2, 1000, 257]]), "portable"),
    "rows without a factor in a tile of others": (("Q[q,d], K[k,d] -> [q,k] | where(@k <= @q && @q < 13, _, -inf) | softmax k | * V[k,v] -> [q,v]",
                                                   [[80, 8], [64, 8], [64, 24]]), "avx512"),
    "an array that is too short for what lanes add to it":
        (("y[h+r] += x[h] * k[r]", [("y", [102]), ("x", [100]), ("k", [3])], [("y", [101]), ("x", [100]), ("k", [3])],
          [("y", [0]), ("x", [100]), ("k", [0])]), "avx2"),
    "an array that is too short for what is gathered for it":
        (("y[o,h+r] += x[h,c], k[r,c,o]", [("y", [64, 102]), ("x", [100, 16]), ("k", [3, 16, 64])],
          [("y", [64, 101]), ("x", [100, 16]), ("k", [3, 16, 64])]), "avx2"),
    "lanes that add beside a place from an array": (("y[t[e]+h] += x[e,h]", [("y", [25]), ("t", [4]), ("x", [4, 20])],
                                                     [("y", [20]), ("t", [4]), ("x", [4, 20])]), "avx2"),
    "what is ranked and goes to places from an array": (("K[w,t[g],u[b]] += x[w,g,b] | softmax b | topk(2) b",
                                                         [("K", [2, 9, 9]), ("t", [4]), ("u", [2]), ("x", [2, 4, 30])]), "avx2"),
    "a number beyond its narrow integer": (("where(αy, i8(inf), i16(-inf))", [[2, 3]]), "portable"),
    "a product whose unit of work has several points of its batch":
        (("A[b,l,s], B[s,c], C[c,a,b,p] -> [a,b,l,p]", [[8, 16, 16], [16, 16], [16, 2, 8, 16]]), "avx2"),
    "an array that is added to at places read from itself":
        (("a[i] = i64(4 * x[i]) - 4; a[a[i]] += a[i] + 0 * @i", [[5]]), "portable"),
    "places of doubles in vectors of two registers":
        (("s[i,j] = a[j,k] * b[i,k] -> [i,j]; p[w,z] = c[v,w] * f64(d[w,z]) -> [w,z,v] | argmax v; s[i,j] + p[w,z] -> [i,j]",
          [[48, 64], [48, 64], [2, 4], [4, 3]]), "avx512"),
    "a part of complex numbers that lacks what is reduced":
        (("real(complex(x[i,j], y[j,k])) | sum k | + imag(c64(x[i,j])) | max j", [[5, 3], [3, 4]]), "avx2"),
    "weights of doubles that are rounded before they are summed": (("f64(ij) | softmax j | , jk -> [i,k]:f32", [[5, 9], [9, 4]]), "avx2"),
    "points of an index that is called so": (("A[point,j], x[j] -> [point]", [[40, 50], [50]]), "portable"),
    "operands that are called as bounds of blocks, types and macros":
        (("x[i,j] * i_end[i] + i_first[i] + int64_t[j] + per_worker[j] + M_PI[j] + EINC_HOST[j] + BAD_SHAPES[j]",
          [[5, 9], [5], [5], *[[9]] * 5]), "avx2"),
    "operands that are called as a kernel's functions and variables":
        (("step[i,k], panels[k,j], launch[k,j] -> [i,j] | max j | * failure[i] + shared[i]", [[5, 9], [9, 40], [9, 40], [5], [5]]), "avx2"),
    "an index that is called as a bound": (("A[i,i_end], x[i_end] -> [i,i_end] | softmax i_end | * i_first[i]", [[7, 40], [40], [7]]), "avx2"),
    "such weights in a sweep": (("f64(aij) | max a | softmax j | , jk -> [i,k]:f32", [[3, 5, 900], [900, 4]]), "avx2"),
    "one column of exponentials that columns share": (("ui + uj -> iuj | logsumexp u", [[130, 1000], [130, 1]]), "avx2"),
    "a where that points which go together ask each for itself": (("where(c[i] > 0, A[i,j] * b[j], 0) | sum j", [[130], [130, 65], [65]]), "avx2"),
    "a where of small matrices' rows": (("where(c[b,i] > 0, A[b,i,j] * B[b,j,k], 0) -> [b,i,k,j] | sum j", [[5, 33], [5, 33, 7], [5, 7, 3]]), "avx2"),
}


def write_arrays(folder, shapes, number):
    random = np.random.RandomState(7)
    for k, shape in enumerate(shapes):
        if isinstance(shape, str):
            yield from ("-d", shape)
            continue
        name, shape = shape if isinstance(shape, tuple) else ("", shape)
        integers = k > 0 and len(shape) == 1
        array = random.randint(1, 6, shape) if integers else np.float32(random.uniform(1, 2, shape))
        path = os.path.join(folder, "set%d_%d.npy" % (number, k))
        np.save(path, array)
        yield "-i"
        yield name + "=" + path if name else path


def answers(folder, program, compiler, target="portable"):
    """What the runner says of a program in some layouts, of each run anew when it is asked for."""
    fields = [program[0], "-t", target]
    for number, shapes in enumerate(program[1:]):
        fields += ["|"] + list(write_arrays(folder, shapes, number))
    environment = dict(os.environ, CC=compiler, EINC_CACHE_DIR=os.path.join(folder, "cache"))
    for seed in range(8):
        line = kernel_fuzz.job_line(fields[:1] + ["-s", str(seed)] + fields[1:])
        run = subprocess.run([RUNNER], input=line, capture_output=True, text=True, env=environment)
        yield run.stdout.strip() or "failed\tthe process ended with status %d" % run.returncode


def plant(name, program, script, expected, target="portable"):
    """Some layout shows the fault: the first that does is enough. What is to be said of it, or nothing."""
    said = []
    with tempfile.TemporaryDirectory(prefix="einc-check-") as folder:
        path = os.path.join(folder, "cc")
        with open(path, "w") as file:
            file.write("#!/bin/sh\nsed '%s' | exec %s \"$@\"\n" % (script, CC))
        os.chmod(path, 0o700)
        for answer in answers(folder, program, path, target):
            if answer.startswith("failed") and expected in answer:
                return ""
            said.append(answer)
    return "%s: no answer says '%s':\n    %s" % (name, expected, "\n    ".join(said))


def try_again(name, program, target):
    with tempfile.TemporaryDirectory(prefix="einc-check-") as folder:
        wrong = [answer for answer in answers(folder, program, instructions.compiler_for(target, CC), target) if not answer.startswith("ok")]
    return "%s: %s" % (name, wrong[0]) if wrong else ""


def all_well(pool, check, cases):
    """Whether the check has nothing to say of any of them."""
    said = [text for text in pool.map(lambda case: check(case[0], *case[1]), cases.items()) if text]
    print("\n".join(said), end="\n" if said else "")
    return not said


def by_compiler(targets, compiler, count):
    """The targets that go with the same command, which it is, and their part of the programs."""
    commands = [instructions.compiler_for(target, compiler) for target in targets]
    for command in dict.fromkeys(commands):
        its = [target for target, other in zip(targets, commands) if other == command]
        yield command, ",".join(its), count * len(its) // len(targets)


def main():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        if not all_well(pool, plant, FAULTS):
            return 1
        print("%d planted faults found: %s" % (len(FAULTS), ", ".join(FAULTS)))
        if not all_well(pool, try_again, ONCE_WRONG):
            return 1
        print("%d that were wrong once are right: %s" % (len(ONCE_WRONG), ", ".join(ONCE_WRONG)), flush=True)
    first, good = 0, True
    for count, compiler, targets, sets, *more in SHARES:
        if not shutil.which(compiler.split()[0]):
            print("%s is not here: %d programs with %s instead" % (compiler, count, CC))
            compiler = CC
        for compiler, targets, count in by_compiler(targets.split(","), compiler, count):
            os.environ["CC"] = compiler
            print("%s, for %s:" % (compiler, " ".join([targets or "this machine", *more])), flush=True)
            arguments = kernel_fuzz.parser().parse_args([
                RUNNER, "--seed", str(SEED), "--first", str(first), "--count", str(count), "--target", targets,
                "--sets", str(sets), "--failures", os.path.join(BUILD, "fuzz"), *more])
            good &= kernel_fuzz.check(arguments)
            first += count
    return not good


if __name__ == "__main__":
    sys.exit(main())
