#!/usr/bin/env python3
"""The work of the rows by other libraries, in turns with einc: `make bench-peers` runs it where the peers are.

    bench/peers.py --run build/bench/run [--rows NAME,…] [--seconds S] [--limit S] --json RESULTS

Each row has a process of its own, so that a peer that crashes costs one row. In it einc (through `run --serve`, which
writes operands and its checked result as .npy) and the peers run in turns. Time of one thread is the process's time on
a core, of several the time of day, for einc and peers alike. Of a peer's ways the fastest in a first try is measured.
"""
import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time

ROUNDS = 10
LONG = 3    # a call of more than a third of the row's seconds
DEFAULT_ROWS = ("maxsim-f32-cache,maxsim-f32-odd,maxsim-f32-ragged,maxsim-f32-stream,maxsim-bf16,maxsim-f16,product,"
                "small,skinny,tccg,attention,log,max-plus-1024,min-plus,nearest,search,gaussian,cross,convolution")
TOLERANCE = {"f4": 1e-5, "f8": 1e-12, "f2": 1e-3, "bf16": 1e-2, "i1": 1e-6}    # of the largest number in the result,
POINTS = 4096    # where each is a sum of so many or fewer; of more, with the root of their number
CORE_TYPES = (None, "SKYLAKEX", "COOPERLAKE", "HASWELL", "ZEN")
BLAS_TEST = """
import time, numpy
a = numpy.ones((768, 768), 'f4'); c = a.copy(); best = 9.0; end = time.process_time() + 0.2
while time.process_time() < end:
    begin = time.process_time(); numpy.matmul(a, a, out=c); best = min(best, time.process_time() - begin)
print(best)
"""


# ---- one row, in a process of its own

class Einc:
    def __init__(self, run, row, folder, limit):
        command = [run, "--serve", "--limit", str(limit)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.ask(f"begin {row} {folder}")

    def ask(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def round(self):
        words = self.ask("round").split()
        if words[:1] != ["round"]:
            raise RuntimeError(" ".join(words))
        return float(words[1]), float(words[2])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def clock(threads):
    return time.process_time() if threads == 1 else time.perf_counter()


def timed(function, threads):
    begin = clock(threads)
    result = function()
    return clock(threads) - begin, result


def tolerance(problem):
    """By the points of a product of two operands: those of ik and kj number the root of |ik| |kj| / |ij|."""
    if problem.kind not in ("matrix", "einsum"):
        return TOLERANCE[problem.stored]
    sizes = [operand.size for operand in problem.operands]
    points = math.sqrt(math.prod(sizes) / max(problem.result.size, 1))
    return TOLERANCE[problem.stored] * max(1, math.sqrt(points / POINTS))


def error_of(problem, result):
    """The largest difference from einc's result, in shares of the largest number; None when it is small enough."""
    import numpy
    from peers_forward import to_torch
    if hasattr(result, "detach"):
        result = result.detach().float().numpy() if "bfloat16" in str(result.dtype) else result.detach().numpy()
    right = problem.result
    if right.dtype.kind == "V":
        right = to_torch(right).float().numpy()
    result, right = numpy.asarray(result, "f8"), numpy.asarray(right, "f8")
    if result.shape != right.shape and not result.size == right.size == 1:
        return f"wrong: a result of shape {result.shape}"
    error = numpy.abs(result - right).max() / max(numpy.abs(right).max(), 1e-300)
    return None if error <= tolerance(problem) else f"wrong: off by {error:.1e}"


def find_way(ways, problem, threads, limit):
    """The fastest right way of a peer, as (seconds, label, function); or a failure."""
    best, failure = None, None
    for label, function in ways(problem):
        try:
            seconds, result = timed(function, threads)
            wrong = error_of(problem, result)
            if wrong:
                failure = wrong
                continue
            if seconds < limit / LONG:
                seconds = min(seconds, timed(function, threads)[0])
            if best is None or seconds < best[0]:
                best = (seconds, label, function)
        except Exception as error:    # whatever a peer raises is its result
            failure = f"failed: {type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}"
    return best, failure


def measure(einc, found, threads, limit):
    """Turns of einc and all peers; the best of each."""
    seconds, bound = einc.round()
    best = {name: way[0] for name, way in found.items()}
    end = time.monotonic() + limit
    for turn in range(ROUNDS):
        for name, (first, _, function) in found.items():
            if first > limit or (turn and first > limit / LONG):
                continue    # the first try of so slow a peer, or one more, is enough
            best[name] = min(best[name], timed(function, threads)[0])
        again = einc.round()
        seconds, bound = min(seconds, again[0]), min(bound, again[1])
        if time.monotonic() > end:
            break
    return seconds, bound, best


def one_row(given, row):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import numpy
    from peers_ways import WAYS, Problem
    if importlib.util.find_spec("torch"):
        import torch
        torch.set_num_threads(row["threads"])
        torch.set_grad_enabled(False)
    result = {"name": row["name"], "work": row["work"], "peers": {}}
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        einc = Einc(given.run, row["name"], folder, given.limit)
        if not einc.ready.startswith("ready"):
            einc.close()
            return dict(result, failure=einc.ready.removeprefix("failed: ") or "failed")
        count = row["operands"].count(";") + 1
        operands = [numpy.load(os.path.join(folder, f"{i}.npy")) for i in range(count)]
        right = numpy.load(os.path.join(folder, "result.npy"))
    found = {}
    for name, ways in WAYS.items():
        try:
            way, failure = find_way(ways, Problem(row, operands, right), row["threads"], given.seconds)
        except ImportError:
            continue
        except Exception as error:
            way, failure = None, f"failed: {error}"
        if way:
            found[name] = way
        elif failure:
            result["peers"][name] = {"failure": failure}
    seconds, bound, best = measure(einc, found, row["threads"], given.seconds)
    einc.close()
    for name, time_taken in best.items():
        result["peers"][name] = {"seconds": time_taken, "ratio": time_taken / seconds, "way": found[name][1]}
    return dict(result, seconds=seconds, share=bound / seconds)


# ---- all rows

def environment(threads, core_type):
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    for name in ("OMP", "OPENBLAS", "MKL", "RAYON", "TBLIS", "NUMEXPR", "BLIS"):
        env[name + "_NUM_THREADS"] = str(threads)
    # Freed memory is kept, or each large result would be fresh pages.
    env.update(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str(1 << 40), MALLOC_TOP_PAD_=str(1 << 26))
    if core_type:
        env["OPENBLAS_CORETYPE"] = core_type
    return env


def find_core_type():
    """OpenBLAS does not always choose its fastest kernels for a CPU."""
    times = {}
    for core_type in CORE_TYPES:
        command, env = [sys.executable, "-c", BLAS_TEST], environment(1, core_type)
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode == 0:
            times[core_type] = float(done.stdout)
    return min(times, key=times.get)


def list_rows(given):
    """Those whose names begin as asked for; none that only measures einc's own speed-up."""
    command = [given.run, "--list", "--rows", given.rows]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    keys = ("name", "work", "expression", "operands", "threads", "goal")
    rows = [dict(zip(keys, line.split("\t"))) for line in lines.splitlines()]
    for row in rows:
        row["threads"] = int(row["threads"])
    return rows


def versions(names, given, core_type):
    facts = {}
    for name in names:
        try:
            facts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            facts[name] = "not installed"
    if core_type:
        facts["numpy"] += f", OpenBLAS with OPENBLAS_CORETYPE={core_type}, the fastest here"
    try:
        with open(os.path.join(sys.prefix, "missing")) as lines:
            for line in lines:
                name, _, reason = line.strip().partition(": ")
                facts[name] = "cannot be installed: " + reason
    except OSError:
        pass
    return facts


def run_row(given, row, core_type):
    command = [sys.executable, os.path.abspath(__file__), "--run", given.run, "--one", json.dumps(row), "--seconds",
               str(given.seconds), "--limit", str(given.limit), "--scratch", given.scratch]
    done = subprocess.run(command, env=environment(row["threads"], core_type), capture_output=True, text=True)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = done.stderr.strip().splitlines()[-1:] or [f"a peer ended the process with {done.returncode}"]
        return {"name": row["name"], "work": row["work"], "peers": {}, "failure": last[0][:200]}


def show(row):
    print(row["name"], row.get("failure", ""), flush=True)
    if "seconds" in row:
        print(f"    einc        {1e3 * row['seconds']:10.3f} ms  {100 * row['share']:.1f} % of the bound")
    for name, peer in row["peers"].items():
        words = peer.get("failure") or f"{1e3 * peer['seconds']:10.3f} ms  {peer['ratio']:.2f} x  {peer['way']}"
        print(f"    {name:11s} {words}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", default="build/bench/run")
    parser.add_argument("--rows", default=DEFAULT_ROWS)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--json")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one_row(given, json.loads(given.one))))
        return 0
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from peers_ways import WAYS
    core_type = find_core_type()
    results = {"peers": list(WAYS), "versions": versions(WAYS, given, core_type), "rows": []}
    for row in list_rows(given):
        results["rows"].append(run_row(given, row, core_type))
        show(results["rows"][-1])
        if given.json:
            with open(given.json, "w") as file:
                json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
