#!/usr/bin/env python3
"""Contraction orders of random networks, about 60 s: values against numpy's, paths against opt_einsum's and cotengra's.

    python3 tests/check_order.py [--networks 3] [--compile 300]

A path's flops are counted in one way for all three: 2 for each point of a contraction that sums something, 1 for others.
The others get as much time as einc took for everything, and half a second at least. They come from PyPI, into a virtual
environment in the build folder; where they cannot be had, that part says SKIP and the rest runs. `--compile N` also
compiles and runs a network of N operands and says how long that took.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import numpy as np

from command import EINC, Scratch, check

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
# Contractions that share launches: what is a row, a column or a block to one is the next one's batch.
CHAINS = ["bls,sc,cabp->ablp", "bij,jk,bkl->bil", "bij,bjk,kl,blm->bim", "ij,bjk,bkl->bil", "abij,jk,bkl->abil", "bij,cjk,bckl->bcil"]
SIZES = [(10, 3, 12), (50, 2.6, 6), (300, 2.3, 4)]      # operands, mean rank, largest extent

PEERS = """
import json, sys, time, warnings
warnings.filterwarnings('ignore')
import cotengra, opt_einsum
for line in sys.stdin:
    inputs, output, sizes, seconds = json.loads(line)
    def exact(inputs, output, sizes):
        return opt_einsum.paths.auto_hq([frozenset(x) for x in inputs], frozenset(output), sizes)
    def greedy(inputs, output, sizes):
        search = opt_einsum.RandomGreedy(max_repeats=10 ** 6, max_time=seconds)
        return search([frozenset(x) for x in inputs], frozenset(output), sizes)
    def hyper(inputs, output, sizes):
        search = cotengra.HyperOptimizer(methods=['greedy'], max_time=seconds, max_repeats=10 ** 6, parallel=False,
                                         progbar=False, minimize='flops')
        return search(inputs, output, sizes)
    paths = {}
    for name, search in ('opt_einsum auto-hq', exact), ('opt_einsum random-greedy', greedy), ('cotengra', hyper):
        if search is exact and len(inputs) > 50:
            continue
        start = time.time()
        path = [list(map(int, pair)) for pair in search(inputs, output, sizes)]
        paths[name] = path, time.time() - start
    print(json.dumps(paths), flush=True)
"""


def label(i):
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[i] if i < 52 else chr(0x100 + i)


class Network:
    """A random connected one: most indices in two operands, a few in three or in the result, some in one alone."""

    def __init__(self, count, rank, largest, seed):
        choose = random.Random(seed)
        operands, made = [[] for _ in range(count)], 0
        ties = [(k, choose.randrange(k)) for k in range(1, count)]
        while 2 * len(ties) < count * rank:
            ties.append(choose.sample(range(count), 2 if choose.random() < 0.9 else 3))
        ties += [[choose.randrange(count)] for _ in range(count // 10)]
        self.output = []
        for tie in ties:
            for k in tie:
                operands[k].append(label(made))
            if choose.random() < 2 / len(ties):
                self.output.append(label(made))
            made += 1
        self.operands = ["".join(choose.sample(o, len(o))) for o in operands]
        self.output = "".join(self.output)
        self.sizes = {label(i): choose.randint(2, largest) for i in range(made)}
        self.text = ",".join(self.operands) + "->" + self.output
        self.extents = ",".join("%s=%d" % item for item in self.sizes.items())

    def arrays(self, seed):
        state = np.random.RandomState(seed)
        return [(state.rand(*[self.sizes[i] for i in o]) / np.sqrt(np.prod([self.sizes[i] for i in o]) or 1)).astype("f4")
                for o in self.operands]

    def flops(self, path):
        """Of a path of pairs of places, as numpy.einsum_path has it; and the largest value in between."""
        left, total, largest = [set(o) for o in self.operands], 0, 0
        for pair in path:
            taken = [left.pop(k) for k in sorted(pair, reverse=True)]
            every, others = set().union(*taken), set(self.output).union(*left)
            kept = every & others
            total += int(np.prod([self.sizes[i] for i in every], dtype=object)) * (2 if every != kept else 1)
            largest = max(largest, int(np.prod([self.sizes[i] for i in kept], dtype=object)))
            left.append(kept)
        return total, largest


class Chain(Network):
    """One of CHAINS with random extents, and axes in random order."""

    def __init__(self, text, seed):
        choose = random.Random(seed)
        words, self.output = text.split("->")
        self.operands = ["".join(choose.sample(o, len(o))) for o in words.split(",")]
        self.sizes = {i: choose.choice([2, 7, 16, 33, 40]) for i in sorted(set(text) - set(",->"))}
        self.text = ",".join(self.operands) + "->" + self.output
        self.extents = ",".join("%s=%d" % item for item in self.sizes.items())


def explain(network, *options):
    start = time.time()
    result = subprocess.run([EINC, "explain", network.text, "-d", network.extents, "--json", *options], capture_output=True)
    seconds = time.time() - start
    check(result.returncode == 0, network.text, result.stderr.decode())
    return json.loads(result.stdout), seconds


def replay(network, order, arrays):
    """The network by numpy, one contraction of einc's at a time; what is not there yet is an operand of that spelling."""
    values = list(zip(network.operands, arrays))
    for step in order["steps"]:
        words, made = step["of"].split("->")
        taken = []
        for word in words.split(","):
            at = next(k for k, (name, _) in enumerate(values) if name == word)
            taken.append(values.pop(at))
        names = sorted(set("".join(w for w, _ in taken)))
        short = {name: label(k) for k, name in enumerate(names)}
        spelt = ["".join(short[c] for c in w) for w in [w for w, _ in taken] + [made]]
        values.append((made, np.einsum(",".join(spelt[:-1]) + "->" + spelt[-1], *[a.astype("f8") for _, a in taken])))
    check(len(values) == 1, "the steps do not end in one value", network.text)
    return values[0][1]


def run(network, arrays, *options):
    for k, array in enumerate(arrays):
        np.save("x%d.npy" % k, array)
    files = [word for k in range(len(arrays)) for word in ("-i", "x%d.npy" % k)]
    result = subprocess.run([EINC, "run", network.text, *files, "-o", "y.npy", *options], capture_output=True)
    check(result.returncode == 0, network.text, result.stderr.decode())
    return np.load("y.npy")


def check_values(networks):
    """Small networks by numpy.einsum itself, which einc's path has no part in; each also with no room for any order."""
    for network, seed in networks:
        arrays = network.arrays(seed)
        want = np.einsum(network.text, *[a.astype("f8") for a in arrays], optimize="greedy")
        order = explain(network)[0]["order"]
        check(len(order) == 1 or len(arrays) <= 5, "nothing was ordered", network.text)
        if order:
            check(np.allclose(replay(network, order[0], arrays), want, rtol=1e-9), "the steps are another contraction", network.text)
        check(np.allclose(run(network, arrays), want, rtol=1e-4), "values", network.text)


def install():
    """A Python with opt_einsum and cotengra, or None after saying why not."""
    folder = os.path.join(BUILD, "order-peers")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True)
    if subprocess.run([python, "-c", "import opt_einsum, cotengra, numpy"], capture_output=True).returncode:
        result = subprocess.run([python, "-m", "pip", "install", "-q", "numpy", "opt_einsum", "cotengra"], capture_output=True)
        if result.returncode:
            print("SKIP the paths of opt_einsum and cotengra: they cannot be installed: %s"
                  % (result.stderr.decode().strip().splitlines() or ["pip failed"])[-1])
            return None
    return python


def check_paths(networks):
    python = install()
    if not python:
        return
    peers = subprocess.Popen([python, "-c", PEERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for network in networks:
        said, seconds = explain(network)
        own = said["order"][0]
        job = network.operands, network.output, network.sizes, max(seconds, 0.5)
        peers.stdin.write(json.dumps([[list(o) for o in job[0]], list(job[1]), job[2], job[3]]) + "\n")
        peers.stdin.flush()
        best = None
        words = []
        for name, (path, took) in json.loads(peers.stdout.readline()).items():
            flops, _ = network.flops(path)
            words.append("%s %.3g in %.1f s" % (name, flops, took))
            best = flops if best is None else min(best, flops)
        print("%3d operands: einc %.3g flop, all in %.2f s; %s; %.2f of the best" % (
            len(network.operands), own["flops"], seconds, ", ".join(words), own["flops"] / best))
        check(own["flops"] <= 2 * best, "more than twice the flops of the best path", network.text)
    peers.stdin.close()
    peers.wait()


def compile_large(count):
    network = Network(count, 2.3, 3, 5)
    arrays, start = network.arrays(1), time.time()
    run(network, arrays)
    first, start = time.time() - start, time.time()
    value = run(network, arrays)
    print("%d operands: %.1f s with compiling, %.2f s without" % (count, first, time.time() - start))
    want = replay(network, explain(network)[0]["order"][0], arrays)
    check(np.allclose(value, want, rtol=1e-3), "values", value, want)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--networks", type=int, default=3, help="of each size")
    options.add_argument("--compile", type=int, help="also run a network of so many operands")
    arguments = options.parse_args()
    with Scratch():
        check_values([(Network(count, rank, largest, 100 + count), count)
                      for count, rank, largest in [(4, 2, 40), (6, 2.5, 12), (9, 2.5, 6), (14, 2.3, 4)]])
        check_values([(Chain(CHAINS[seed % len(CHAINS)], seed), seed) for seed in range(4 * len(CHAINS))])
        check_paths([Network(*size, seed) for size in SIZES for seed in range(arguments.networks)])
        if arguments.compile:
            compile_large(arguments.compile)


if __name__ == "__main__":
    main()
