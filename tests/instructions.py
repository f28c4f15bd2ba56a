"""Which C compiler makes kernels of a target that this CPU can run.

Where the CPU lacks AMX alone, kernels model its tiles and nothing else; where it lacks vectors, they are plain C, tiles as
models of plain C too (tests/scalar_cc.sh)."""
import functools
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SCALAR = os.path.join(HERE, "scalar_cc.sh")
QUICK = os.path.join(HERE, "quick_cc.sh")


@functools.cache
def targets_here():
    """The targets whose instructions this CPU has, as `einc doctor` lists them."""
    einc = os.environ.get("EINC", os.path.join(os.environ.get("BUILD", "build"), "einc"))
    said = subprocess.run([einc, "doctor"], stdout=subprocess.PIPE, text=True).stdout
    listed = re.search(r"^targets +(.*)$", said, re.MULTILINE).group(1)
    return {word.split()[0] for word in listed.split(", ") if "(not" not in word}


def compiler_for(target, compiler):
    """The command that has `compiler` make a target's kernels. "": the CPU's own target."""
    if target == "amx" and "avx512bf16" in targets_here():
        return compiler + " -DEINC_MODEL"
    if not target or target in targets_here():
        return compiler
    return SCALAR + " " + compiler
