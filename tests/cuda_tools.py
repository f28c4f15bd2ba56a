#!/usr/bin/env python3
"""NVIDIA's compilers and disassembler, as tests of kernels for CUDA use them; none of them needs a GPU.

    tests/cuda_tools.py --install         what this machine lacks of them, from PyPI into $BUILD/cuda; what cannot be had is said
    tests/cuda_tools.py nvcc              the path of nvcc, nothing where there is none
"""
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys

FOLDER = os.path.join(os.environ.get("BUILD", "build"), "cuda")
# Of the version that tests/golden/cuda is of; a newer disassembler reads it, too.
PACKAGES = {
    "nvrtc": ["nvidia-cuda-nvrtc==13.0.*"],
    "nvcc": ["nvidia-cuda-nvcc==13.0.*", "nvidia-cuda-crt==13.0.*", "nvidia-cuda-runtime==13.0.*", "nvidia-nvvm==13.0.*"],
    "nvdisasm": ["nvidia-cuda-nvdisasm==13.2.*"],
}


def find(pattern, *folders):
    """In packages of Python, in FOLDER, and in the folders of a toolkit."""
    packages = [os.path.join(path, "nvidia", "*") for path in [*sys.path, os.path.join(FOLDER, "*")] if path]
    return [name for folder in packages + list(folders) for name in sorted(glob.glob(os.path.join(folder, pattern)))]


def nvrtc_version(nvrtc):
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return "%d.%d" % (major.value, minor.value)


def load_nvrtcs():
    """Those that are here, one of each version, the newest first."""
    found = find("lib*/libnvrtc.so*", "/usr/local/cuda*", "/usr") + find("libnvrtc.so*", "/usr/lib/x86_64-linux-gnu")
    loaded = {}
    for name in [name for name in found if ".alt" not in name] + ["libnvrtc.so"]:
        try:
            for builtins in glob.glob(os.path.join(os.path.dirname(name) or ".", "libnvrtc-builtins.so.*")):
                ctypes.CDLL(builtins)                  # which it would look for in the loader's folders only
            library = ctypes.CDLL(name)
        except OSError:
            continue
        loaded.setdefault(tuple(map(int, nvrtc_version(library).split("."))), library)
    return [loaded[version] for version in sorted(loaded, reverse=True)]


def find_program(name):
    """That of the PATH first, or None."""
    return next(iter(filter(None, [shutil.which(name), *find("bin/" + name, "/usr/local/cuda*")])), None)


def find_nvcc():
    return find_program("nvcc")


def find_nvdisasm():
    return find_program("nvdisasm")


HERE = {"nvrtc": load_nvrtcs, "nvcc": find_nvcc, "nvdisasm": find_nvdisasm}


def find_pip():
    for python in [sys.executable, "python3", "/usr/bin/python3"]:
        pip = [python, "-m", "pip"]
        if shutil.which(python) and subprocess.run([*pip, "--version"], capture_output=True).returncode == 0:
            return pip
    return None


def install(tool):
    """Each into a folder of its own, and that in one step: what was interrupted is not taken for whole."""
    pip = find_pip()
    if not pip:
        return "there is no pip"
    target = os.path.join(FOLDER, tool)
    shutil.rmtree(target + ".part", ignore_errors=True)
    done = subprocess.run([*pip, "install", "-q", "--retries", "1", "--timeout", "20", "--target", target + ".part", *PACKAGES[tool]],
                          capture_output=True, text=True)
    if done.returncode:
        return (re.findall(r"^ERROR: .*", done.stderr, re.M) or ["pip failed"])[-1]
    shutil.rmtree(target, ignore_errors=True)
    os.rename(target + ".part", target)
    return None if HERE[tool]() else "its packages came without it"


def main():
    if sys.argv[1:] == ["--install"]:
        for tool in PACKAGES:
            if HERE[tool]():
                continue
            print("installing %s" % tool, flush=True)
            failed = install(tool)
            if failed:
                print("not installed: %s: %s (what needs it is skipped)" % (tool, failed))
    elif sys.argv[1:] and sys.argv[1] in HERE:
        print(HERE[sys.argv[1]]() or "")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
