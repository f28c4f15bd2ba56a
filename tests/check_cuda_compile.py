#!/usr/bin/env python3
# Kernels for CUDA as files, about 90 s: the golden ones as they were blessed; compiled by NVRTC for all architectures without a
# remark, a spill or memory of a thread's own, with the registers that tests/golden/cuda/registers.txt has, and the accesses that
# disassembly.txt has; products in a ring by each older NVRTC that is here, too; and by nvcc as C++11, C++17 and C++20. What it compiles
# with is found, and for `make test` installed, by tests/cuda_tools.py; where that could not be had it says so.
#
#     tests/check_cuda_compile.py --bless      writes tests/golden/cuda/ anew: read the difference before you commit
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from check_generated import EINC, KERNELS, Wrong, run
from cuda_tools import find_nvcc, find_nvdisasm, load_nvrtcs, nvrtc_version

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "cuda")
TEXTS = ["matrix_product", "narrow_maxsim", "packed_maxsim", "ranked", "cross_entropy", "scatter", "softmax", "complex_variance", "narrow_attention",
         "attention", "gaussian", "product_of_parts", "columns", "few_points", "double_product"]
ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"]
# Tiled products, and the instructions that count in them.
PRODUCTS = ["matrix_product", "maxsim", "narrow_maxsim", "narrow_product", "narrow_attention", "attention", "rounded_product",
            "product_of_parts", "maxsim_of_parts", "double_product", "double_maxsim"]
INSTRUCTIONS = [("lines_read", r"ld\.shared\.v4"), ("pairs_read", r"ld\.shared\.v2"), ("lines_copied", r"cp\.async\.cg"),
                ("numbers_copied", r"cp\.async\.ca"), ("matrices_loaded", r"ldmatrix"), ("matrices_turned", r"ldmatrix\S*\.trans"), ("matrices_multiplied", r"mma\.sync"),
                ("multiplied", r"fma\.rn\.f32")]
# The same of those that Hopper's tensor cores make from a ring.
RING_KERNELS = {
    "half_product": ("A[i,k]:f16, B[j,k]:f16 -> [i,j]", []),
    "narrow_best": ("A[i,k]:bf16, B[j,k]:bf16 -> [i,j] | max j & argmax j", []),
    "narrow_documents": ("Q[i,j,k]:bf16, D[start[m]:i64+n,k]:bf16 -> [i,j,m,n] | where(@n < len[m]:i64, _, -inf) | max n | sum j", []),
    "rounded_attention": ("bhqd:bf16,bhkd:bf16->bhqk | _ * 0.125 | softmax k | bf16 | _ * bhkv:bf16 -> bhqv:bf16", []),
    "capped_attention": ("bhqd:bf16,bhkd:bf16->bhqk | where(@k <= @q && @q - @k < 4096, 30 * tanh(_ / 240), -inf) | softmax k | bf16 | _ * bhkv:bf16 -> bhqv:bf16", []),
    "biased_attention": ("Q[b,h,g,q,d]:bf16, K[b,h,k,d]:bf16 -> [b,h,g,q,k] | where(keep[b,k]:bool, _ / 8 + bias[h,q,k], -inf) | softmax k | bf16 | "
                         "_ * V[b,h,k,v]:bf16 -> [b,h,g,q,v]:bf16", []),
    "byte_product": ("A[i,k]:i8, B[j,k]:i8 -> [i,j]", []),
    "byte_maxsim": ("ijk:i8,mnk:i8->ijmn | max n | sum j", ["-d", "i=1,j=1024,k=128,m=1000,n=1024"]),
    "narrow_layer": ("A[i,k]:bf16, B[k,j]:bf16 -> [i,j]:bf16 | _ + bias[j] + C[i,j]:bf16", ["-d", "i=4096,j=4096,k=4096"]),
    "narrow_log_sums": ("Q[b,i,k]:bf16, K[b,j,k]:bf16 -> [b,i,j] | where(@j <= @i, _ / 8, -inf) | logsumexp j", []),
}
# f32 on tensor cores, as far as the precision allows.
PARTS_KERNELS = {
    "rounded_product": ("ik,jk->ij", ["--precision", "tf32"]),
    "product_of_parts": ("ik,kj->ij", ["--precision", "bf16x3"]),
    "maxsim_of_parts": ("ijk,mnk->ijmn | max n | sum j", ["--precision", "bf16x6"]),
    "attention_of_parts": ("bhqd,bhkd->bhqk | softmax k | * bhkv -> bhqv", ["--precision", "bf16x3"]),
}
# Few sums of long columns, each in parts.
CUT_KERNELS = {"columns": ("A[j,m] -> [m]", ["-d", "j=1000000,m=1000"])}
# Few contracted points, as many as are expected.
BRIEF_KERNELS = {"few_points": ("(id - jd)^2 -> ij | exp(-0.5 * _) | * j -> i", ["-d", "i=1000000,j=1000000,d=3"])}
# f64 on tensor cores.
DOUBLE_KERNELS = {
    "double_product": ("A[i,k]:f64, B[k,j]:f64 -> [i,j]", []),
    "double_maxsim": ("ijk:f64,mnk:f64->ijmn | max n | sum j", []),
}
# Two products in a launch, one after the other.
SEVERAL_KERNELS = {
    "gated_product": ("p = A[i,k], B[k,j] -> [i,j]; q = A[i,k], C[k,j] -> [i,j]; p[i,j] / (1 + exp(-p[i,j])) * q[i,j]",
                      ["-d", "i=4096,j=4096,k=4096"]),
    "large_complex_product": ("A[i,k]:c64, B[k,j]:c64 -> [i,j]", ["-d", "i=4096,j=4096,k=4096"]),
}
OF_ANY_TARGET = KERNELS
KERNELS = {**KERNELS, **RING_KERNELS, **PARTS_KERNELS, **CUT_KERNELS, **BRIEF_KERNELS, **DOUBLE_KERNELS, **SEVERAL_KERNELS}
RINGS = ["narrow_maxsim", *RING_KERNELS]
RING_INSTRUCTIONS = [("tiles_copied", r"cp\.async\.bulk\.tensor"), ("barriers_waited_for", r"mbarrier\.try_wait"),
                     ("matrices_multiplied", r"wgmma\.mma_async"), ("waits", r"wgmma\.wait_group"), ("registers_moved", r"setmaxnreg")]
# What of those and some others is in the machine's code: accesses of 16 bytes, of less, and products of matrices.
DISASSEMBLED = [(name, "sm_80") for name in PRODUCTS + ["softmax", "cross_entropy", "gaussian", "few_points"]]
DISASSEMBLED += [(name, "sm_90a") for name in [*RINGS, "double_product"]]
ACCESSES = [("lines_copied", r"LDGSTS.*\.128"), ("copied", r"LDGSTS(?!.*\.128)"),
            ("lines_loaded", r"LDG\b.*\.128"), ("loaded", r"LDG\b(?!.*\.128)"),
            ("lines_stored", r"STG\b.*\.128"), ("stored", r"STG\b(?!.*\.128)"),
            ("lines_read", r"LDS\b.*\.128"), ("read", r"LDS\b(?!.*\.128)"),
            ("lines_written", r"STS\b.*\.128"), ("written", r"STS\b(?!.*\.128)"),
            ("matrices_loaded", "LDSM"), ("tiles_copied", "UTMALDG"), ("matrices_multiplied", "[DHI]G?MMA")]
OWN_ACCESSES = r"LDL|STL"
REGISTERS = 65536    # of a multiprocessor
RING_THREADS = 384
# The ways of these functions for arguments of 2^16 and more keep numbers in memory.
OWN_MEMORY = {"trigonometry": 32, "polar": 40, "hyperbolic": 40}


def options_of(name):
    """Of a kernel for any target those that are, too."""
    options = list(KERNELS[name][1])
    for option in ("--target", "--precision"):
        if option in options and name in OF_ANY_TARGET:
            at = options.index(option)
            del options[at:at + 2]
    return options


def compile_kernel(folder, name, architecture):
    path = os.path.join(folder, "%s.cu" % name)
    run([EINC, "compile", KERNELS[name][0], "--target", "cuda:" + architecture, *options_of(name), "-o", path, "--header", path[:-3] + ".h"])
    return path


def compile_by_nvrtc(nvrtc, path, architecture, result="CUBIN"):
    """The status, what it says: a line of ptxas for each kernel, and remarks, and the code: of an architecture's machine, or as PTX."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    with open(path, "rb") as file:
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), file.read(), path.encode(), 0, None, None)
    options = [b"--gpu-architecture=" + architecture.encode(), b"--std=c++11", b"--ptxas-options=-v"]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))

    def text_of(what):
        getattr(nvrtc, "nvrtcGet%sSize" % what)(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, "nvrtcGet" + what)(program, text)
        return text
    log, code = text_of("ProgramLog").value.decode(), b"" if status else text_of(result).raw
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log, code


def figures(nvrtc, scratch, name, architecture, codes):
    """The registers of each kernel, and its shared memory where it has some, as a line. Wrong where something else is not as it
    should be, as where ptxas waits for products that the text does not wait for (C7517), or makes them one after the other (C7510).
    The machine's code comes into `codes`."""
    path = compile_kernel(scratch, name, architecture)
    status, log, codes[name, architecture] = compile_by_nvrtc(nvrtc, path, architecture)
    if status or "warning" in log or "error" in log or re.search(r"serialized|\(C75\d\d\)", log):
        raise Wrong("%s for %s: %s" % (name, architecture, log[-2000:]))
    for own, stores, loads in re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log):
        if int(stores) or int(loads) or int(own) > OWN_MEMORY.get(name, 0):
            raise Wrong("%s for %s: memory of its own: %s" % (name, architecture, log[-1000:]))
    kernels = re.findall(r"Compiling entry function '(\w+)'", log)
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    shared = [int(n or 0) for n in re.findall(r"Used \d+ registers[^\n]*?(?:, (\d+) bytes smem[^\n]*)?\n", log + "\n")]
    threads, resident = map(int, re.search(r"THREADS = (\d+),.* RESIDENT = (\d+)", open(path).read()).groups())
    held = [n * (RING_THREADS if "_ring_" in kernel else threads * resident) for kernel, n in zip(kernels, registers)]
    if not kernels or len(kernels) != len(registers) or max(held) > REGISTERS:
        raise Wrong("%s for %s: %s" % (name, architecture, log[-1000:]))
    return "%s %s %s" % (name, architecture, " ".join("%s=%d%s" % (kernel, n, "+%d" % bytes if bytes else "") for kernel, n, bytes in zip(kernels, registers, shared)))


def accesses(nvrtc, scratch, name, wrong, architecture="80", instructions=INSTRUCTIONS):
    """How often the kernel's assembly has each of the instructions that move 16 bytes or multiply matrices, and those that move less."""
    path = compile_kernel(scratch, name, "sm_" + architecture)
    status, log, text = compile_by_nvrtc(nvrtc, path, "compute_" + architecture, "PTX")
    if status:
        wrong.append("%s: no assembly: %s" % (name, log[-1000:]))
    return "%s %s" % (name, " ".join("%s=%d" % (word, len(re.findall(pattern, text.decode()))) for word, pattern in instructions))


def disassembly(nvrtc, nvdisasm, scratch, name, architecture, codes, wrong):
    """How often the machine's code of all the kernel's functions has each of ACCESSES; none may be to memory of a thread's own."""
    code = codes.get((name, architecture)) or compile_by_nvrtc(nvrtc, compile_kernel(scratch, name, architecture), architecture)[2]
    if not code:
        wrong.append("%s for %s: no machine code" % (name, architecture))
        return "%s %s" % (name, architecture)
    path = os.path.join(scratch, name + ".cubin")
    with open(path, "wb") as file:
        file.write(code)
    text = run([nvdisasm, path]).stdout
    codes = re.findall(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.x]*)", text, re.M)
    own = [code for code in codes if re.match(OWN_ACCESSES, code)]
    if own or not codes:
        wrong.append("%s for %s: memory of its own: %s of %d instructions" % (name, architecture, own, len(codes)))
    counts = [(word, sum(re.match(pattern, code) is not None for code in codes)) for word, pattern in ACCESSES]
    return "%s %s %s" % (name, architecture, " ".join("%s=%d" % count for count in counts if count[1]))


def all_figures(nvrtc, scratch, codes, wrong):
    """Those with a golden text for every architecture, the others for one each."""
    lines = []
    for number, name in enumerate(KERNELS):
        one = "sm_90a" if name in RINGS else ARCHITECTURES[number % len(ARCHITECTURES)]
        for architecture in ARCHITECTURES if name in TEXTS else [one]:
            try:
                lines.append(figures(nvrtc, scratch, name, architecture, codes))
            except Wrong as failure:
                wrong.append(str(failure))
    lines += [accesses(nvrtc, scratch, name, wrong) for name in PRODUCTS]
    return lines + [accesses(nvrtc, scratch, name, wrong, "90a", RING_INSTRUCTIONS) for name in RINGS]


def check_figures(what, version, lines, wrong):
    """They are the compiler's: those of another one are not compared."""
    golden = open(os.path.join(GOLDEN, what + ".txt")).read().splitlines()
    if golden[0] != "NVRTC %s" % version:
        return "%s, %s not compared with those of %s" % (version, what, golden[0])
    changed = sorted(set(golden[1:]) ^ set(lines))
    if changed:
        wrong.append("%s (to bless: tests/check_cuda_compile.py --bless):\n%s" % (what, "\n".join(changed[:40])))
    return version


def check_older(nvrtcs, scratch, wrong):
    """Older compilers take what is in a ring, too, and let no product wait for another. How many compilations."""
    count = 0
    for nvrtc in nvrtcs:
        for name in RINGS if nvrtc_version(nvrtc) >= "12" else []:
            status, log, _ = compile_by_nvrtc(nvrtc, compile_kernel(scratch, name, "sm_90a"), "sm_90a")
            count += 1
            if status or re.search(r"serialized|\(C75\d\d\)", log):
                wrong.append("%s by NVRTC %s: %s" % (name, nvrtc_version(nvrtc), log[-2000:]))
    return count


def check_texts(scratch, wrong):
    for name in TEXTS:
        golden = os.path.join(GOLDEN, name + ".cu")
        path = compile_kernel(scratch, name, "sm_90a")
        difference = subprocess.run(["diff", "-u", golden, path], capture_output=True, text=True).stdout.splitlines()
        if difference:
            wrong.append("golden file %s (to bless: tests/check_cuda_compile.py --bless):\n%s" % (golden, "\n".join(difference[:40])))
        for compiler in (["gcc", "-std=c11", "-xc"], ["g++", "-std=c++11", "-xc++"]):
            said = run([*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", path[:-3] + ".h"]).stderr
            if said:
                wrong.append("%s.h: %s" % (name, said))


def check_nvcc(nvcc, scratch, wrong):
    """How many compilations went through: all as C++17 or C++20, by turns, as far as PTX, of which ptxas has made code by NVRTC; a third
    of them to the end as C++11, as which NVRTC takes every kernel."""
    count = 0
    for number, (name, architecture) in enumerate([(name, "80") for name in TEXTS] + [(name, "90a") for name in RINGS]):
        whole = ["-std=c++11", "-arch=sm_" + architecture]
        half = ["-std=c++20" if number % 2 else "-std=c++17", "-arch=compute_" + architecture, "-code=compute_" + architecture]
        for options in [half, whole] if number % 3 == 0 else [half]:
            path = compile_kernel(scratch, name, "sm_" + architecture)
            done = subprocess.run([nvcc, *options, "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-c", path,
                                   "-o", os.path.join(scratch, "k.o")], capture_output=True, text=True)
            if done.returncode or done.stderr or done.stdout:
                wrong.append("nvcc %s, %s: %s" % (" ".join(options), name, (done.stdout + done.stderr)[-2000:]))
            count += 1
    return count


def bless(nvrtc, nvdisasm, scratch):
    os.makedirs(GOLDEN, exist_ok=True)
    for name in TEXTS:
        shutil.copy(compile_kernel(scratch, name, "sm_90a"), os.path.join(GOLDEN, name + ".cu"))
    wrong, figures_of, codes = [], {}, {}
    if nvrtc:
        figures_of["registers"] = all_figures(nvrtc, scratch, codes, wrong)
    if nvrtc and nvdisasm:
        figures_of["disassembly"] = [disassembly(nvrtc, nvdisasm, scratch, *case, codes, wrong) for case in DISASSEMBLED]
    for what, lines in figures_of.items():
        with open(os.path.join(GOLDEN, what + ".txt"), "w") as file:
            file.write("\n".join(["NVRTC %s" % nvrtc_version(nvrtc)] + lines) + "\n")
    if len(figures_of) < 2:
        print("as they were: %s" % ("the disassembly, as there is no nvdisasm" if nvrtc else "all figures, as there is no NVRTC"))
    print("\n".join(wrong))


def main():
    scratch = tempfile.mkdtemp(prefix="einc-cuda-")
    nvrtcs, nvdisasm = load_nvrtcs(), find_nvdisasm()
    nvrtc = nvrtcs[0] if nvrtcs else None
    try:
        if "--bless" in sys.argv:
            return bless(nvrtc, nvdisasm, scratch)
        wrong, lines, by_nvcc, disassembled, codes, version = [], [], 0, [], {}, "no NVRTC"
        check_texts(scratch, wrong)
        older = check_older(nvrtcs[1:], scratch, wrong)
        if nvrtc:
            lines = all_figures(nvrtc, scratch, codes, wrong)
            version = check_figures("registers", nvrtc_version(nvrtc), lines, wrong)
        if nvrtc and nvdisasm:
            disassembled = [disassembly(nvrtc, nvdisasm, scratch, *case, codes, wrong) for case in DISASSEMBLED]
            check_figures("disassembly", nvrtc_version(nvrtc), disassembled, wrong)
        nvcc = find_nvcc()
        if nvcc:
            by_nvcc = check_nvcc(nvcc, scratch, wrong)
    finally:
        shutil.rmtree(scratch)
    for failure in wrong:
        print(failure)
    print("%d golden files; %d compilations by NVRTC (%s), %d by older ones, %d disassembled, %d by nvcc; %d wrong" %
          (len(TEXTS), len(lines), version, older, len(disassembled), by_nvcc, len(wrong)))
    missing = [what for what, there in [("NVRTC", nvrtc), ("nvcc", by_nvcc), ("nvdisasm", nvdisasm)] if not there]
    if not wrong and missing:
        print("SKIPPED in part: %s is missing" % "; ".join(missing))
        return 77
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
