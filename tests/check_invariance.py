#!/usr/bin/env python3
# No expression is special: indices renamed and operands swapped, storage transposed, a batch index added. The results
# are the same within the evaluator's bound, and what the plan predicts (flops, bytes, workspace) is the same within 5%, but
# for the rows of a tile, which are in place in one storage, and packed in another one, and its columns, which are packed
# where loops over the other storage, which pack nothing, would take longer.
# About 30 s.
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

EINC = os.path.abspath(os.environ.get("EINC", os.path.join(os.environ.get("BUILD", "build"), "einc")))
SLACK = 1.05
ROWS = 14 * (33 + 16) * 4       # bytes of a tile's rows and what is between them
PANEL = 32 * 33 * 4             # of a tile's columns

# What is computed, as a template of letters; the operands' indices, in the order of the template's fields; which two
# operands may change places. `{0}` is the first operand, `[xyz]` the name of an index in what follows.
EXTENTS = {"a": 7, "b": 13, "c": 19, "d": 33, "e": 5}
CASES = {
    "MaxSim": (["abd", "ecd"], "{0},{1}->[b][e][a][c] | max [c] | sum [b]", True),
    "matrix product": (["ab", "bc"], "{0},{1}->[a][c]", True),
    "attention": (["abd", "acd", "ace"], "{0},{1}->[a][b][c] | * 0.125 | softmax [c] | * {2} -> [a][b][e]", True),
    "log product": (["ab", "bc"], "{0} + {1} -> [a][b][c] | logsumexp [b]", True),
    "nearest": (["ad", "cd"], "({0} - {1})^2 -> [a][c] | min [c]", True),
    "Viterbi": (["ac", "cb"], "{0} + {1} -> [a][c][b] | max [c]", True),
    "Gaussian sum": (["ad", "cd", "ce"], "({0} - {1})^2 -> [a][c] | exp(-0.5 * _) | * {2} -> [a][e]", True),
    "bilinear": (["ab", "cbd", "ad"], "{0},{1},{2}->[a][c]", True),
    "softmax": (["abc"], "{0} -> [a][b][c] | softmax [b]", False),
    "variance": (["abc"], "{0} -> [a][b][c] | std [b]", False),
    "weighted": (["ab", "a"], "exp({0}) * {1} -> [a][b] | sum [a]", False),
    "cumulative": (["abc"], "{0} -> [a][b][c] | cumsum [c]", False),
}


class Scratch:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="einc-check-")
        self.count = 0

    def save(self, array):
        self.count += 1
        path = os.path.join(self.folder, "%d.npy" % self.count)
        np.save(path, array)
        return path


def einc(*words):
    done = subprocess.run([EINC, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("einc %s:\n%s" % (" ".join(words), done.stderr))
    return done.stdout, done.stderr


def spell(template, operands, order, names, batch):
    """The expression with other names; `order`: which operand stands where; `batch`: a letter in front of each."""
    text = template
    for place, which in enumerate(order):
        text = text.replace("{%d}" % place, "[%s]" % "][".join(batch + operands[which]))
    if batch and "->" in text:
        text = text.replace("->", "->[%s]" % batch).replace("->[%s] [" % batch, "-> [%s][" % batch)
    for index in list(EXTENTS) + list(batch):
        text = text.replace("[%s]" % index, names.get(index, index))
    return text


def explain(text, arrays):
    shapes = [word for a in arrays for word in ("--shape", ",".join(map(str, a.shape)))]
    said = json.loads(einc("explain", text, "--json", *shapes)[0])
    return [said[key] for key in ("flops", "bytes", "workspace_bytes")]


def compute(scratch, text, arrays):
    files = [word for a in arrays for word in ("-i", scratch.save(a))]
    out = os.path.join(scratch.folder, "out.npy")
    _, said = einc("run", text, *files, "-o", out, "--check")
    if "all right" not in said:
        sys.exit("%s: %s" % (text, said))
    return np.load(out)


def variants(operands, template, swaps, arrays, random_):
    """What is the same: a name, the text, the arrays, how to see the result as the first, and how often the cost."""
    same = list(range(len(operands)))
    letters = random_.sample("fghijklmnopqrstuvwxyz", len(EXTENTS) + 1)
    names, batch = dict(zip(EXTENTS, letters)), letters[-1]
    yield "renamed", spell(template, operands, same, names, ""), arrays, lambda x: x, 1
    if swaps:
        order = [1, 0] + same[2:]
        yield "swapped", spell(template, operands, order, {}, ""), [arrays[k] for k in order], lambda x: x, 1
    yield "transposed", spell(template, operands, same, {}, ""), [np.asfortranarray(a) for a in arrays], lambda x: x, 1
    permuted = [list(random_.sample(range(a.ndim), a.ndim)) for a in arrays]
    others = ["".join(o[k] for k in p) for o, p in zip(operands, permuted)]
    if "->" in template:
        moved = [np.ascontiguousarray(a.transpose(p)) for a, p in zip(arrays, permuted)]
        yield "permuted", spell(template, others, same, {}, ""), moved, lambda x: x, 1
    text = spell(template, operands, same, names, batch)
    yield "with a batch of 1", text, [a[None] for a in arrays], lambda x: x[0], 1
    yield "with a batch of 3", text, [np.stack([a] * 3) for a in arrays], lambda x: x[1], 3


def main():
    scratch, random_, state, wrong, runs = Scratch(), random.Random(5), np.random.RandomState(5), [], 0
    try:
        for name, (operands, template, swaps) in CASES.items():
            arrays = [state.normal(0, 1, [EXTENTS[i] for i in o]).astype(np.float32) for o in operands]
            text = spell(template, operands, list(range(len(operands))), {}, "")
            expected, cost = compute(scratch, text, arrays), explain(text, arrays)
            for how, other, theirs, view, times in variants(operands, template, swaps, arrays, random_):
                found, theirs_cost = view(compute(scratch, other, theirs)), explain(other, theirs)
                runs += 1
                if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-4, atol=1e-5):
                    wrong.append("%s %s, '%s': other results" % (name, how, other))
                for what, before, after in zip(("flops", "bytes", "workspace"), cost, theirs_cost):
                    most = before * (times if what != "workspace" else 1) * SLACK
                    most += ROWS + PANEL * (before == 0) if what == "workspace" and how == "permuted" else 0
                    if after > most and not (what == "workspace" and times > 1):
                        wrong.append("%s %s, '%s': %s were %s, are %s" % (name, how, other, what, before, after))
        print("\n".join(wrong + ["%d expressions, %d variants: %d wrong" % (len(CASES), runs, len(wrong))]))
        return len(wrong) > 0
    finally:
        shutil.rmtree(scratch.folder)


if __name__ == "__main__":
    sys.exit(main())
