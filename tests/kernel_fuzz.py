#!/usr/bin/env python3
"""Random programs as compiled kernels, against the reference evaluator under its error bound.

    python3 tests/kernel_fuzz.py BUILD/tests/kernel_main --seed 1 --count 1000 [--sets 20] [--target avx2] [--jobs 2]
    python3 tests/kernel_fuzz.py BUILD/tests/kernel_main --one 1:57
    python3 tests/kernel_fuzz.py BUILD/tests/kernel_main --seed 1 --count 100 --sets 2 --large

A program is compiled once and run on `--sets` data sets of other extents, strides and values. tests/kernel_main.c says
what is checked beside the values. A failure is shrunk; its files stay in a folder, and what repeats it is printed. Of `--large`
sizes is the first data set, too, for which the kernel is planned, and most arrays are in C's order, as arrays of users are.
"""

import argparse
import collections
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import numpy as np

from expression_shrink import shrink
from expression_sizes import LARGE, SMALL, Links, data_set, first_set
from expressions import Refused, random_program, text_of, to_file

NESTS = os.environ.get('NESTS', '')  # 'tiled', 'loops': which nests are forced
PRECISION = os.environ.get('PRECISION', '')
DEVICE = os.environ.get('DEVICE', '')  # 'cuda': kernels for CUDA run on a GPU
LAYOUTS = 3                         # how many layouts a shrunk program is tried with


class Case:
    """A program, its data sets, and what else a job is made of."""

    def __init__(self, program, sets, seed, target, ordered):
        self.program = program
        self.sets = sets
        self.seed = seed            # of the layouts
        self.target = target
        self.spelling = 0           # of the text
        self.ordered = ordered      # all arrays are in C's order

    def text(self):
        return text_of(self.program, random.Random(self.spelling))

    def fields(self, folder):
        """The job's fields; the arrays are written into the folder."""
        fields = [self.text(), '-s', '%d' % self.seed]
        fields += (['-t', self.target] if self.target else []) + (['-n', NESTS] if NESTS else [])
        fields += ['-p', PRECISION] if PRECISION else []
        fields += ['-c', 'all'] if self.ordered else []
        fields += ['-g', DEVICE] if DEVICE else []
        inputs, old = self.program.operands()
        for s, data in enumerate(self.sets):
            fields.append('|')
            for name, extent in data.given.items():
                fields += ['-d', '%s=%d' % (name, extent)]
            for k, tensor in enumerate(inputs + old):
                path = os.path.join(folder, 'set%d_%s.npy' % (s, tensor.name or 'operand%d' % (k + 1)))
                np.save(path, to_file(data.arrays[tensor], tensor.dtype))
                fields += ['-i', (tensor.name + '=' if tensor.by_name else '') + path]
        return fields


def job_line(fields):
    return '\t'.join(f.replace('\\', '\\\\').replace('\t', '\\t').replace('\n', '\\n') for f in fields) + '\n'


class Runner:
    """The process that runs jobs; started anew after it died."""

    def __init__(self, path, folder):
        self.path = path
        self.folder = folder
        self.process = None

    def run(self, case):
        """The answer's fields: ok, refused or failed."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            encoding='utf-8')
        line = job_line(case.fields(self.folder))
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ''
        if not answer:
            return ['failed', 'the process ended with status %s' % self.process.wait()]
        return answer.rstrip('\n').split('\t')

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()


def make_case(seed, number, sets, target, large):
    program = random_program(seed * 1000003 + number)
    chooser = random.Random('%d:%d' % (seed, number))
    try:
        links = Links(program)
    except Refused:
        links = None
    data = [data_set(links, chooser, LARGE if large else SMALL) for _ in range(sets - 1)] if links else []
    data.insert(len(data) if large else 0, first_set(program))
    return Case(program, data, chooser.randrange(2 ** 60), target, large and chooser.random() < 0.8)


def still_fails(runner, case, kind):
    """Whether a smaller case fails in the same way, in one of a few layouts; the case then has that layout."""
    for layout in range(LAYOUTS):
        trial = Case(case.program, case.sets, case.seed + layout, case.target, case.ordered)
        answer = runner.run(trial)
        if answer[0] == 'failed' and kind_of(answer) == kind:
            case.seed += layout
            return True
    return False


def kind_of(answer):
    return ' '.join(answer[1].split()[:2])


def report(arguments, number, case, answer, folder):
    """Leaves the case's files in the folder and says how to repeat it."""
    os.makedirs(folder, exist_ok=True)
    fields = case.fields(folder)
    with open(os.path.join(folder, 'job'), 'w', encoding='utf-8') as file:
        file.write(job_line(fields))
    with open(os.path.join(folder, 'expression'), 'w', encoding='utf-8') as file:
        file.write(fields[0] + '\n')
    end = len(fields) if len(case.sets) == 1 else [k for k, f in enumerate(fields) if f == '|'][1]
    files = ' '.join(fields[fields.index('|') + 1:end])
    shapes = ''.join('\n    %s:%s %s' % (t.name or 'letters', t.dtype, ' '.join(
        str(list(s.arrays[t].shape)) for s in case.sets)) for part in case.program.operands() for t in part)
    return '''%s
%s%s
  given: %s
  this program and data: %s < %s/job
  in C order: einc run @%s/expression --check%s %s
  before shrinking: python3 %s %s --one %d:%d --sets %d%s%s
''' % (answer[1], '    ' + fields[0].replace('\n', '\n    '), shapes, [s.given for s in case.sets], arguments.runner,
       folder, folder,
       ' --target ' + case.target if case.target else '', files, sys.argv[0], arguments.runner, arguments.seed, number,
       arguments.sets, ' --target ' + case.target if case.target else '', ' --large' if arguments.large else '')


def targets_here(runner, text):
    """Those of the targets that this machine can run, or [None] for its own."""
    asked = text.split(',') if text else []
    job = ''.join(job_line(['->', '-t', target] + (['-g', DEVICE] if DEVICE else []) + ['|']) for target in asked)
    said = subprocess.run([runner], input=job, capture_output=True, text=True).stdout.splitlines()
    missing = [t for t, answer in zip(asked, said) if answer.startswith('refused')]
    if missing:
        print('not on this machine: %s' % ', '.join(missing))
    return [t for t in asked if t not in missing] or [None]


def work(arguments, numbers, results):
    """Runs its share of the numbers; each answer goes into the queue."""
    with tempfile.TemporaryDirectory(prefix='einc-fuzz-', dir=arguments.scratch) as folder:
        runner = Runner(arguments.runner, folder)
        for number in numbers:
            case = make_case(arguments.seed, number, arguments.sets, arguments.targets[number % len(arguments.targets)], arguments.large)
            answer = runner.run(case)
            while arguments.large and answer[0] == 'refused' and len(case.sets) > 1:    # sizes that do not fit the program
                del case.sets[0]
                answer = runner.run(case)
            text = ''
            if answer[0] == 'failed':
                small = case
                if not arguments.whole:
                    kind = kind_of(answer)
                    small = shrink(case, lambda trial: still_fails(runner, trial, kind))
                    answer = runner.run(small)
                    if answer[0] != 'failed':
                        small, answer = case, runner.run(case)
                left = os.path.join(arguments.failures, '%d-%d' % (arguments.seed, number))
                text = report(arguments, number, small, answer if len(answer) > 1 else ['', 'it passed later'], left)
                answer = ['failed', answer[1] if len(answer) > 1 else '']
            elif answer[0] == 'refused':
                text = answer[1] + '\n    ' + case.text().replace('\n', '\n    ')
            results.put((number, answer, text))
        runner.close()
    results.put(None)


def collect(arguments, numbers):
    """Starts the workers and counts their answers."""
    results = multiprocessing.Queue()
    shares = [numbers[k::arguments.jobs] for k in range(arguments.jobs)]
    workers = [multiprocessing.Process(target=work, args=(arguments, share, results)) for share in shares]
    for worker in workers:
        worker.start()
    counts, open_workers = collections.Counter(), len(workers)
    while open_workers:
        result = results.get()
        if result is None:
            open_workers -= 1
            continue
        number, answer, text = result
        counts[answer[0]] += 1
        if answer[0] == 'ok':
            counts['elements'] += int(answer[1])
            counts['misfits'] += int(answer[2])
            counts['touched'] += int(answer[3])
            counts['planned'] += int(answer[4])
        else:
            print('%d:%d %s: %s' % (arguments.seed, number, answer[0], text), flush=True)
    for worker in workers:
        worker.join()
    return counts


def parser():
    options = argparse.ArgumentParser()
    options.add_argument('runner', help='the program that tests/kernel_main.c makes')
    options.add_argument('--seed', type=int, default=None)
    options.add_argument('--count', type=int, default=1000)
    options.add_argument('--first', type=int, default=0, help='the first program of the seed')
    options.add_argument('--one', help='SEED:NUMBER, one program')
    options.add_argument('--sets', type=int, default=20, help='data sets for each program')
    options.add_argument('--large', action='store_true', help='sizes that caches do not hold')
    options.add_argument('--target', help='instruction sets, with commas between, in turn; by default the machine\'s own')
    options.add_argument('--jobs', type=int, default=2)
    options.add_argument('--whole', action='store_true', help='do not shrink')
    options.add_argument('--failures', default='build/fuzz', help='where the files of failures are left')
    options.add_argument('--scratch', default='/dev/shm' if os.path.isdir('/dev/shm') else None)
    return options


def check(arguments):
    """Runs the programs and prints what came of it; whether all kernels were right."""
    if arguments.one:
        arguments.seed, number = map(int, arguments.one.split(':'))
        numbers = [number]
    else:
        arguments.seed = arguments.seed if arguments.seed is not None else random.randrange(10 ** 6)
        numbers = list(range(arguments.first, arguments.first + arguments.count))
    arguments.jobs = max(1, min(arguments.jobs, len(numbers)))
    arguments.targets = targets_here(arguments.runner, arguments.target)
    start = time.time()
    counts = collect(arguments, numbers)
    print('seed %d: %d kernels right, %d wrong, %d refused in %.0f s; %d elements compared on up to %d data sets each, '
          '%d data sets refused by evaluator and kernel alike; %d of %d planned pages of workspace written to' % (
              arguments.seed, counts['ok'], counts['failed'], counts['refused'], time.time() - start,
              counts['elements'], arguments.sets, counts['misfits'], counts['touched'], counts['planned']), flush=True)
    return counts['ok'] == len(numbers)


if __name__ == '__main__':
    sys.exit(not check(parser().parse_args()))
