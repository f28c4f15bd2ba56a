#!/usr/bin/env python3
"""Shapes that bring a nest of their own, against numpy, on each target that runs here: many small problems, whose operands
are turned (compiler/turn.h), whose axes share lanes (compiler/bundle.h) or that have tiles of sums (Step.met), long rows added up in memory, and results that are
stored past the caches.

    BUILD=build EINC=build/einc python3 tests/check_shapes.py [--targets portable,avx2,avx512]

Numbers are small integers, so that sums are exact in any order. The batch is longer than a block, and odd; operands come in
C order, and in Fortran order, where there is nothing to turn. About 20 s."""
import argparse
import sys

sys.dont_write_bytecode = True

import numpy as np

from command import Scratch, check, run, shown, text

# An expression; what numpy makes of its operands; their axes; the dtype. The batch is b, other letters are small.
PROBLEMS = [
    ("bij,bjk->bik", lambda a, b: np.einsum("bij,bjk->bik", a, b), "bij bjk", np.float32),
    ("bij,bjk->bik", lambda a, b: np.einsum("bij,bjk->bik", a, b), "bij bjk", np.float64),
    ("bij,bjk->bik", lambda a, b: np.einsum("bij,bjk->bik", a, b), "bij bjk", np.int32),
    ("bij,bkj->bki", lambda a, b: np.einsum("bij,bkj->bki", a, b), "bij bkj", np.float32),
    ("bij,bjk->bik | max k", lambda a, b: np.einsum("bij,bjk->bik", a, b).max(2), "bij bjk", np.float32),
    ("bij,bj->bi", lambda a, b: np.einsum("bij,bj->bi", a, b), "bij bj", np.float32),
    ("bi,bi->b", lambda a, b: np.einsum("bi,bi->b", a, b), "bi bi", np.float32),
    ("bij,jk->bik", lambda a, b: np.einsum("bij,jk->bik", a, b), "bij jk", np.float32),
    ("(bi - bj)^2 -> bij | min j", lambda a, b: ((a[:, :, None] - b[:, None, :]) ** 2).min(2), "bi bj", np.float32),
    ("ibj,bjk->kbi", lambda a, b: np.einsum("ibj,bjk->kbi", a, b), "ibj bjk", np.float32),
    ("bijk,bkl->bijl", lambda a, b: np.einsum("bijk,bkl->bijl", a, b), "bijk bkl", np.float32),
    ("bijk->bik", lambda a: np.einsum("bijk->bik", a), "bijk", np.float32),
]
# What is large: an expression, what numpy makes of it, its operands' shapes, and what explain says of its nest.
LARGE = [
    ("i,ij->j", lambda a, b: a @ b, [(1999,), (1999, 2053)], "points together, cut into parts"),
    ("ij | max i", lambda a: a.max(0), [(1003, 4099)], "points together, cut into parts"),
    ("ij | argmax i", lambda a: a.argmax(0), [(1003, 4099)], "argmax, cut into parts"),
    ("ij,j->i", lambda a, b: a @ b, [(1999, 2053), (2053,)], "points together"),
    ("j + ij -> ij | argmax j", lambda a, b: (a + b).argmax(1), [(1003,), (203, 1003)], "points together"),
    ("i + ij -> ij | argmin i", lambda a, b: (a[:, None] + b).argmin(0), [(203,), (203, 1003)], "argmin"),
    ("i,j->ij", lambda a, b: np.outer(a, b), [(4099,), (4100,)], "stored past the caches"),
    ("ij | 2 * _", lambda a: 2 * a, [(4101, 4099)], "stored past the caches"),
    ("dabe,ec->dcba", lambda a, b: np.einsum("dabe,ec->dcba", a, b), [(3, 41, 57, 97), (97, 24)], "turned in squares"),
    ("abe,ec->bca", lambda a, b: np.einsum("abe,ec->bca", a, b), [(50, 61, 130), (130, 19)], "turned in squares"),
    ("bij,bjk->bi", lambda a, b: np.einsum("bij,bj->bi", a, b.sum(2)), [(300, 7, 64), (300, 64, 8)], "tmp1 is temporary"),
    ("ij,jk->k", lambda a, b: a.sum(0) @ b, [(1999, 2053), (2053, 3)], "points together, cut into parts"),
    ("A[i,k] * B[k,j] -> [i,k,j] | max k", lambda a, b: (a[:, :, None] * b).max(1), [(301, 64), (64, 7)], "max[k]"),
    ("ij->ji", lambda a: a.T, [(2053, 2051)], "stored past the caches"),
    ("A[i,j] + B[j,i] -> [i,j]", lambda a, b: a + b.T, [(2051, 2053), (2053, 2051)], "stored past the caches"),
]
# The same without workspace.
UNSTORED = [
    ("ij,kj->ik", lambda a, b: a @ b.T, [(5, 64), (3001, 64)], "points with each"),    # many rows of which several meet each
    ("bij,bkj->bki", lambda a, b: np.einsum("bij,bkj->bki", a, b), [(9, 6, 64), (9, 301, 64)], "points with each"),
]
SMALL = {"portable": [{"i": 2, "j": 2, "k": 2, "l": 1}], "avx2": [{"i": 4, "j": 3, "k": 2, "l": 1}],
         "avx512": [{"i": 4, "j": 4, "k": 4, "l": 2}, {"i": 3, "j": 5, "k": 7, "l": 2}]}
BATCHES = [1021, 160]
# Matrices of which lanes take rows of several vectors, the last in part: an expression's first problems.
MATRICES = {"portable": [{"i": 17, "j": 9, "k": 20}, {"i": 8, "j": 16, "k": 16}],
            "avx2": [{"i": 17, "j": 9, "k": 23}, {"i": 12, "j": 12, "k": 12}, {"i": 24, "j": 8, "k": 24}],
            "avx512": [{"i": 17, "j": 9, "k": 24}, {"i": 5, "j": 33, "k": 49}, {"i": 13, "j": 12, "k": 64}, {"i": 12, "j": 12, "k": 12},
                       {"i": 16, "j": 16, "k": 16}]}
MATRIX_PROBLEMS = 3


def arranged(array, order):
    """The same numbers in another order of memory."""
    return array if order == "C" else np.asfortranarray(array)


def operand(axes, sizes, dtype, rng):
    return rng.integers(-4, 5, [sizes[a] for a in axes]).astype(dtype)


def check_problem(problem, target, sizes, order, rng):
    expression, reference, axes, dtype = problem
    arrays = [arranged(operand(a, sizes, dtype, rng), order) for a in axes.split()]
    arguments = ["run", expression, "--target", target, "-o", "out.npy"]
    for n, array in enumerate(arrays):
        np.save(f"in{n}.npy", array)
        arguments += ["-i", f"in{n}.npy"]
    result = run(*arguments)
    check(result.returncode == 0, shown(arguments, result))
    check(np.array_equal(np.load("out.npy"), reference(*arrays)), f"{expression}, {target}, {sizes}, order {order}")


def check_turns(target, sizes):
    """In C order integers are turned: else this checks nothing."""
    extents = ",".join(f"{name}={size}" for name, size in sizes.items() if name in "bijk")
    arguments = ["explain", "bij:i32,bjk:i32->bik", "-d", extents, "--target", target]
    result = run(*arguments)
    check(result.returncode == 0 and "turned in squares" in text(result.stdout), shown(arguments, result))


def check_large(problem, target, rng, *options):
    expression, reference, shapes, words = problem
    arrays = [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    operands = [word for n in range(len(arrays)) for word in ("--shape", ",".join(map(str, shapes[n])))]
    arguments = ["explain", expression, "--target", target, *options, *operands]
    result = run(*arguments)
    check(result.returncode == 0 and words in text(result.stdout), shown(arguments, result))
    arguments = ["run", expression, "--target", target, *options, "-o", "out.npy"]
    for n, array in enumerate(arrays):
        np.save(f"in{n}.npy", array)
        arguments += ["-i", f"in{n}.npy"]
    result = run(*arguments)
    check(result.returncode == 0, shown(arguments, result))
    check(np.array_equal(np.load("out.npy"), reference(*arrays)), f"{expression}, {target}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--targets", default=",".join(SMALL))
    targets = parser.parse_args().targets.split(",")
    rng, runs = np.random.default_rng(3), 0
    with Scratch():
        for target in targets:
            if run("run", "i->", "--target", target, "-i", "/dev/null").returncode == 6:
                continue    # this CPU lacks it
            for problem in LARGE:
                check_large(problem, target, rng)
                runs += 1
            for problem in UNSTORED:
                check_large(problem, target, rng, "--memory", "0")
                runs += 1
            for small in SMALL[target]:
                check_turns(target, dict(small, b=BATCHES[0]))
                for problem in PROBLEMS:
                    batch = BATCHES[runs % len(BATCHES)]
                    for order in "CF" if problem is PROBLEMS[0] else "C":
                        check_problem(problem, target, dict(small, b=batch), order, rng)
                        runs += 1
            for sizes in MATRICES[target]:
                for problem in PROBLEMS[:MATRIX_PROBLEMS]:
                    for order in "CF":
                        check_problem(problem, target, dict(sizes, b=45), order, rng)
                        runs += 1
    print(f"{runs} runs, 0 wrong")


if __name__ == "__main__":
    main()
