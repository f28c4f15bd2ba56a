"""The einc command and .npy files: every dtype in both orders, files larger than memory, full disks, kept results.
About 15 s."""
import os
import shutil
import struct
import subprocess
import threading
import time

import numpy as np

from command import EINC, Scratch, bad, bf16, check, files, finish, from_bf16, good, run, shown

rng = np.random.default_rng(11)

DTYPES = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "c64": "<c8", "c128": "<c16", "i8": "|i1", "i16": "<i2", "i32": "<i4",
          "i64": "<i8", "bool": "|b1", "bf16": "V2"}


def random_array(dtype, shape):
    if dtype == "bf16":
        return bf16(rng.standard_normal(shape))
    kind = np.dtype(DTYPES[dtype]).kind
    if kind in "ib":
        return rng.integers(0, 2 if kind == "b" else 100, shape).astype(DTYPES[dtype])
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if kind == "c" else values).astype(DTYPES[dtype])


def check_dtypes():
    """Transposed, in C and in Fortran order, native and swapped, through a file and through a pipe: bit by bit."""
    for dtype in DTYPES:
        array = random_array(dtype, (5, 7))
        for order in "CF":
            np.save("x.npy", np.asarray(array, order=order))
            good("run", "ij->ji", "-i", "x.npy", "-o", "out.npy")
            made = np.load("out.npy")
            check(made.dtype == array.dtype and made.tobytes() == array.T.tobytes("C"), dtype, order, made.dtype)
            check(not np.isfortran(made) and made.shape == (7, 5), dtype, order)
        with open("x.npy", "rb") as file:
            check(good("run", "ij->ji", "-i", "-", "-o", "-", stdin=file.read()) == open("out.npy", "rb").read(), dtype, "piped")
        if np.dtype(DTYPES[dtype]).itemsize > 1 and dtype != "bf16":
            np.save("x.npy", array.astype(np.dtype(DTYPES[dtype]).newbyteorder(">")))
            good("run", "ij->ji", "-i", "x.npy", "-o", "out.npy")
            check(np.load("out.npy").tobytes() == array.T.tobytes("C"), dtype, "the other byte order")
    x = bf16(rng.standard_normal((5, 7)))
    np.save("x.npy", x)
    good("run", "ij->i:f32", "-i", "x.npy", "-o", "out.npy")
    check(np.allclose(np.load("out.npy"), from_bf16(x).reshape(5, 7).sum(1), rtol=1e-5), "bf16 is summed in f32")
    np.save("z.npy", np.zeros((0, 4), "f4"))
    good("run", "ij->j", "-i", "z.npy", "-o", "out.npy")
    check((np.load("out.npy") == np.zeros(4)).all(), "an empty sum")
    np.save("s.npy", np.float64(2.5))
    good("run", ",ij->ij", "-i", "s.npy", "-i", "z.npy", "-o", "out.npy")
    check(np.load("out.npy").shape == (0, 4), "a scalar and an empty array")


def sparse(path, shape, fortran, values):
    """A file of zeros but for `values` at the beginning, with hardly a block on the disk."""
    header = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + np.asarray(values, "<f4").tobytes())
        file.truncate(10 + len(header) + 4 * int(np.prod([int(n) for n in shape], dtype=object)))


def check_large():
    """Files larger than memory are mapped, so that a few rows of them cost nothing."""
    rows = 16 << 30
    np.save("y.npy", np.array([0, 1, rows - 1]))
    for fortran in (False, True):
        try:
            sparse("large.npy", (rows, 2), fortran, [3, 4])
        except OSError as why:
            print("not checked here: no sparse file of 128 GB:", why)
            return
        began = time.time()
        good("run", "x[y[j],k] -> [j,k]", "-i", "large.npy", "-i", "y.npy", "-o", "out.npy")
        expected = [[3, 0], [4, 0], [0, 0]] if fortran else [[3, 4], [0, 0], [0, 0]]
        check((np.load("out.npy") == expected).all() and time.time() - began < 10, "rows of 128 GB", np.load("out.npy"))
    os.remove("large.npy")


def check_full_disk():
    """A disk without room for the result: found before anything is computed, and nothing is left."""
    np.save("x.npy", np.ones((400, 400), "f4"))
    os.mkdir("disk")
    mount = "mount -t tmpfs -o size=64k none disk && cd disk && "
    command = f"{EINC} run 'ij->ij | exp' -i ../x.npy -o out.npy; echo code $?; ls -A"
    for before in ([], ["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        if before:
            result = subprocess.run([*before, "sh", "-c", mount + command], capture_output=True)
            if b"code" in result.stdout:
                check(b"No space left on device" in result.stderr and result.stdout == b"code 1\n", result.stderr, result.stdout)
                break
    else:
        print("not checked here: a full disk, as nothing can be mounted")
    result = subprocess.run(["sh", "-c", f"ulimit -f 100; {EINC} run 'ij->ij | exp' -i x.npy -o out2.npy; echo code $?"],
                            capture_output=True)
    check(b"too large" in result.stderr and result.stdout == b"code 1\n", "a limit on files", result.stderr, result.stdout)
    check(not os.path.exists("out2.npy") and not any(".einc-" in name for name in files()), "nothing is left", files())


def check_replacing():
    """A result takes the place of a file at once: who reads meanwhile sees the old one or the new one, whole."""
    np.save("x.npy", np.ones((300, 300), "f4"))
    np.save("out.npy", np.ones((300, 300), "f4"))
    os.chmod("out.npy", 0o640)
    os.symlink("out.npy", "link.npy")
    seen, ended = [], []

    def watch():
        while not ended:
            seen.append(np.load("out.npy").ravel()[[0, -1]].tolist())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for turn in range(10):
        good("run", "ij->ij | _ * 2", "-i", "x.npy", "-o", "link.npy")
    ended.append(True)
    watcher.join()
    check(all(pair in ([1, 1], [2, 2]) for pair in seen) and len(seen) > 10, "a file half written", seen[:5])
    check(os.stat("out.npy").st_mode & 0o777 == 0o640 and os.path.islink("link.npy"), "mode and link are kept")
    os.chmod("out.npy", 0o444)
    if os.geteuid():
        bad(1, "Permission denied", "run", "ij->ij", "-i", "x.npy", "-o", "out.npy")
    with open("fifo.npy", "wb") as file:
        pass
    os.remove("fifo.npy")
    os.mkfifo("fifo.npy")
    reader = subprocess.Popen(["cat", "fifo.npy"], stdout=subprocess.PIPE)
    result = run("run", "ij->i", "-i", "x.npy", "-o", "fifo.npy")
    check(result.returncode == 0 and reader.communicate()[0].startswith(b"\x93NUMPY"), "a named pipe", shown(["fifo"], result))
    result = subprocess.run(f"{EINC} run 'ij->ij' -i x.npy -o - | head -c 10 > /dev/null", shell=True, capture_output=True)
    check(result.returncode == 0 and not result.stderr, "a reader that goes away", result.stderr)


def main():
    began = time.time()
    with Scratch():
        check_dtypes()
        check_large()
        check_full_disk()
        check_replacing()
        shutil.rmtree("disk", ignore_errors=True)
    finish(began)


main()
