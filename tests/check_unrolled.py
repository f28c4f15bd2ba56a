"""Whether compilers make of a tile's sums what they are meant to be: registers.

A turn of the loop over contracted points has a product for each sum, all of them behind each other without a jump between. Where a
compiler leaves the loops over rows and vectors as they are, sums are in memory, and all is right but eight times as slow."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

EINC = os.environ.get("EINC", os.path.join(os.environ.get("BUILD", "build"), "einc"))
COMPILERS = [c for c in ("gcc", "clang", "aarch64-linux-gnu-gcc") if shutil.which(c)]

# What a kernel multiplies with, by target.
KERNELS = [
    ("ijk,mnk->ijmn | max n | sum j", {"avx512": r"vfmadd\w+ps\b.*zmm", "avx2": r"vfmadd\w+ps\b.*ymm", "portable": r"mulps|fmla"}),
    ("ik,kj->ij", {"avx512": r"vfmadd\w+ps\b.*zmm", "avx2": r"vfmadd\w+ps\b.*ymm", "portable": r"mulps|fmla"}),
    ("ik:f64,kj:f64->ij", {"avx512": r"vfmadd\w+pd\b.*zmm", "avx2": r"vfmadd\w+pd\b.*ymm"}),
    ("ik + kj -> ikj | max k", {"avx512": r"vmaxps.*zmm", "avx2": r"vmaxps.*ymm"}),
    ("ik:bf16,jk:bf16->ij", {"avx512bf16": r"vdpbf16ps.*zmm"}),
    ("ik:i8,jk:i8->ij", {"avx512vnni": r"vpdpbusd.*zmm", "avx2": r"vpmaddwd.*ymm"}),
]


def longest_run(assembly, instruction):
    """Of lines with the instruction, none of which is a jump or a label."""
    longest = run = 0
    for line in assembly.splitlines():
        words = line.split()
        if re.search(instruction, line):
            run += 1
            longest = max(longest, run)
        elif words and (words[0].endswith(":") or re.match(r"j|b\.|cb|tb|b$", words[0])):
            run = 0
    return longest


def check(scratch, number, compiler, expression, target, instruction):
    """What is wrong, or None."""
    source, made = (os.path.join(scratch, "%d-%s%s" % (number, target, end)) for end in (".c", "-%s.s" % compiler))
    subprocess.run([EINC, "compile", expression, "--target", target, "-o", source], check=True, capture_output=True)
    subprocess.run([compiler, "-O2", "-w", "-S", source, "-o", made], check=True)
    numbers = re.search(r"ROWS_1 = (\d+), VECTORS_1 = (\d+)", open(source).read())
    sums, run = int(numbers.group(1)) * int(numbers.group(2)), longest_run(open(made).read(), instruction)
    return run < sums and "%s for %s by %s: %d of a tile's %d sums in registers" % (expression, target, compiler, run, sums)


def main():
    with tempfile.TemporaryDirectory(prefix="einc-check-") as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(check, scratch, number, compiler, expression, target, instruction)
                for number, (expression, targets) in enumerate(KERNELS) for target, instruction in targets.items()
                for compiler in COMPILERS if ("aarch64" in compiler) <= (target == "portable")]
        wrong = [job.result() for job in jobs if job.result()]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print("%d tiles by %s: %d wrong" % (len(jobs), ", ".join(COMPILERS), len(wrong)))
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
