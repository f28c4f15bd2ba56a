#!/usr/bin/env python3
"""What cannot be known without a GPU, on a machine with one: `make gpu`.

    BUILD=build EINC=build/einc python3 tests/gpu.py [--only tensors,primitives,functions,products,programs,sanitizer,benchmarks]
        [--count 300] [--sets 5] [--page docs/gpu-results.md] [--trial]

Tensors of the device in the C API; the primitives of templates/cuda, compiled by nvcc; functions at the edges of their range,
products of many sizes and random programs against the evaluator; NVIDIA's compute-sanitizer; benchmarks. Writes the page's
block of this card, with driver and date. What cannot run, for want of nvcc say, is named there. --trial takes little of all
and leaves the page alone, but for one that --page names.

Ends with 0 when all that ran was right, with 1 when something was wrong, and with 77 without a GPU, its driver or NVRTC.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
EINC = os.path.abspath(os.environ.get('EINC', os.path.join(BUILD, 'einc')))
PAGE = os.path.join(HERE, '..', 'docs', 'gpu-results.md')
RUNNER = os.path.join(BUILD, 'tests', 'kernel_main')
TENSORS = os.path.join(BUILD, 'tests', 'cuda_main')
BENCH = os.path.join(BUILD, 'bench', 'gpu', 'run')
SKIPPED = 77
LIMIT = 300                           # seconds, of one command
JOBS = min(16, os.cpu_count() or 1)   # commands at once, but for those that measure

os.environ['DEVICE'] = 'cuda'         # for kernel_fuzz

import check_cuda
import check_cuda_run
import check_products
import cuda_rings
import cuda_tools
import kernel_fuzz


class Missing(Exception):
    """A part that cannot run here, and why."""


def shown(done):
    return (done.stdout + done.stderr).strip()[-3000:]


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env={**os.environ, **environment})


def all_of(check, jobs):
    """check(*job) of each, some at once; all that is wrong is raised together."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        begun = [pool.submit(check, *job) for job in jobs]
    wrong = [str(one.exception()) for one in begun if one.exception()]
    assert not wrong, '%d of %d wrong:\n%s' % (len(wrong), len(jobs), '\n'.join(wrong))
    return [one.result() for one in begun]


def find_libraries():
    """NVRTC and cuBLAS may be a toolkit's or a Python package's, which the loader does not know of."""
    found = sorted({os.path.dirname(name) for name in cuda_tools.find('lib*/lib*.so*', '/usr/local/cuda*')
                    if re.match('lib(nvrtc|cublas)', os.path.basename(name))})
    os.environ['LD_LIBRARY_PATH'] = ':'.join([path for path in [os.environ.get('LD_LIBRARY_PATH')] if path] + found)


# ---- parts: each gives words for a person, or raises; AssertionError for what is wrong, Missing for what cannot run ----

def check_tensors(options, folder):
    done = run(TENSORS)
    assert done.returncode == 0, shown(done)
    return done.stdout.strip().split('\n')[-1]


def check_primitives(options, folder):
    nvcc = os.environ.get('NVCC') or cuda_tools.find_nvcc()
    if not nvcc:
        raise Missing('there is no nvcc')
    program = os.path.join(folder, 'primitives')
    done = run(nvcc, '-std=c++11', '-arch=native', '-DEINC_SCALAR', '-DINLINE=static __device__ __forceinline__', '-x', 'cu',
               os.path.join(HERE, 'cuda_templates.cu'), '-o', program)
    assert done.returncode == 0, shown(done)
    done = run(program)
    assert done.returncode == 0, shown(done)
    return 'as they should be'


def edges(dtype):
    """Zeros, infinities, NaN, the ends of the range, and numbers of every size between."""
    info = np.finfo(dtype)
    some = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.tiny / 8, info.eps, 1.0, 0.5, 1 - info.eps, 1 + info.eps]
    sizes = 2.0 ** np.linspace(-30, 16, 93)
    return np.array(some + [-x for x in some] + list(sizes) + list(-sizes) + list(np.linspace(-90, 90, 181)), dtype)


def functions():
    """Those of one argument and a real result: a table of the compiler's."""
    with open(os.path.join(HERE, '..', 'compiler', 'ops.h'), encoding='utf-8') as file:
        rows = re.findall(r'X\([A-Z0-9]+, "([a-z0-9]+)", 1, (RULE_\w+)', file.read())
    return [name for name, rule in rows if name not in ('neg', 'real', 'imag', 'conj', 'cast')]


def check_functions(options, folder):
    names = functions()[:2 if options.trial else None]
    paths = {dtype: os.path.join(folder, 'edges_%s.npy' % np.dtype(dtype).name) for dtype in (np.float32, np.float64)}
    for dtype, path in paths.items():
        np.save(path, edges(dtype))

    def check_function(name, path):
        done = run(EINC, 'run', '%s(x[i])' % name, '-i', 'x=' + path, '--device', 'cuda', '--check')
        assert done.returncode == 0 and 'all right' in done.stderr, '%s: %s' % (name, done.stderr[-2000:])

    all_of(check_function, [(name, path) for path in paths.values() for name in names])
    return '%d functions of f32 and f64, %d numbers each' % (len(names), len(edges(np.float32)))


def check_all_products(options, folder):
    rng = random.Random(1)
    some = 1 if options.trial else None
    kinds = [(case, [], '') for case in check_products.EXPRESSIONS[:3 if options.trial else None] + check_cuda.CUT[:some]]
    kinds += [(case, ['-n', 'tiled'], '') for case in (check_cuda.BRIEF + check_cuda.DOUBLES + check_cuda.DEEP + check_cuda.FUSED)[:some]]
    kinds += [(case, ['-n', 'tiled', '-p', precision], precision) for precision, case in check_cuda.PARTS[:some]]
    kinds += [(case, ['-l', '1', '-n', nests], '') for case in cuda_rings.RINGS[:some] for nests in ('cost', 'tiled')]
    jobs = []
    for number, ((text, operands), more, precision) in enumerate(kinds):
        fields = [text, '-s', str(number), '-t', 'cuda', '-b', '1', '-g', 'cuda', *more]
        own = os.path.join(folder, 'product_%d' % number)
        os.mkdir(own)
        for s in range(1 if options.trial else options.sets):
            fields += check_products.data_set(operands, rng, own, s, precision, given=check_cuda.KNOWN)
        jobs.append((' '.join([text, *more]), fields))

    def check_product(text, fields):
        done = subprocess.run([RUNNER], input=kernel_fuzz.job_line(fields), capture_output=True, text=True, timeout=LIMIT)
        answer = done.stdout.strip().split('\t')
        assert answer[0] == 'ok' or (answer[0] == 'refused' and 'over nothing' in answer[1]), '%s: %s %s' % (text, answer, done.stderr[-500:])
        return int(answer[1]) if answer[0] == 'ok' else 0

    return '%d products, %d elements compared' % (len(jobs), sum(all_of(check_product, jobs)))


def check_programs(options, folder):
    words = [RUNNER, '--seed', '1', '--count', str(options.count), '--sets', '2' if options.trial else str(options.sets), '--target', 'cuda',
             '--jobs', '1' if options.trial else str(JOBS), '--failures', os.path.join(BUILD, 'fuzz-gpu'), '--scratch', folder]
    assert kernel_fuzz.check(kernel_fuzz.parser().parse_args(words)), 'see above and build/fuzz-gpu'
    return '%d random programs' % options.count


def check_sanitizer(options, folder):
    sanitizer = shutil.which('compute-sanitizer') or shutil.which('compute-sanitizer', path='/usr/local/cuda/bin')
    if not sanitizer:
        raise Missing('there is no compute-sanitizer: it is part of the CUDA toolkit')
    runs = [[TENSORS, 'in_place', 'positions', 'threads']]
    for text, shapes in check_cuda_run.RUNS[:1 if options.trial else None]:
        scratch = tempfile.mkdtemp(dir=folder)
        words = check_cuda_run.operands(scratch, shapes, text)
        runs.append([EINC, 'run', text, *[os.path.join(scratch, word) if word.endswith('.npy') else word for word in words], '--device',
                     'cuda', '--check'])
    tools = ['memcheck', 'racecheck', 'initcheck', 'synccheck']

    def check_run(tool, command):
        done = run(sanitizer, '--tool', tool, '--error-exitcode', '9', *command)
        assert done.returncode == 0, '%s: %s\n%s' % (tool, ' '.join(command), shown(done))

    all_of(check_run, [(tool, command) for tool in tools[:1 if options.trial else None] for command in runs])
    return '%s over %d programs' % (', '.join(tools), len(runs))


def measure(options, folder):
    path = os.path.join(folder, 'figures.json')
    done = subprocess.run([BENCH, '--json', path] + ['--trial'] * options.trial,
                          timeout=LIMIT)
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            options.figures = json.load(file)
    assert done.returncode == 0, 'a row failed'
    return '%d rows' % len(options.figures['rows'])


# What is measured comes first: the page is written after each part, so that a run that is cut off leaves what it found.
PARTS = [('benchmarks', 'benchmarks', measure),
         ('tensors', 'tensors of the device in the C API', check_tensors), ('primitives', 'primitives of templates/cuda', check_primitives),
         ('functions', 'functions at the edges of their range', check_functions), ('sanitizer', 'compute-sanitizer', check_sanitizer),
         ('programs', 'random programs', check_programs), ('products', 'products of many sizes', check_all_products)]


# ---- the page ----

def time_words(seconds):
    for unit, name in ((1, 's'), (1e-3, 'ms'), (1e-6, 'µs')):
        if seconds >= unit:
            return '%.3g %s' % (seconds / unit, name)
    return '%.3g ns' % (seconds / 1e-9)


def version_words(number, of):
    return '%d.%d' % (number // of, number % of // (of // 100))


def row_words(row):
    if row['failure']:
        return '| %s | %s | failed: %s | | | |' % (row['work'], row['goal'], row['failure'].replace('\n', ' ').replace('|', '\\|'))
    goal = row['goal'] + (', met' if row['met'] else ', not met') if row['goal'] else ''
    share = '%.1f %% (%s)' % (100 * row['bound'] / row['seconds'], row['by']) if row['bound'] else ''
    rate = '%.1f TFLOP/s' % (row['rate'] / 1e12) if row['rate'] else ''
    peer = '%.1f %%' % (100 * row['peer'] / row['seconds']) if row['peer'] else ''
    return '| %s | %s | %s | %s | %s | %s |' % (row['work'], goal, time_words(row['seconds']), rate, share, peer)


def block_of(figures, outcomes, trial=False):
    """The page's text for this card."""
    date = datetime.date.today().isoformat()
    lines = ['<!-- card: %s -->' % figures['card'], '## %s' % figures['card'], '',
             '%s, driver for CUDA %s, NVRTC %s, compute capability %d.%d, %d multiprocessors.' % (
                 date, version_words(figures['driver'], 1000), version_words(figures['nvrtc'], 100), figures['architecture'] // 10,
                 figures['architecture'] % 10, figures['multiprocessors']), '',
             *(['**A trial: sizes are small, and no time is one.**', ''] if trial else []),
             '| measured | | |', '| --- | --- | --- |', '| copying memory, read and written | %.0f GB/s | |' % (figures['bandwidth'] / 1e9)]
    for peak in figures['peaks']:
        lines.append('| multiply-adds of %s | %.1f TFLOP/s | %s |' % (
            peak['of'], peak['measured'] / 1e12, 'data sheet: %.1f TFLOP/s' % (peak['paper'] / 1e12) if peak['paper'] else 'not in our table of data sheets'))
    lines += ['', '| work | goal | time | rate | of the bound | of cuBLAS |', '| --- | --- | --- | --- | --- | --- |']
    lines += [row_words(row) for row in figures['rows']]
    lines += ['', '| check | |', '| --- | --- |'] + ['| %s | %s |' % (what, words) for what, words in outcomes]
    return '\n'.join(lines + ['<!-- end -->'])


def write_page(path, block):
    """Puts the block in the place of the same card's, or at the end."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    begin = block.split('\n')[0]
    at = text.find(begin)
    if at < 0:
        text = text.rstrip('\n') + '\n\n' + block + '\n'
    else:
        end = text.index('<!-- end -->', at) + len('<!-- end -->')
        text = text[:at] + block + text[end:]
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


# ---- all of it ----

def require_gpu():
    for command in ([TENSORS, 'none'], [BENCH, '--trial', '--rows', 'none']):
        done = run(*command)
        if done.returncode in (SKIPPED, 6):
            print('No GPU can be used here, so nothing was run and nothing written: %s' % shown(done).replace('SKIPPED: ', ''))
            sys.exit(SKIPPED)


def run_parts(options, folder):
    """Whether all was right; what each came to is on the page."""
    outcomes, good = [], True
    for name, what, part in PARTS:
        if options.only and name not in options.only.split(','):
            continue
        start = time.time()
        try:
            words = part(options, folder)
        except Missing as why:
            words = 'not run: %s' % why
        except (AssertionError, subprocess.TimeoutExpired) as why:
            words, good = 'WRONG', False
            print(why)
        print('%s: %s (%.0f s)' % (what, words, time.time() - start), flush=True)
        outcomes.append((what, words))
        if options.figures and options.page:
            write_page(options.page, block_of(options.figures, outcomes, options.trial))
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--only', default='')
    parser.add_argument('--count', type=int, default=300)
    parser.add_argument('--sets', type=int, default=5, help='data sets of a product or a program')
    parser.add_argument('--page', default='')
    parser.add_argument('--trial', action='store_true')
    options = parser.parse_args()
    options.figures = None
    options.page = options.page or ('' if options.trial else PAGE)
    find_libraries()
    require_gpu()
    folder = tempfile.mkdtemp(prefix='einc-gpu-')
    os.environ['EINC_CACHE_DIR'] = os.path.join(folder, 'cache')
    good = run_parts(options, folder)
    shutil.rmtree(folder)
    if options.figures and options.page:
        print('written to %s' % os.path.relpath(options.page))
    return not good


if __name__ == '__main__':
    sys.exit(main())
