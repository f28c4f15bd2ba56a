#!/usr/bin/env python3
"""Kernels whose plan is for other arrays than they meet: compiled for long ones, or for some long axes and some of a few points, run on
small ones of many layouts, against the reference evaluator. So plans that only large arrays have meet the edges of what they are made of.

    BUILD=build python3 tests/check_expected.py [--seed 1] [--sets 3] [--part 8] [--targets avx2,portable] [--only WORD]

The expressions are one of so many parts of check_products.py's, the others for the next seeds; without --targets for the machine's own and
portable vectors. tests/check_cuda.py does the same in the emulator. About 35 s.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import check_products
import instructions
import kernel_fuzz


def run(runner, text, operands, target, seed, sets, folder):
    """The line that asks, and the runner's answer."""
    rng = random.Random(seed)
    fields = [text, '-s', str(seed)] + (['-t', target] if target else []) + check_products.expected(operands, rng)
    for number in range(sets):
        fields += check_products.data_set(operands, rng, folder, number, '')
    line = kernel_fuzz.job_line(fields)
    done = subprocess.run([runner], input=line, capture_output=True, text=True, timeout=check_products.RUN_SECONDS)
    return line, done.stdout.strip().split('\t') if done.stdout.strip() else ['died', done.stderr.strip()[-300:]]


def check(runner, cases, target, seed, sets, folder):
    """How many were run, how many elements were compared, and how many kernels were wrong."""
    runs = wrong = elements = 0
    for number, (text, operands) in enumerate(cases):
        if hasattr(check_products.Maker, operands):
            continue
        line, answer = run(runner, text, operands, target, seed * 1000 + number, sets, folder)
        runs += 1
        if answer[0] == 'ok':
            elements += int(answer[1])
        elif not (answer[0] == 'refused' and 'over nothing' in answer[1]):
            wrong += 1
            print('%s %s %s\n%s' % (target, text, ' '.join(answer), line.replace('\t', ' ')), flush=True)
    print('%d kernels%s of plans for other arrays, %d elements compared, %d wrong' % (runs, target and ' for ' + target, elements, wrong), flush=True)
    return wrong == 0 and elements > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--sets', type=int, default=3)
    parser.add_argument('--part', type=int, default=8)
    parser.add_argument('--targets', default=',portable')
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    runner = os.path.join(os.environ.get('BUILD', 'build'), 'tests', 'kernel_main')
    compiler = os.environ.get('CC', 'cc')
    cases = [case for case in check_products.EXPRESSIONS[options.seed % options.part::options.part] if options.only in case[0]]
    good = True
    with tempfile.TemporaryDirectory(prefix='einc-expected-') as folder:
        for target in options.targets.split(','):
            os.environ['CC'] = '%s %s' % (instructions.QUICK, instructions.compiler_for(target, compiler))
            good &= check(runner, cases, target, options.seed, options.sets, folder)
    return not good


if __name__ == '__main__':
    sys.exit(main())
