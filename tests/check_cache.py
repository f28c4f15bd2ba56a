"""The kernel cache through the einc command: 64 processes on a cold cache, kill -9, entries cut short, altered and of
others, disks full and read-only. tests/test_cache*.c have the same for the cache alone. About 30 s."""
import glob
import os
import random
import shutil
import subprocess
import time

import numpy as np

from command import EINC, Scratch, check, finish, run, shown, text

EXPRESSION = "ij->i | _ * 2"
COMMAND = (EINC, "run", EXPRESSION, "-i", "x.npy", "-o", "-")


def expected():
    return np.load("x.npy").sum(1) * 2


def is_right(printed):
    import io
    return np.allclose(np.load(io.BytesIO(printed)), expected(), rtol=1e-5)


def environment(folder, **more):
    return dict(os.environ, EINC_CACHE_DIR=os.path.abspath(folder), **more)


def entries(folder):
    return glob.glob(os.path.join(folder, "*.so"))


def expect_right(folder, what, **more):
    result = subprocess.run(COMMAND, capture_output=True, env=environment(folder, **more))
    check(result.returncode == 0 and is_right(result.stdout) and not result.stderr, what, result.returncode, text(result.stderr))


def check_many():
    processes = [subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment("many"))
                 for _ in range(64)]
    for process in processes:
        out, errors = process.communicate()
        check(process.returncode == 0 and is_right(out) and not errors, "one of 64", process.returncode, errors)
    check(len(entries("many")) == 1 and not glob.glob("many/.tmp-*"), "one entry, nothing temporary", os.listdir("many"))


def check_killed():
    """Killed at any time, with all that it has started: the next run is right, and no entry is ever wrong."""
    killed = turn = 0
    while turn < 40 or (killed < 5 and turn < 400):    # a fast machine is often done before
        turn += 1
        if turn % 2:
            shutil.rmtree("killed", ignore_errors=True)
        process = subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL, env=environment("killed"), start_new_session=True)
        time.sleep(random.random() * 0.15)
        if process.poll() is None:
            os.killpg(process.pid, 9)
            killed += 1
        process.wait()
    check(killed >= 5, "processes were killed", killed)
    expect_right("killed", "after kill -9")


def check_damaged():
    expect_right("damaged", "cold")
    [entry] = entries("damaged")
    with open(entry, "rb") as file:
        whole = file.read()
    random.seed(5)
    damages = [whole[:0], whole[:100], whole[:len(whole) // 2], whole[:-1], whole + b"x", bytes(len(whole))]
    for at in random.sample(range(len(whole)), 12):
        damages.append(whole[:at] + bytes([whole[at] ^ 1 << random.randrange(8)]) + whole[at + 1:])
    for damage in damages:
        with open(entry, "wb") as file:
            file.write(damage)
        expect_right("damaged", "a damaged entry is made anew")
        with open(entry, "rb") as file:
            check(len(file.read()) == len(whole), "the damaged entry is replaced")
    os.remove(entry)
    os.symlink("/etc/passwd", entry)
    expect_right("damaged", "a link in the place of an entry")
    os.chmod(entry, 0o666)
    expect_right("damaged", "an entry that others may write")
    check(os.stat(entry).st_mode & 0o777 == 0o600, "is made anew, for the owner alone")
    if not os.geteuid():
        os.chown(entry, 12345, 12345)
        expect_right("damaged", "an entry of another user")
        check(os.stat(entry).st_uid == 0, "is made anew")
        os.chown("damaged", 12345, 12345)
        expect_right("damaged", "a folder of another user is not used")
        doctor = run("doctor", env={"EINC_CACHE_DIR": os.path.abspath("damaged")})
        check(b"belongs to another user" in doctor.stdout and doctor.returncode == 0, shown(["doctor"], doctor))
        os.chown("damaged", 0, 0)
    os.chmod("damaged", 0o777)
    expect_right("damaged", "a folder that others may write to is not used")
    doctor = run("doctor", env={"EINC_CACHE_DIR": os.path.abspath("damaged")})
    check(b"others may write to it" in doctor.stdout, shown(["doctor"], doctor))


def check_disks():
    """Read-only, full, and no folder at all: a run without a cache."""
    for folder in ("/dev/null/none", "/proc/none"):
        expect_right(folder, "no folder for a cache")
    home = {"HOME": "/dev/null/none", "XDG_CACHE_HOME": ""}
    result = subprocess.run(COMMAND, capture_output=True,
                            env={**{k: v for k, v in os.environ.items() if k != "EINC_CACHE_DIR"}, **home})
    check(result.returncode == 0 and is_right(result.stdout), "no home", result.stderr)
    os.mkdir("disk")
    for options in ("size=4k", "size=16k,nr_inodes=3", "ro"):
        command = f"mount -t tmpfs -o mode=700,{options} none disk && exec env EINC_CACHE_DIR=$PWD/disk \"$@\""
        for user in ([], ["--map-root-user"]):
            result = subprocess.run(["unshare", "--mount", *user, "sh", "-c", command, "sh", *COMMAND], capture_output=True)
            if not result.stderr.startswith((b"unshare", b"mount")):
                break
        if result.stderr.startswith((b"unshare", b"mount")):
            print("not checked here: a disk with", options, "as nothing can be mounted")
        else:
            check(result.returncode == 0 and is_right(result.stdout) and not result.stderr, options, result.stderr)


def check_keys():
    """What makes another kernel makes another entry; the same is found again without the compiler's help."""
    for more in ([], ["--target", "portable"], ["--memory", "1M"], ["--static", "j=5"]):
        run("run", EXPRESSION, "-i", "x.npy", "-o", "out.npy", *more, env={"EINC_CACHE_DIR": os.path.abspath("keys")})
    count = len(entries("keys"))
    check(3 <= count <= 4, "entries for different kernels", count)
    with open("logged", "w") as file:
        file.write('#!/bin/sh\necho "$@" >> log\nexec cc "$@"\n')
    os.chmod("logged", 0o755)
    compiler = {"CC": os.path.abspath("logged")}
    expect_right("keys", "another compiler", **compiler)
    check(len(entries("keys")) == count + 1, "its own entry")
    os.remove("log")
    expect_right("keys", "from the cache", **compiler)
    check(not os.path.exists("log"), "the compiler is not run for what is in the cache")


def main():
    began = time.time()
    with Scratch():
        np.save("x.npy", np.arange(15, dtype="f4").reshape(3, 5))
        check_many()
        check_killed()
        check_damaged()
        check_disks()
        check_keys()
    finish(began)


main()
