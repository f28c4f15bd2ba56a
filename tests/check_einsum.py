#!/usr/bin/env python3
"""Subscript strings mean what numpy.einsum and torch.einsum make of them: about 20 s.

A share by the seed of all pairs of operands of up to two labels with "..." anywhere, with every output there is (none,
which is numpy's implicit rule, and all orders of all subsets; SHARE=1 takes all), then random strings of up to four operands with more labels. Axes of size
1 are broadcast, blanks stand anywhere, operands are integers, bools, floats and complex numbers. The values come from
numpy.einsum; where it refuses what torch takes (to sum what "..." stands for), from numpy.einsum and a sum.
"""

import itertools
import os
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import numpy as np

from numpy_check import Evaluator, Failure

BUILD = os.environ.get('BUILD', 'build')
EXTENTS = {'i': 2, 'j': 3, 'k': 4, 'B': 2, 'a': 3, 'Z': 2}
DOTS = [2, 3]                       # what "..." stands for, at most
DTYPES = [np.int64] * 4 + [np.bool_, np.float64, np.complex128]


def words(labels, most):
    """All operands of these labels: "...", if it is there, at each place."""
    for length in range(most + 1):
        for letters in itertools.product(labels, repeat=length):
            yield list(letters)
            for at in range(length + 1):
                yield list(letters[:at]) + ['...'] + list(letters[at:])


def outputs(operands):
    """None, and all orders of all subsets of the labels, with "..." in front, behind and left out."""
    yield None
    used = sorted({label for word in operands for label in word} - {'...'})
    dots = any('...' in word for word in operands)
    for size in range(len(used) + 1):
        for kept in itertools.permutations(used, size):
            yield list(kept)
            if dots:
                yield ['...'] + list(kept)
                if kept:
                    yield list(kept) + ['...']


class Cases:
    def __init__(self, seed, share):
        self.share = share
        self.random = random.Random(seed)
        self.state = np.random.RandomState(seed)

    def array(self, word, dtype):
        shape = []
        ones = {label for label in word if self.random.random() < 0.06}    # a diagonal's axes are alike
        for label in word:
            if label == '...':
                shape += DOTS[self.random.randint(0, len(DOTS)):]
            else:
                shape.append(1 if label in ones else EXTENTS[label])
        x = self.state.randint(-3, 4, shape)
        if dtype == np.complex128:
            x = x + 1j * self.state.randint(-3, 4, shape)
        return np.asarray(x).astype(dtype)

    def text(self, operands, output):
        """With blanks where both take them."""
        def word(labels):
            blank = ' ' if self.random.random() < 0.1 else ''
            return blank + ''.join(label + (blank if self.random.random() < 0.3 else '') for label in labels)
        text = ','.join(word(w) for w in operands)
        return text if output is None else text + '->' + word(output)

    def random_operands(self):
        labels = self.random.sample(sorted(EXTENTS), self.random.randint(1, 5))
        operands = []
        for _ in range(self.random.randint(1, 4)):
            word = [self.random.choice(labels) for _ in range(self.random.randint(0, 4))]
            if self.random.random() < 0.3:
                word.insert(self.random.randint(0, len(word)), '...')
            operands.append(word)
        return operands

    def all(self, count):
        pairs = list(words('ij', 2))
        for word in words('ijk', 3):
            for output in outputs([word]):
                yield [word], output
        for operands in itertools.product(pairs, repeat=2):
            for output in outputs(operands):
                if self.random.random() < self.share:
                    yield list(operands), output
        for _ in range(count):
            operands = self.random_operands()
            yield operands, self.random.choice(list(itertools.islice(outputs(operands), 400)))


def expected(text, operands, output, arrays):
    """What numpy makes of it; None where it refuses."""
    dots = any('...' in word for word in operands)
    try:
        if output is None or '...' in output or not dots:
            return np.asarray(np.einsum(text, *arrays))
        summed = max(x.ndim - len(w) + 1 for w, x in zip(operands, arrays) if '...' in w)
        full = np.asarray(np.einsum(text.split('->')[0] + '->...' + ''.join(output), *arrays))
        along = tuple(range(summed))
        return full.any(axis=along) if full.dtype == np.bool_ else full.sum(axis=along)
    except ValueError:
        return None


def check(evaluator, text, arrays, value):
    fields = [text]
    for k, x in enumerate(arrays):
        np.save(evaluator.path('in%d.npy' % k), x)
        fields += ['-i', evaluator.path('in%d.npy' % k)]
    answer = evaluator.run(fields + ['-p', '1', '-o', evaluator.path('out')])
    if answer[0] != 'ok':
        raise Failure(': '.join(answer))
    result = np.load(evaluator.path('out.0.value.npy'))
    if result.shape != value.shape:
        raise Failure('its shape is %s, by numpy %s' % (result.shape, value.shape))
    if not np.array_equal(result, value):
        raise Failure('%s, by numpy %s' % (result.tolist(), value.tolist()))


def main():
    seed, count = int(os.environ.get('SEED', 1)), int(os.environ.get('COUNT', 1000))
    cases = Cases(seed, float(os.environ.get('SHARE', 0.1)))
    folder = tempfile.mkdtemp(prefix='einc-einsum-')
    equal = refused = failures = 0
    start = time.time()
    try:
        evaluator = Evaluator(os.path.join(BUILD, 'tests', 'evaluate_main'), folder, True)
        for operands, output in cases.all(count):
            dtype = cases.random.choice(DTYPES)
            arrays = [cases.array(word, dtype) for word in operands]
            text = cases.text(operands, output)
            value = expected(text, operands, output, arrays)
            if value is None:
                refused += 1
                continue
            try:
                check(evaluator, text, arrays, value)
                equal += 1
            except Failure as failure:
                failures += 1
                print('%r of %s: %s' % (text, [x.shape for x in arrays], failure))
                if failures == 10:
                    break
    finally:
        shutil.rmtree(folder)
    print('%d subscript strings are what numpy makes of them, %d not, %d it refuses; %.0f s' %
          (equal, failures, refused, time.time() - start))
    return failures > 0 or equal < 1000


if __name__ == '__main__':
    sys.exit(main())
