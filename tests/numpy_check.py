#!/usr/bin/env python3
"""Compares the reference evaluator with numpy on random expressions.

    python3 tests/numpy_check.py BUILD/evaluate_main [--seed S] [--count N] [--only K]

Each expression is computed three times: by the evaluator, by numpy in float64, and by numpy as a kernel would, in the
dtype of each term and with sums in a random order. The first two must agree within the evaluator's bound; the third
must be one that the evaluator accepts.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import numpy as np

from expressions import FLOAT, KIND, exact_values, random_program, text_of, to_file, working_values

OPEN, FAILED, EITHER = 1, 2, 4      # bits of the evaluator's states


class Failure(Exception):
    pass


class Evaluator:
    """The process that runs the evaluator, one job a line."""

    def __init__(self, path, folder, prints):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        encoding='utf-8')
        self.folder = folder
        self.prints = prints

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, fields):
        escaped = [f.replace('\\', '\\\\').replace('\t', '\\t').replace('\n', '\\n') for f in fields]
        self.process.stdin.write('\t'.join(escaped) + '\n')
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure('the evaluator ended with status %s' % self.process.wait())
        return answer.rstrip('\n').split('\t')

    def outputs(self, text, program, results):
        """Per output its dtype and the arrays value, bound, state and accepted."""
        fields = [text]
        inputs, old = program.operands()
        for k, tensor in enumerate(inputs + old):
            np.save(self.path('in%d.npy' % k), to_file(tensor.data, tensor.dtype))
            fields += ['-i', (tensor.name + '=' if tensor.by_name else '') + self.path('in%d.npy' % k)]
        for k, term in enumerate(results):
            np.save(self.path('result%d.npy' % k), to_file(term.value, term.dtype))
            fields += ['-r', self.path('result%d.npy' % k)]
        for name, extent in program.given.items():
            fields += ['-d', '%s=%d' % (name, extent)]
        answer = self.run(fields + ['-p', '%d' % self.prints, '-o', self.path('out')])
        if answer[0] != 'ok':
            raise Failure(': '.join(answer))
        outputs = []
        for k, described in enumerate(answer[1:]):
            arrays = {what: np.load(self.path('out.%d.%s.npy' % (k, what)))
                      for what in ('value', 'bound', 'state', 'accepted')}
            outputs.append((described.split(' ')[0], arrays))
        return outputs


def parts_agree(x, y, bound, either):
    """Elementwise: equal within the bound, infinities and NaN too."""
    with np.errstate(invalid='ignore'):
        near = np.abs(x - y) <= bound
    infinite = np.isinf(x) & ((x == y) | (either & (x == -y)))
    return near | infinite | (np.isnan(x) & np.isnan(y))


class Check:
    """Counts what was compared."""

    def __init__(self):
        self.elements = self.open = self.failed = self.exact = 0

    def __str__(self):
        known = self.elements - self.open - self.failed
        shares = [100 * n / max(self.elements, 1) for n in (known, self.exact, self.open, self.failed)]
        return '%d elements: %.1f%% bounded (%.1f%% to 0), %.1f%% open, %.1f%% out of range' % (self.elements, *shares)

    def compare(self, dtype, arrays, expected, result):
        if dtype != expected.dtype:
            raise Failure('its dtype is %s, by numpy %s' % (dtype, expected.dtype))
        value, state = arrays['value'], arrays['state']
        shape = tuple(a.extent for a in expected.axes)
        if value.shape != shape:
            raise Failure('its shape is %s, by numpy %s' % (value.shape, shape))
        bad = np.zeros(shape, bool) if expected.bad is None else expected.bad
        failed, open_ = (state & FAILED) != 0, (state & OPEN) != 0
        if ((failed != bad) & ~open_).any():
            raise Failure('reads out of range: the evaluator at %s, numpy at %s' % (where(failed), where(bad)))
        known = ~open_ & ~failed
        self.elements += value.size
        self.failed += failed.sum()
        self.open += (~known & ~failed).sum()
        self.exact += (known & (arrays['bound'] == 0)).sum()
        if KIND[dtype] < FLOAT:
            agree = value == expected.value
        else:
            # numpy's own error is that of a kernel that works in float64.
            bound, either = 2 * arrays['bound'], (state & EITHER) != 0
            agree = parts_agree(np.real(expected.value), np.real(value), bound, either)
            agree &= parts_agree(np.imag(expected.value), np.imag(value), bound, either)
        self.require(agree | ~known, 'differs from numpy', expected.value, arrays)
        self.require(arrays['accepted'] | failed, 'does not accept a kernel\'s result', result.value, arrays)

    def require(self, good, what, other, arrays):
        if good.all():
            return
        at = tuple(np.argwhere(~good)[0])
        raise Failure('%s at %s: %r is not %r with bound %r' % (
            what, list(map(int, at)), np.asarray(other)[at], arrays['value'][at], arrays['bound'][at]))


def where(marks):
    return [list(map(int, at)) for at in np.argwhere(marks)[:3]]


def check_one(evaluator, check, seed):
    program = random_program(seed)
    text = text_of(program, random.Random(seed))
    expected = exact_values(program)
    results = working_values(program, np.random.RandomState(seed % 2 ** 32))
    try:
        outputs = evaluator.outputs(text, program, results)
        if len(outputs) != len(expected):
            raise Failure('%d outputs, by numpy %d' % (len(outputs), len(expected)))
        for (dtype, arrays), value, result in zip(outputs, expected, results):
            check.compare(dtype, arrays, value, result)
    except Failure as failure:
        inputs, old = program.operands()
        lines = ['  %s: %s %s' % (t.name or 'letters', t.dtype, t.shape) for t in inputs + old]
        given = ''.join(' -d %s=%d' % pair for pair in program.given.items())
        return '%s\n%s%s\n%s' % (failure, text, given, '\n'.join(lines))
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('evaluator', help='the program that tests/evaluate_main.c makes')
    parser.add_argument('--seed', type=int, default=None)
    parser.add_argument('--count', type=int, default=2000)
    parser.add_argument('--only', type=int, default=None, help='one expression of the seed')
    parser.add_argument('--failures', type=int, default=1, help='go on until there are so many')
    parser.add_argument('--prints', action='store_true', help='each program must also print as text that means it')
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(10 ** 6)
    numbers = range(arguments.count) if arguments.only is None else [arguments.only]
    check, failures, done, start = Check(), 0, 0, time.time()
    print('seed %d' % seed)
    folder = tempfile.mkdtemp(prefix='einc-check-')
    try:
        evaluator = Evaluator(arguments.evaluator, folder, arguments.prints)
        for number in numbers:
            problem = check_one(evaluator, check, seed * 1000003 + number)
            done += 1
            if problem:
                failures += 1
                print('%s\nto repeat: python3 %s %s --seed %d --only %d\n' % (
                    problem, sys.argv[0], arguments.evaluator, seed, number))
                if evaluator.process.poll() is not None:
                    evaluator = Evaluator(arguments.evaluator, folder, arguments.prints)
            if failures >= arguments.failures:
                break
    finally:
        shutil.rmtree(folder)
    print('%d of %d expressions agree in %.0f s; %s' % (done - failures, done, time.time() - start, check))
    return failures > 0


if __name__ == '__main__':
    sys.exit(main())
