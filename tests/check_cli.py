"""The einc command as a new user meets it: each command and option, and mistakes made on purpose. About 20 s."""
import json
import os
import re
import time

import numpy as np

from command import CC, EINC, Scratch, bad, check, files, finish, good, run, shown, text

rng = np.random.default_rng(7)


def make_arrays():
    arrays = {"q": (3, 4, 5), "d": (6, 7, 5), "a": (3, 4), "b": (4, 5), "c": (3, 5)}
    made = {name: rng.standard_normal(shape).astype("f4") for name, shape in arrays.items()}
    for name, array in made.items():
        np.save(name + ".npy", array)
    return made


def close(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-5)


def check_run(arrays):
    """Operands and results in order and by name."""
    a, b, c, q, d = (arrays[name] for name in "abcqd")
    scores = np.einsum("ijk,mnk->ijmn", q, d)
    good("run", "ijk,mnk->ijmn | max n | sum j", "-i", "q.npy", "-i", "d.npy", "-o", "out.npy")
    check(close(np.load("out.npy"), scores.max(3).sum(1)), "MaxSim")
    for operands in (("-i", "a.npy", "-i", "B=b.npy"), ("-i", "B=b.npy", "-i", "A=a.npy"), ("-iB=b.npy", "--input=a.npy")):
        good("run", "A[i,j], B[j,k] -> [i,k]", *operands, "-o", "out.npy")
        check(close(np.load("out.npy"), a @ b), operands)
    good("run", "ijk,mnk->ijmn | max n & argmax n", "-i", "q.npy", "-i", "d.npy", "-o", "most.npy", "-o", "where.npy")
    check(close(np.load("most.npy"), scores.max(3)) and (np.load("where.npy") == scores.argmax(3)).all(), "two outputs")
    good("run", "P = ij,jk->ik ; P[i,k] | sum k", "-i", "a.npy", "-i", "b.npy", "-o", "P=p.npy", "-o", "out.npy")
    check(close(np.load("p.npy"), a @ b) and close(np.load("out.npy"), (a @ b).sum(1)), "a named output beside the result")
    both = "P = ij,jk->ik ; S = P[i,k] | sum k"
    good("run", both, "--outputs", "S,P", "-i", "a.npy", "-i", "b.npy", "-o", "out.npy", "-o", "p.npy")
    check(close(np.load("p.npy"), a @ b) and close(np.load("out.npy"), (a @ b).sum(1)), "results by name, in their order")
    good("run", both, "--outputs", "P", "--outputs", "S", "-i", "a.npy", "-i", "b.npy", "-o", "S=p.npy", "-o", "out.npy")
    check(close(np.load("out.npy"), a @ b) and close(np.load("p.npy"), (a @ b).sum(1)), "… and one of them by its own")
    good("run", "C[i,k] += A[i,j], B[j,k]", "-i", "A=a.npy", "-i", "B=b.npy", "-i", "C=c.npy", "-o", "out.npy")
    check(close(np.load("out.npy"), a @ b + c) and close(np.load("c.npy"), c), "+= into a copy of C")
    good("run", "C[i,k] += A[i,j], B[j,k]", "-i", "A=a.npy", "-i", "B=b.npy", "-i", "C=c.npy", "-o", "c.npy")
    check(close(np.load("c.npy"), a @ b + c), "+= into C's own file")
    np.save("c.npy", c)
    good("run", "C[i,k] += A[i,j], B[j,k]", "-i", "a.npy", "-i", "b.npy", "-o", "out.npy")
    check(close(np.load("out.npy"), a @ b), "+= into zeros")
    good("run", "A[i,j] -> [i,j] | _ + 1", "-i", "a.npy", "-o", "a.npy")
    check(close(np.load("a.npy"), a + 1), "a file replaced by what is made of it")
    np.save("a.npy", a)


def check_expressions(arrays):
    """Where the expression comes from."""
    a, b = arrays["a"], arrays["b"]
    operands = ("-i", "a.npy", "-i", "b.npy", "-o", "out.npy")
    with open("product.ein", "w") as file:
        file.write("# a product\nij,jk\n  -> ik\n")
    good("run", "@product.ein", *operands)
    check(close(np.load("out.npy"), a @ b), "@file")
    good("run", "-", *operands, stdin=b"ij,jk->ik\n")
    check(close(np.load("out.npy"), a @ b), "-")
    good("run", "-o", "out.npy", "-i", "a.npy", "--", "-ij -> i")
    check(close(np.load("out.npy"), -a.sum(1)), "behind --")
    np.save("s.npy", np.float32(3))
    good("run", "->", "-i", "s.npy", "-o", "out.npy")
    check(np.load("out.npy") == 3, "an expression that begins with -> is no option")
    with open("a.npy", "rb") as file:
        good("run", "ij->j", "-i", "-", "-o", "out.npy", stdin=file.read())
    check(close(np.load("out.npy"), a.sum(0)), "an operand from the standard input")
    printed = good("run", "ij->j", "-i", "a.npy", "-o", "-")
    with open("piped.npy", "wb") as file:
        file.write(printed)
    check(close(np.load("piped.npy"), a.sum(0)), "a result on the standard output")
    with open("wrong.ein", "w") as file:
        file.write("# a product\nij,jk\n  -> iz\n")
    bad(3, ["wrong.ein:3:7: error:", "  -> iz\n      ^"], "run", "@wrong.ein", *operands)


def check_printing():
    """Without -o results are printed as numpy prints them."""
    arrays = [rng.standard_normal(4).astype("f4"), rng.standard_normal((2, 3, 2)), np.arange(6).reshape(2, 3),
              np.array([[True, False]]), np.array([1e-9, 1.0, np.nan]), np.arange(5000.0), np.float32([np.inf, -1.5]),
              (np.arange(3) - 1j).astype("c8"), np.array([complex(1, np.nan), complex(np.nan, np.inf), 2j]),
              np.zeros((0, 3), "f4"), np.int8([-1, 100]), np.full((2, 40), -12.25)]
    letters = "abcdef"
    for array in arrays:
        np.save("x.npy", array)
        indices = letters[:array.ndim]
        printed = text(good("run", f"{indices}->{indices}", "-i", "x.npy")).rstrip("\n")
        expected = str(array)
        check(printed == expected, "printed:", printed, "numpy:", expected)
    np.save("x.npy", np.arange(3.0))
    check(good("run", "i->", "-i", "x.npy") == b"3.0\n", "a scalar")
    two = text(good("run", "i | max i & argmax i", "-i", "x.npy"))
    check(two == "2.0\n\n2\n", "two results", two)


def check_options(arrays):
    a, b = arrays["a"], arrays["b"]
    operands = ("-i", "a.npy", "-i", "b.npy", "-o", "out.npy")
    for options in (("--memory", "700"), ("--memory", "64M"), ("--memory=1K",), ("--threads", "1"), ("--threads", "2"),
                    ("--target", "portable"), ("--static", "j=4"), ("-d", "i=3,k=5"), ("--device", "cpu"),
                    ("--precision", "exact"), ("--precision", "bf16x6"), ("--static", "i=3,j=4,k=5", "--target", "native")):
        good("run", "ij,jk->ik", *operands, *options)
        check(close(np.load("out.npy"), a @ b), options)
    result = run("run", "ij,jk->ik", *operands, "--check")
    check(result.returncode == 0 and b"check: 15 of 15 results compared, all right" in result.stderr,
          shown(["--check"], result))
    result = run("run", "a[i,j] * a[k,l] * a[m,n] * a[p,q] * a[r,s] * a[t,u] * a[v,w] -> []", "-i", "a.npy", "-o", "out.npy", "--check")
    check(result.returncode == 0 and b"check: none of 1 results compared: the evaluator is not done with one in 5 s" in result.stderr,
          shown(["--check"], result))                # of 12**7 terms
    np.save("bin.npy", np.array([0, 9]))
    said = bad(3, "expr:1:3: error: 'c' at 9, but axis 0 has 5", "run", "c[bin[i]] += 1", "-i", "bin.npy", "--shape", "c=5", "--check")
    check("c[bin[i]] += 1\n  ^~~~~~\n" in said, said)
    good("run", "c[i] += a[i,j]; c[k] += 1", "-i", "a.npy", "-o", "c=out.npy")
    check(close(np.load("out.npy"), a.sum(1) + 1), "an index of what an earlier statement added to")
    with open("faulty-cc", "w") as script:           # sums begin at 1
        script.write(f"#!/bin/sh\nsed 's/ = 0.0f;/ = 1.0f;/; s/splat_f32v(0.0f)/splat_f32v(1.0f)/' | exec {CC} \"$@\"\n")
    os.chmod("faulty-cc", 0o700)
    result = run("run", "ij->i", "-i", "a.npy", "-o", "out.npy", "--check", env={"CC": os.path.abspath("faulty-cc")})
    check(result.returncode == 5 and b"error: the kernel is wrong: out[0] is " in result.stderr
          and b"3 of the 3 results compared are wrong" in result.stderr, shown(["--check"], result))
    for option, value in (("-d", "j=3"), ("--static", "j=3"), ("-d", " j=3, i=3 ")):
        good("run", "y[j,i] = a[i,k]", "-i", "a.npy", option, value, "-o", "out.npy")
        check(close(np.load("out.npy"), np.tile(a.sum(1), (3, 1))), "an extent that no operand has", option)
    bad(4, "--memory", "run", "ij -> ij | softmax j | softmax i", "-i", "a.npy", "--memory", "16", "-o", "never.npy")
    said = bad(4, "the smallest", "run", "ij -> ij | softmax j | softmax i", "-i", "a.npy", "--memory", "0", "-o", "never.npy")
    check("the budget is 0\n" in said, said)
    least = int(re.search(r"smallest[^0-9]*(\d+)", said).group(1))
    good("run", "ij -> ij | softmax j | softmax i", "-i", "a.npy", "--memory", str(least), "-o", "out.npy")
    bad(4, "the smallest", "run", "ij -> ij | softmax j | softmax i", "-i", "a.npy", "--memory", str(least - 1), "-o", "never.npy")


def check_usage():
    """Mistakes on the command line: exit code 2, or 6 where a device is missing."""
    product = ("ij,jk->ik", "-i", "a.npy", "-i", "b.npy", "-o", "never.npy")
    bad(2, "did you mean 'einc run'", "runn", *product)
    bad(2, "did you mean '--check'", "run", *product, "--chekc")
    bad(2, "'einc run' has no option --json", "run", *product, "--json")
    bad(2, "there is no command 'ij,jk->ik'", "ij,jk->ik")
    for word in ("version", "-v"):
        bad(2, "did you mean 'einc --version'", word)
    bad(2, "'einc --help' lists the commands", "help", "nothing")
    for word in ("-", "->"):    # what the shell leaves of an expression without quotes
        bad(2, "put the whole expression into quotes", "run", "ij", word, "-i", "a.npy")
    bad(2, "there is no expression", "run", "-i", "a.npy")
    bad(2, "stands behind '--'", "run", "-ij -> i", "-i", "a.npy")
    bad(2, "operand 2 has no array", "run", "ij,jk->ik", "-i", "a.npy", "-o", "never.npy")
    bad(2, "operand 'B' has no array", "run", "A[i,j], B[j,k] -> [i,k]", "-i", "A=a.npy", "-o", "never.npy")
    for text, said in (("a[i] = a[i,j]", "'a' is made from itself"), ("y = a[i,j] ; y + 1", "write 'y[i,j]'"),
                       ("a[i,j] + a[i]", "'a' has rank 1 here, but 2 before")):    # whatever the arrays are
        bad(3, said, "run", text, "-i", "a.npy", "-i", "b.npy", "-o", "never.npy")
    bad(2, "'c.npy' is left over", "run", *product, "-i", "c.npy")
    bad(2, "did you mean 'queries'", "run", "queries[i,j] -> [i]", "-i", "querys=a.npy", "-o", "never.npy")
    bad(2, "given twice", "run", "A[i,j] -> [i]", "-i", "A=a.npy", "-i", "A=b.npy", "-o", "never.npy")
    both = "P = ij->i ; S = P[i] | sum i"
    bad(2, "only 1 of them has a file", "run", both, "--outputs", "P,S", "-i", "a.npy", "-o", "S=x1.npy")
    bad(2, "between names stands ','", "explain", both, "--outputs", "P S")
    bad(2, "the output 'P' is asked for twice", "explain", both, "--outputs", "P,P")
    bad(3, "did you mean 'total'", "compile", "total = ij->i ; total[i]^2", "--outputs", "totl")
    note = run("explain", "P = ij->i ; S = ij->j").stderr.decode()
    check("1:1: note: 'P' is not computed" in note and "--outputs P,S" in note, note)
    check(not run("explain", both, "--outputs", "P").stderr, "what was asked for is not noted")
    bad(2, "asked for twice", "run", "P = ij->i ; P[i] | sum i", "-i", "a.npy", "-o", "P=x1.npy", "-o", "P=x2.npy")
    bad(2, "cannot both be written to", "run", "ij | max j & argmax j", "-i", "a.npy", "-o", "x1.npy", "-o", "x1.npy")
    bad(2, "2 results", "run", "ij | max j & argmax j", "-i", "a.npy", "-o", "x1.npy")
    bad(2, "1 result", "run", "ij | max j", "-i", "a.npy", "-o", "x1.npy", "-o", "x2.npy")
    bad(2, "no number of bytes", "run", *product, "--memory", "lots")
    bad(2, "no number of threads", "run", *product, "--threads", "0")
    bad(2, "is no extent", "run", *product, "-d", "j=x")
    bad(2, "given as 4 and as 5", "run", *product, "-d", "j=4", "-d", "j=5")
    bad(2, "given as 3 and as 4", "run", *product, "--static", "j=3", "-d", "j=4")
    bad(2, "needs a value", "run", *product, "-d")
    bad(2, "there is no target 'avx3'", "run", *product, "--target", "avx3")
    bad(6, "CUDA", "bench", "ij->i", "-d", "i=3,j=4", "--device", "cuda")
    bad(6, ["CUDA", "without --device cuda and a target for CUDA, it runs on this CPU"], "bench", "ij->i", "-d", "i=3,j=4", "--target",
        "cuda:sm_90a")
    for target in ("cuda:sm_90", "sm_90a", "sm_90", "CUDA:SM_90A"):
        bad(2, [f"there is no target '{target}'", "did you mean 'cuda:sm_90a'?"], "compile", "ij->i", "--target", target)
    for target in ("cuda", "avx2,cuda"):
        bad(2, ["there is no target 'cuda'", "hint: name the GPU's, such as cuda:sm_90a"], "compile", "ij->i", "--target", target)
    for output in ("x.so", "x.o", "x.c", "x.h"):
        bad(2, [f"-o {output}: what is written is CUDA C++", "hint: '-o x.cu', which nvcc"], "compile", "ij->i", "--target", "cuda:sm_80", "-o", output)
    bad(2, ["-o x.so: what is written is C", "hint: '-o x.c'"], "compile", "ij->i", "-o", "x.so")
    bad(2, ["-o x.cu: what is written is C", "'--target cuda:sm_90a' makes"], "compile", "ij->i", "--target", "avx2", "-o", "x.cu")
    bad(2, "did you mean 'avx512'?", "compile", "ij->i", "--target", "AVX512")
    bad(2, "is not for --device cpu", "compile", "ij->i", "--target", "cuda:sm_80", "--device", "cpu")
    bad(2, "alone in their file", "compile", "ij->i", "--target", "portable,cuda:sm_80")
    bad(2, "--emit-main", "compile", "ij->i", "--target", "cuda:sm_80", "--emit-main")
    many = ",".join(f"X{n}[{','.join('abcdefghijklmnop')}]" for n in range(130)) + " -> []"
    bad(3, "operands of so many axes", "compile", many, "--target", "cuda:sm_80")
    bad(2, "there is no device 'gpu'", "run", *product, "--device", "gpu")
    bad(2, "there is no precision 'half'", "run", *product, "--precision", "half")
    bad(2, "--fast-math", "run", *product, "--fast-math")
    bad(2, "is no shape", "explain", "ij->i", "--shape", "2,x")
    bad(2, ["is no shape", "'Q[i,j]:f16'"], "explain", "Q[i,j]->i", "--shape", "Q=f16:2,3")
    bad(2, ["'b.npy' is left over", "'ij jk' is one operand; between operands stands ','"], "run", "ij jk->ik", "-i", "a.npy",
        "-i", "b.npy")
    bad(2, "'einc cache' takes one word", "cache")
    bad(2, "did you mean 'clear'", "cache", "claer")
    bad(2, "no name for a C function", "compile", "ij->i", "--name", "9x")
    for name in ("printf", "main", "step_1"):
        bad(2, f"cannot be called '{name}'", "compile", "ij->i", "--name", name)
    for name in ("min", "rsqrtf", "float4", "threadIdx", "clock64", "cudaMalloc", "__kernel", "time", "launch", "printf"):
        bad(2, f"cannot be called '{name}': C, CUDA", "compile", "ij->i", "--target", "cuda:sm_90a", "--name", name)
    for stem, name in (("min", "min_2"), ("cuda_sum", "kernel_cuda_sum")):
        done = run("compile", "ij->i", "-o", stem + ".cu")
        check(f"called '{name}'" in done.stderr.decode() and f"int {name}(" in open(stem + ".cu").read(), stem)


def check_shapes():
    """Expressions, shapes and dtypes: exit code 3, and nothing computed."""
    bad(3, ["operand 2 has 2 indices here, but its array has 3 dimensions", "ij,jk->ik\n   ^"], "run", "ij,jk->ik", "-i", "a.npy",
        "-i", "q.npy", "-o", "never.npy")
    bad(3, ["index 'j' is 3 in operand 2, but 4 in operand 1", "note: axis 1 of operand 1 has 4"], "run", "ij,jk->ik", "-i",
        "a.npy", "-i", "c.npy", "-o", "never.npy")
    bad(3, "index 'j' is given as 9, but is 4", "run", "ij->i", "-i", "a.npy", "-d", "j=9", "-o", "never.npy")
    bad(3, "index 'j' is given as 5, but is 4", "run", "ij->i", "-i", "a.npy", "--static", "j=5", "-o", "never.npy")
    bad(3, "no index 'x'", "run", "ij->i", "-i", "a.npy", "-d", "x=9", "-o", "never.npy")
    bad(3, "must be an integer", "run", "x[y[i]] -> [i]", "-i", "x.npy", "-i", "x.npy", "-o", "never.npy")
    bad(3, "read out of range", "run", "x[y[i]] -> [i]", "-i", "x.npy", "-i", "far.npy", "-o", "never.npy")
    bad(3, "did you mean 'logsumexp'", "run", "ij | logsumexpo j", "-i", "a.npy", "-o", "never.npy")
    bad(3, "not known", "bench", "ij,jk->ik", "-d", "i=5,j=5")
    bad(3, "between operands stands ','", "run", "i jk", "-i", "a.npy")
    bad(3, "pass a slice of the array as another operand", "run", "x[i+1] - x[i]", "-i", "x.npy")


def check_files():
    """Files that cannot be read or written: exit code 1."""
    with open("a.npy", "rb") as file:
        whole = file.read()
    broken = {"cut.npy": whole[:150], "head.npy": whole[:50], "empty.npy": b"", "text.npy": b"hello world\n",
              "zip.npz": b"PK\3\4" + bytes(60), "version.npy": whole[:6] + b"\x09" + whole[7:]}
    for name, contents in broken.items():
        with open(name, "wb") as file:
            file.write(contents)
    np.save("unsigned.npy", np.ones((3, 4), "u4"))
    np.save("words.npy", np.array([["a", "b"]]))
    np.save("objects.npy", np.array([[1, "b"]], dtype=object))
    for name, words in (("none.npy", "No such file"), ("cut.npy", "truncated"), ("head.npy", "truncated"), ("empty.npy", "npy"),
                        ("text.npy", "not a .npy file"), ("zip.npz", ".npz archive"), ("version.npy", "version"),
                        (".", "directory"), ("unsigned.npy", ".astype('int64')"), ("words.npy", "strings"),
                        ("objects.npy", "object")):
        bad(1, ["error: " + name, words], "run", "ij->i", "-i", name, "-o", "never.npy")
    bad(1, "each operand has its own -i", "run", "ij,jk->ik", "-i", "a.npy,b.npy", errors=2)
    bad(1, "No such file", "run", "@none.ein", "-i", "a.npy")
    for path, words in (("/nowhere/at/all.npy", "No such file"), ("/dev/full", "No space left"), (".", "directory")):
        bad(1, words, "run", "ij->i", "-i", "a.npy", "-o", path)
        bad(1, words, "compile", "ij->i", "-o", path)
    bad(1, "No such file", "compile", "ij->i", "-o", "k.c", "--header", "/nowhere/k.h")
    np.save("kept.npy", np.ones(3, "f4"))
    bad(1, "No such file", "run", "ij | max j & argmax j", "-i", "a.npy", "-o", "kept.npy", "-o", "/nowhere/x.npy")
    check((np.load("kept.npy") == 1).all(), "a result that was there before is kept")
    with open("/dev/full", "wb") as full:
        import subprocess
        result = subprocess.run([EINC, "run", "ij->i", "-i", "a.npy"], stdout=full, stderr=subprocess.PIPE)
    check(result.returncode == 1 and b"standard output" in result.stderr, "a full standard output", result.stderr)
    if os.geteuid():
        os.mkdir("locked", 0o555)
        bad(1, "Permission denied", "run", "ij->i", "-i", "a.npy", "-o", "locked/x.npy")


def check_compiler():
    """Without a compiler: exit code 6."""
    expression = ("run", "ij | max j | exp", "-i", "a.npy", "-o", "never.npy")
    fresh = {"EINC_CACHE_DIR": os.path.abspath(".cache/other")}
    bad(6, ["no C compiler", "install gcc or clang"], *expression, env=dict(fresh, CC="/nowhere/cc"))
    bad(6, "no C compiler", *expression, env=dict(fresh, CC="", PATH="/nowhere"))
    result = run("doctor", env=dict(fresh, CC="/nowhere/cc"))
    check(result.returncode == 6 and b"-> no C compiler" in result.stdout, shown(["doctor"], result))
    for compiler in ("gcc", "clang"):
        import shutil
        if shutil.which(compiler):
            good(*expression[:-1], "out.npy", env=dict(fresh, CC=compiler))


def check_explain():
    known = ("ijk,mnk->ijmn | max n | sum j", "-d", "i=300,j=32,k=256,m=315,n=2000")
    said = text(good("explain", *known))
    for words in ("f32[i=300, j=32, k=256]", "for n=2000", "max", "not stored", "24.2 GB", "operands     655 MB", "3.10 Tflop",
                  "bound        arithmetic"):
        check(words in said, words, said)
    np.save("long.npy", np.zeros((12345, 30), np.float16))
    said = text(good("explain", "ij,jk->ik", "-i", "long.npy", "--shape", "30,500"))
    check("f16[i=12345, j=30]" in said and "f32[j=30, k=500]" in said, said)
    check(b"f16" in good("compile", "ij->i", "-i", "long.npy", "-o", "-"), "a dtype of a file")
    unknown = text(good("explain", known[0]))
    check("2 * i * j * k * m * n" in unknown and "4 * i * j * k + 4 * m * n * k + 4 * i * m bytes" in unknown, unknown)
    for target, rate in (("avx512", 64), ("avx512bf16", 128), ("amx", 1024), ("cuda:sm_90a", 4096)):    # of units for bf16
        said = text(good("explain", "ij:bf16,jk:bf16->ik", "-d", "i=999,j=999,k=999", "--target", target))
        check(" at %d flop and " % rate in said, said)
    for memory in ("8000", "100000", "1000000"):
        said = text(good("explain", "ck,kn->cn", "-d", "c=8,k=8192,n=16384", "--target", "avx2", "--memory", memory))
        check("8 points at a time" in said and "tiles of 24 columns" in said, "a budget for the sums of a few rows:", said)
    for layout, memory, parts, points in (("kc,kn", "400000", True, 96), ("kc,kn", "100000", False, 96), ("kc,kn", "80000", False, 78),
                                          ("kc,nk", "600000", True, 384), ("kc,nk", "300000", False, 292), ("kc,nk", "100000", False, 97)):
        said = text(good("explain", layout + "->cn", "-d", "k=500000,c=64,n=64", "--target", "avx2", "--memory", memory))
        check(("in parts" in said) == parts and "%d points at a time" % points in said, "a budget for a deep product:", said)
    said = text(good("explain", "ij,jk->ik", "-d", "i=999,j=999,k=999", "--target", "amx", "--precision", "bf16x6"))
    check(" at 170.7 flop and " in said, said)    # six products for one
    for shape in (("--shape", "300,32,256", "--shape", "315,2000,256"), ("--shape=A=300,32,256", "--shape=B=315,2000,256")):
        if "A=" in shape[0]:
            facts = json.loads(good("explain", "A[i,j,k],B[m,n,k]->[i,j,m,n] | max n | sum j", *shape, "--json"))
        else:
            facts = json.loads(good("explain", known[0], *shape, "--json"))
        check(facts["not_stored_bytes"] == 300 * 32 * 315 * 2000 * 4 and facts["bound"] == "arithmetic", facts)
        check(facts["bytes"] == 4 * (300 * 32 * 256 + 315 * 2000 * 256 + 300 * 315), facts)
        check([o["shape"] for o in facts["outputs"]] == [[300, 315]], facts)
        loops = {loop["index"]: loop for loop in facts["launches"][0]["steps"][0]["loops"]}
        check(set(loops) == set("ijkmn") and loops["n"]["kind"] == "max" and loops["k"]["kind"] == "sum", loops)
    for expression, shape, count in (("ii->i", "--shape=40,40", 80), ("biaa->bi", "--shape=3,4,5,5", 72), ("A[0,j] | sum j", "--shape=9,7", 8),
                                     ("A[0,j] * A[1,j] | sum j", "--shape=9,7", 64), ("A[i,i] + A[i,j] | sum i", "--shape=5,5", 30)):
        facts = json.loads(good("explain", expression, shape, "--json"))    # a diagonal's numbers, not the array's
        check(facts["bytes"] == 4 * count, expression, facts["bytes"])
    shape = ("-d", "i=30,j=20,k=256,m=31,n=199", "--target", "avx2")
    said = text(good("explain", known[0], *shape))
    steps = json.loads(good("explain", known[0], *shape, "--json"))["launches"][0]["steps"]
    check(steps[0]["tiles"] == {"rows": 6, "columns": 16, "vectors": 2, "row_indices": ["n"], "column_indices": ["i", "j"],
                                "contracted": ["k"], "packed": ["columns"], "depth_block": 1024}, steps)
    check("tiles of 6 rows, in place" in said and "tiles of 16 columns, packed in squares, 8 lanes" in said, said)
    order = [said.index("for %s" % loop["index"], said.index("tmp1[")) for loop in steps[0]["loops"]]
    check(order == sorted(order), "the loops in the order of the text", steps)
    check(steps[1]["tiles"] is None, "a nest of loops has no tiles", steps)
    product = json.loads(good("explain", "ij:f16,jk->ik", "-d", "i=300,j=300,k=300", "--json"))["launches"][0]["steps"][0]
    check(product["tiles"]["packed"] == ["rows", "columns"], product)
    check(steps[0]["expected_cycles"] is None, "nothing else could make it", steps)
    for rows, tiled in ((4, False), (400, True)):    # the nest that is expected to take less, and how much either is
        of = ("ij,kj->ik", "-d", "i=%d,j=300,k=300" % rows, "--target", "avx2")
        step = json.loads(good("explain", *of, "--json"))["launches"][0]["steps"][0]
        cycles = step["expected_cycles"]
        check((step["tiles"] is not None) == tiled and (cycles["tiles"] < cycles["loops"]) == tiled, step)
        check(re.search("in %s +[0-9.]+ [kM]cycles expected of a core, in %s [0-9.]+ [kM]cycles" % (("tiles", "loops") if tiled else ("loops", "tiles")),
                        text(good("explain", *of))), step)
    check(json.loads(good("explain", known[0], "--json"))["flops"] is None, "what is not known is null")
    for precision, words in (("bf16x6", "2^-24 of a product's size"), ("bf16x3", "2^-15 of a product's size")):
        shape = ("-d", "i=100,j=200,k=128,m=10,n=100", "--precision", precision)
        said = text(good("explain", known[0], *shape, "--target", "amx"))
        check(f"precision    {precision}: " in said and words in said, precision, said)
        said = text(good("explain", known[0], *shape, "--target", "avx2"))
        check("precision    exact: " in said, precision, said)
    for precision, words in (("bf16x6", "2^-24 of a"), ("bf16x3", "2^-15 of a"), ("tf32", "2^-10 of a")):
        said = text(good("explain", "ik,jk->ij", "--precision", precision, "--target", "cuda:sm_80"))
        check(f"precision    {precision}: " in said and words in said, precision, said)
    said = text(good("explain", "ik:bf16,jk:bf16->ij | max j", "--target", "cuda:sm_90a"))
    check("where tensor maps describe both sides" in said and "in a ring of" in said, "what is chosen when the kernel runs", said)
    said = text(good("explain", "ik,jk->ij", "--precision", "tf32", "--target", "amx", "-d", "i=100,j=100,k=100"))
    check("precision    exact: no product here has a unit for tf32" in said, said)
    for dump in ("ast", "program", "order", "gather", "lower", "plan"):
        check(good("explain", known[0], f"-d{dump}"), dump)
    sizes = [json.loads(good("explain", known[0], "-d", f"i=3,j=32,k=64,m=31,n={n}", "--json"))["workspace_bytes"]
             for n in (100, 1000, 10 ** 9)]
    # Tiles of nearly equal height: a few rows more or less, whatever n is.
    check(0 < max(sizes) < 1.2 * min(sizes), "the workspace does not grow with n", sizes)
    said = text(good("explain", known[0], "-d", "i=300,j=2000,k=256,m=315,n=1990", "--target", "avx512", "--memory", "2M"))
    check("tiles of" in said, "smaller tiles before no tiles", said)


def check_bench():
    keys = {"seconds", "flops", "bytes", "flops_per_second", "bytes_per_second", "peak_flops_per_second",
            "peak_bytes_per_second", "efficiency", "workspace_bytes", "threads", "target"}
    for arguments in (("-d", "i=60,j=50,k=40"), ("--shape", "60,50", "--shape", "50,40"), ("-i", "a.npy", "-i", "b.npy")):
        result = run("bench", "ij,jk->ik", *arguments, "--seconds", "0.1", "--threads", "1", "--json")
        if result.returncode == 5:
            check(b"too busy" in result.stderr, shown(arguments, result))
            continue
        check(result.returncode == 0, shown(arguments, result))
        facts = json.loads(result.stdout)
        check(set(facts) == keys, "keys", set(facts) ^ keys)
        check(facts["threads"] == 1 and facts["efficiency"] <= 1.02 and facts["peak_flops_per_second"] > 1e8, facts)
        bound = max(facts["flops"] / facts["peak_flops_per_second"], facts["bytes"] / facts["peak_bytes_per_second"])
        check(abs(facts["efficiency"] - bound / facts["seconds"]) < 1e-3 * facts["efficiency"], "roofline bound / time", facts)
    check(facts["flops"] == 2 * 3 * 4 * 5 and facts["bytes"] == 4 * (12 + 20 + 15), facts)
    if "vnni" in text(good("explain", "ij:i8,jk:i8->ik", "-d", "i=9,j=9,k=9")).lower():    # narrow products have a higher roof
        for _ in range(4):
            result = run("bench", "ij:i8,jk:i8->ik", "-d", "i=200,j=400,k=200", "--seconds", "0.1", "--threads", "1", "--json")
            if result.returncode != 5:
                break
        check(result.returncode == 0, shown(["i8"], result))


def check_help():
    """What is written for people: every option of the tables is in the help, the man page and the completion."""
    check(text(good("--version")).startswith("einc "), "--version")
    top = text(good("--help"))
    for command in ("run", "explain", "compile", "bench", "cache", "doctor"):
        page = text(good("help", command))
        check(page == text(good(command, "--help")) == text(good(command, "-h")), command)
        check(f"einc {command}" in top and page.startswith(f"usage: einc {command}"), command)
        for line in page.splitlines():
            check(len(line) <= 120, "a line too long for a terminal", line)
    result = run()
    check(result.returncode == 2 and text(result.stderr) == top, "no command: the help, and exit code 2")


def check_examples():
    """The examples of the help, as they stand there."""
    import subprocess
    np.save("queries.npy", rng.standard_normal((3, 4, 5)).astype("f4"))
    np.save("documents.npy", rng.standard_normal((6, 7, 5)).astype("f4"))
    np.save("d.npy", rng.standard_normal((9, 5)).astype("f4"))
    np.save("q.npy", rng.standard_normal((3, 5)).astype("f4"))
    count = 0
    for command in ("run", "explain", "compile", "cache", "doctor"):
        for line in text(good("help", command)).splitlines():
            if line.startswith(("  einc ", "  ./")):
                result = subprocess.run(["sh", "-c", line.replace("einc ", EINC + " ", 1)], capture_output=True)
                check(result.returncode == 0, line, text(result.stderr))
                count += 1
    check(count >= 10, "examples in the help", count)


def check_cache():
    path = text(good("cache", "path")).strip()
    check(path == os.environ["EINC_CACHE_DIR"], path)
    listed = text(good("cache", "ls")).splitlines()
    check(len(listed) > 10 and any("ij,jk->ik" in line for line in listed), "cache ls", listed[:5])
    check(f"removed {len(listed)} kernels" in text(good("cache", "clear")), "cache clear")
    check(good("cache", "ls") == b"", "an empty cache")


def main():
    began = time.time()
    with Scratch():
        arrays = make_arrays()
        check_run(arrays)
        check_expressions(arrays)
        np.save("far.npy", np.array([0, 2, 3000]))
        check_printing()
        check_options(arrays)
        check_usage()
        check_shapes()
        check_files()
        check_compiler()
        check_explain()
        check_bench()
        check_help()
        check_cache()
        check_examples()
    finish(began)


main()
