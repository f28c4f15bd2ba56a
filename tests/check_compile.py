"""einc compile: a file, its header and a main() are a program, for one instruction set and for several in one file; the
same input gives the same bytes; each compiler is content. About 40 s."""
import os
import re
import shutil
import subprocess
import time

import numpy as np

from command import CC, Scratch, bad, bf16, check, files, finish, good, text

rng = np.random.default_rng(4)

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
LANGUAGES = {"gcc": ["gcc", "-std=c11"], "clang": ["clang", "-std=c11"], "g++": ["g++", "-std=c++17", "-x", "c++"],
             "clang++": ["clang++", "-std=c++17", "-x", "c++"]}

# expression, operands, further options of the program
CASES = [
    ("ij,jk->ik", ["a", "b"], []),
    ("ijk,mnk->ijmn | max n | sum j", ["q", "d"], []),
    ("Q[i,k], D[j,k] -> [i,j] | topk(3) j & argtopk(3) j", ["a", "e"], []),
    ("ij:bf16,jk -> ik | softmax k", ["h", "b"], []),
    ("dW[y[t]:i64,h] += g[t,h]:f64", ["y", "g"], ["--shape", "dW=9,4"]),
    ("y[i,j] = x[i]", ["x"], ["-d", "j=3"]),
    ("ij -> ij | exp | cumsum j | where(_ > 2, _, -inf) | logsumexp i", ["a"], []),
]


def make_arrays():
    for name, shape in {"a": (6, 5), "b": (5, 40), "q": (3, 4, 16), "d": (6, 7, 16), "e": (20, 5), "x": (8,)}.items():
        np.save(name + ".npy", rng.standard_normal(shape).astype("f4"))
    np.save("h.npy", bf16(rng.standard_normal((6, 5))))
    np.save("y.npy", rng.integers(0, 9, 50))
    np.save("g.npy", rng.standard_normal((50, 4)))


def output_count(expression):
    return 2 if "&" in expression else 1


def build(compiler, source, program):
    result = subprocess.run([*compiler, *WARNINGS, source, "-o", program, "-lm"], capture_output=True)
    check(result.returncode == 0 and not result.stderr, compiler, text(result.stderr)[:3000])


def check_fast_math():
    """The text refuses a compiler that may forget NaN; einc's own flags stand behind those of CC."""
    np.save("nan.npy", np.array([[1, np.nan, 3], [-np.inf] * 3], "f4"))
    good("compile", "ij | softmax j", "-o", "kernel.c")
    for name in filter(shutil.which, LANGUAGES):
        for flags, refused in (["-ffast-math"], True), (["-Ofast"], True), (["-Ofast", "-fno-fast-math"], False):
            result = subprocess.run([*LANGUAGES[name], *flags, "-c", "kernel.c", "-o", "kernel.o"], capture_output=True)
            check((b"NaN and infinities count" in result.stderr) == refused == (result.returncode != 0), name, flags, text(result.stderr))
    for name in filter(shutil.which, ("gcc", "clang")):
        good("run", "ij | softmax j", "-i", "nan.npy", "-o", "softmax.npy", env={"CC": name + " -ffast-math"})
        check(np.array_equal(np.load("softmax.npy"), [[np.nan] * 3, [0] * 3], equal_nan=True), name, np.load("softmax.npy"))


def run_program(program, operands, options, count):
    made = [f"made{i}.npy" for i in range(count)]
    outputs = [word for name in made for word in ("-o", name)]
    result = subprocess.run([f"./{program}", *(f"{name}.npy" for name in operands), *options, *outputs], capture_output=True)
    check(result.returncode == 0 and not result.stderr, program, result.returncode, text(result.stderr))
    return [np.load(name) for name in made]


def check_programs():
    """Each case for one target and for several, with each language in turn."""
    languages = [words for name, words in LANGUAGES.items() if shutil.which(name)]
    if len(languages) < len(LANGUAGES):
        print("not checked here:", ", ".join(name for name in LANGUAGES if not shutil.which(name)))
    turn = 0
    for expression, operands, options in CASES:
        count = output_count(expression)
        inputs = [word for name in operands for word in ("-i", name + ".npy")]
        outputs = [word for i in range(count) for word in ("-o", f"want{i}.npy")]
        good("run", expression, *inputs, *options, *outputs)
        for target in (["--target", "portable"], ["--target", "avx2,avx512"]):
            good("compile", expression, "-o", "kernel.c", "--header", "kernel.h", "--name", "kernel", "--emit-main", *target,
                 *(options if options[:1] == ["-d"] else []))
            build(languages[turn % len(languages)], "kernel.c", "program")
            for i, made in enumerate(run_program("program", operands, options, count)):
                want = np.load(f"want{i}.npy")
                check(made.dtype == want.dtype and made.shape == want.shape and np.allclose(made, want, rtol=1e-4, atol=1e-5),
                      expression, target, made, want)
            turn += 1


def check_dispatch():
    """Without AVX-512 and AVX2 the same program takes what is left."""
    if not shutil.which("qemu-x86_64"):
        print("not checked here: other CPUs, without qemu-x86_64")
        return
    good("compile", "ij,jk->ik", "-o", "kernel.c", "--name", "kernel", "--emit-main", "--target", "avx512,avx2")
    subprocess.run([*CC.split(), "-O1", "-static", "kernel.c", "-o", "program", "-lm"], check=True)
    good("run", "ij,jk->ik", "-i", "a.npy", "-i", "b.npy", "-o", "want.npy")
    for cpu in ("Nehalem", "Haswell", "max"):
        result = subprocess.run(["qemu-x86_64", "-cpu", cpu, "./program", "a.npy", "b.npy", "-o", "made.npy"], capture_output=True)
        check(result.returncode == 0 and np.allclose(np.load("made.npy"), np.load("want.npy"), rtol=1e-4, atol=1e-5), cpu,
              text(result.stderr))


def check_refused():
    """A program for tiles, on a machine without them, says so and writes nothing; among several, another target runs."""
    a, b = rng.integers(-99, 99, (2, 40, 40), np.int8)
    np.save("narrow_a.npy", a)
    np.save("narrow_b.npy", b)
    has = "amx (not" not in text(good("doctor"))
    for target, runs in (("amx", has), ("avx512,amx", True), ("portable,avx512bf16,sapphirerapids", True)):
        good("compile", "ik:i8,kj:i8->ij", "-o", "kernel.c", "--name", "kernel", "--emit-main", "--target", target)
        build(CC.split(), "kernel.c", "program")
        if os.path.exists("made.npy"):
            os.remove("made.npy")
        result = subprocess.run(["./program", "narrow_a.npy", "narrow_b.npy", "-o", "made.npy"], capture_output=True)
        if runs:
            want = a.astype(np.int32) @ b.astype(np.int32)
            check(result.returncode == 0 and (np.load("made.npy") == want).all(), target, text(result.stderr))
        else:
            check(result.returncode == 6 and not os.path.exists("made.npy") and "this machine" in text(result.stderr), target,
                  result.returncode, text(result.stderr))


def check_maker():
    """Intel's cores have a target of their own, which a file of several asks the CPU's maker for."""
    with open("/proc/cpuinfo") as lines:
        words = lines.read()
    its = "GenuineIntel" in words and "avx512_bf16" in words and "avx512_vnni" in words
    said = text(good("doctor"))
    check("sapphirerapids" in said and ("sapphirerapids (not" not in said) == its, said)
    good("compile", "ij,jk->ik", "-o", "kernel.c", "--name", "kernel", "--target", "portable,avx512bf16,sapphirerapids")
    with open("kernel.c") as lines:
        asked = re.findall(r'__builtin_cpu_is\("intel"\)\)\n +return (\w+)\(', lines.read())
    check(asked == ["kernel_workspace_sapphirerapids", "kernel_sapphirerapids"], asked)


def check_bytes():
    """The same input, the same bytes, wherever it stands; another target, others."""
    for target in ("portable", "avx512", "avx2,avx512"):
        made = []
        for folder in ("one", "two"):
            os.makedirs(folder, exist_ok=True)
            good("compile", CASES[1][0], "-o", f"{folder}/k.c", "--header", f"{folder}/k.h", "--target", target)
            made.append([open(f"{folder}/k.{suffix}").read() for suffix in "ch"])
        check(made[0] == made[1], "the same bytes", target)
        check("int k(const k_args *args" in made[0][0] and "int k_workspace(" in made[0][1], "named after the file", target)
    printed = [text(good("compile", "ij->i", *more)).split("\n", 1) for more in ([], ["-o", "-"])]
    check(printed[0][1] == printed[1][1] and "int einc_kernel(" in printed[0][1], "the standard output, but for the command")
    for stem in ("main", "step_1", "tile_2"):    # a file may be called what a function of the kernel is
        good("compile", "ij->i", "-o", f"{stem}.c")
        check(f"int kernel_{stem}(" in open(f"{stem}.c").read(), "the function of a file of that name", stem)
    good("compile", "ij->i", "-o", "apart.c", "--header", "apart.h")
    with open("user.cc", "w") as file:
        file.write('#include "apart.h"\n#include "apart.h"\nint main() { apart_args a{}; return apart_workspace(&a, 0, nullptr) == 0; }\n')
    if shutil.which("g++"):
        subprocess.run(["gcc", "-c", "-O1", "apart.c"], check=True)
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", "user.cc", "apart.o", "-o", "user", "-lm"], check=True)
        check(subprocess.run(["./user"]).returncode == 0, "header and kernel apart, from C++")


def check_long_chains():
    """A stage uses the value so far more than once; what a chain of n stages makes grows with n, not with 2^n."""
    lines = []
    for count in (12, 24, 48):
        stages = "".join(f" | where(_ > {k / 8 - 1}, _ / 2, _ + 0.25)" for k in range(count))
        for head in ("x[i+j] -> [i]", "x[i+j] | softmax j | max j", "x[i] | cumsum i", "a[i,j], b[j,k] -> [i,k]"):
            began = time.process_time() + os.times().children_user
            lines.append(len(good("compile", head + stages).splitlines()))
            seconds = time.process_time() + os.times().children_user - began
            check(seconds < 1, f"{count} stages behind {head} take {seconds} s")
            good("explain", head + stages, "--json")
    check(all(most < 6 * least for least, most in zip(lines[:4], lines[8:])), "lines for 12, 24 and 48 stages", lines)
    # What is shared keeps the where that protects it: x[i+6] is in range for i < 2.
    good("run", "where(@i < 2, x[i+6], 7)" + " | where(_ > 0, _ - 1, _ * 2)" * 24, "-i", "x.npy", "-d", "i=5", "-o", "made.npy")
    want = np.float32([*np.load("x.npy")[6:], 7, 7, 7])
    for _ in range(24):
        want = np.where(want > 0, want - 1, want * 2)
    check(np.allclose(np.load("made.npy"), want), np.load("made.npy"), want)


def check_mistakes():
    """The program's own: the exit codes are einc's, and nothing is left."""
    good("compile", "ij,jk->ik", "-o", "product.c", "--emit-main")
    build(CC.split(), "product.c", "product")
    with open("a.npy", "rb") as whole, open("cut.npy", "wb") as cut:
        cut.write(whole.read()[:150])
    before = files()
    for code, words in ((2, ["a.npy"]), (2, ["a.npy", "b.npy"]), (2, ["a.npy", "b.npy", "b.npy", "-o", "never.npy"]),
                        (1, ["a.npy", "none.npy", "-o", "never.npy"]), (1, ["cut.npy", "b.npy", "-o", "never.npy"]),
                        (3, ["a.npy", "q.npy", "-o", "never.npy"]), (3, ["a.npy", "e.npy", "-o", "never.npy"]),
                        (3, ["a.npy", "y.npy", "-o", "never.npy"]), (1, ["a.npy", "b.npy", "-o", "/nowhere/x.npy"])):
        result = subprocess.run(["./product", *words], capture_output=True)
        check(result.returncode == code and b"error: " in result.stderr, words, result.returncode, text(result.stderr))
        check(files() == before, "nothing is left", set(files()) - set(before))
    # A result that does not fit: what was there before is kept.
    shutil.copy("a.npy", "kept.npy")
    before = files()
    result = subprocess.run(["bash", "-c", "ulimit -f 0; trap '' XFSZ; ./product a.npy b.npy -o kept.npy"], capture_output=True)
    check(result.returncode == 1 and b"cannot be written" in result.stderr, result.returncode, text(result.stderr))
    check(files() == before and open("kept.npy", "rb").read() == open("a.npy", "rb").read(), "the old file is kept", files())
    result = subprocess.run("./product a.npy b.npy -o /dev/stdout | cat >piped.npy", shell=True)
    good("run", "ij,jk->ik", "-i", "a.npy", "-i", "b.npy", "-o", "want.npy")
    check(np.allclose(np.load("piped.npy"), np.load("want.npy"), rtol=1e-4, atol=1e-5), "a pipe is written in its place")
    bad(2, "there is no target 'avx3'", "compile", "ij->i", "--target", "avx2,avx3")
    bad(2, "there is no target", "run", "ij->i", "-i", "a.npy", "--target", "avx2,avx512")


def main():
    began = time.time()
    with Scratch():
        make_arrays()
        check_programs()
        check_fast_math()
        check_dispatch()
        check_refused()
        check_maker()
        check_bytes()
        check_long_chains()
        check_mistakes()
    finish(began)


main()
