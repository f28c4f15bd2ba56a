#!/usr/bin/env python3
"""Kernels on a GPU that is none, about 30 s: einc run --device cuda and the C API's tensors on devices, with stand-ins for libcuda
and libnvrtc (tests/cuda_standin*.c), which run kernels in tests/cuda_emulator.h. The results are compared with the evaluator's and
the CPU's; every call of the stand-ins is made to fail once, and then einc says which one, ends with 1 or 6, and gives back all
that it had."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
EINC = os.path.abspath(os.environ.get('EINC', os.path.join(os.environ.get('BUILD', 'build'), 'einc')))

# An expression and the shapes of its operands.
RUNS = [
    ('ij,jk->ik', [(5, 70), (70, 9)]),
    ('ijk,mnk->ijmn | max n | sum j', [(3, 4, 37), (5, 6, 37)]),
    ('ij | softmax j', [(7, 300)]),
    ('ij | sum j & argmax j', [(7, 300)]),
    ('ij | topk(3) j & argtopk(3) j', [(7, 30)]),
    ('ij | cumsum j', [(5, 33)]),
    ('ij | sum ij', [(300, 700)]),
    ('i,i->', [(0,), (0,)]),
    ('ij->ji', [(0, 5)]),
    ('Q[i,k]:bf16, K[j,k]:bf16 -> [i,j] | softmax j | bf16 | _ * V[j,v]:bf16 -> [i,v]', [(70, 72), (90, 72), (90, 40)]),
    ('A[i,k]:i8, B[j,k]:i8 -> [i,j]', [(70, 80), (90, 80)]),
    ('A[i,k]:f64, B[k,j]:f64 -> [i,j]', [(70, 81), (81, 90)]),        # on tensor cores
    ('(id - jd)^2 -> ij | exp(-0.5 * _) | * j -> i', [(300, 3), (700, 3), (700,)]),    # of few contracted points
    ('A[i,k]:bf16, B[j,k]:bf16 -> [i,j]', [(70, 72), (90, 72)]),      # in a ring of tiles
    ('A[i,k]:bf16, B[j,k]:bf16 -> [i,j]', [(70, 73), (90, 73)]),      # of whose operands there are no maps
]
RING = RUNS[-2]

bad = 0


def expect(holds, *what):
    global bad
    if not holds:
        bad += 1
        print(*what)


def run(folder, *words, command=(EINC, 'run'), libraries=True, **environment):
    setting = {**os.environ, 'CUDA_STANDIN_FOLDER': folder, 'CUDA_STANDIN_CC': os.path.join(HERE, 'cuda_cc.sh'),
               'CUDA_STANDIN_LOG': os.path.join(folder, 'log'), 'EINC_CACHE_DIR': os.path.join(folder, 'cache'), **environment}
    if libraries:
        setting['LD_LIBRARY_PATH'] = folder
    return subprocess.run([*command, *words], capture_output=True, text=True, env=setting, cwd=folder, timeout=120)


def narrowed(x, text):
    """Numbers as an expression says."""
    if ':i8' in text:
        return (x * 40).astype(np.int8)
    if ':f64' in text:
        return x.astype(np.float64)
    return (x.view(np.uint32) >> 16).astype(np.uint16).view('V2') if ':bf16' in text else x


def operands(folder, shapes, text=''):
    random = np.random.RandomState(1)
    words = []
    for k, shape in enumerate(shapes):
        x = random.normal(0, 1, shape).astype(np.float32)
        np.save(os.path.join(folder, '%d.npy' % k), narrowed(x, text))
        words += ['-i', '%d.npy' % k]
    return words


def last_log(folder):
    """Of each library that was used: how many calls, and how much was not given back."""
    path = os.path.join(folder, 'log')
    lines = open(path).read().split('\n')[:-1] if os.path.exists(path) else []
    if lines:
        os.remove(path)
    return [tuple(map(int, line.split())) for line in lines]


def check_results(folder):
    for text, shapes in RUNS:
        done = run(folder, text, *operands(folder, shapes, text), '--device', 'cuda', '--check')
        expect(done.returncode == 0 and 'all right' in done.stderr, text, done)
        expect(all(kept == 0 for calls, kept in last_log(folder)), text, 'something is kept')
    done = run(folder, RING[0], *operands(folder, RING[1], RING[0]), '--device', 'cuda', CUDA_STANDIN_LOST='1')
    expect('ring_1 with 1 block of 384 threads and' in done.stderr, 'a ring', done)
    expect('hint: device 0 serves this process no more: start another process' in done.stderr, 'a lost device', done)
    last_log(folder)
    done = run(folder, RING[0], *operands(folder, RING[1], RING[0]), '--device', 'cuda', '--check', CUDA_STANDIN_NVRTC='1108')
    expect(done.returncode == 0 and 'all right' in done.stderr, 'a compiler that does not know what only the device has', done)
    last_log(folder)
    product = ['ij,jk->ik', *operands(folder, RUNS[0][1]), '--device', 'cuda', '--check']
    done = run(folder, *product, CUDA_STANDIN_OLD='1', EINC_CACHE_DIR=os.path.join(folder, 'old'))
    expect(done.returncode == 0, 'a compiler that does not know the device', done)
    last_log(folder)
    done = run(folder, *product, CUDA_STANDIN_CC='false')
    expect(done.returncode == 0 and (3, 0) in last_log(folder), 'code from the cache', done)
    np.save(os.path.join(folder, 'y.npy'), np.array([1, 9], np.int64))
    words = ['W[y[t],h] -> [t]', '-i', 'W=0.npy', '-i', 'y=y.npy', '--device', 'cuda']
    done = run(folder, *words)
    expect(done.returncode == 3 and "'W' was read out of range" in done.stderr, 'out of range', done)
    done = run(folder, 'ij | softmax j', '-i', '0.npy', '--device', 'cuda', '--memory', '64')
    expect(done.returncode == 4 and 'budget' in done.stderr, 'a budget', done)


def check_missing(folder):
    words = ['ij,jk->ik', *operands(folder, RUNS[0][1]), '--device', 'cuda']
    empty = os.path.join(folder, 'none')
    os.makedirs(empty)
    for library, word in (('libcuda.so.1', 'libcuda'), ('libnvrtc.so.13', 'libnvrtc')):
        with open(os.path.join(empty, library), 'w') as file:
            file.write('no library')
        if library == 'libnvrtc.so.13':
            shutil.copy(os.path.join(folder, 'libcuda.so.1'), empty)
            for other in ('libnvrtc.so.12', 'libnvrtc.so.11.2', 'libnvrtc.so'):
                shutil.copy(os.path.join(empty, library), os.path.join(empty, other))
        done = run(folder, *words, LD_LIBRARY_PATH=empty, libraries=False)
        expect(done.returncode == 6 and word in done.stderr and 'hint:' in done.stderr, library, done)
    last_log(folder)


def check_unfit(folder):
    """Drivers, compilers and devices that are too old, or of which a call fails before a device is known."""
    words = ['ij,jk->ik', *operands(folder, RUNS[0][1]), '--device', 'cuda']
    cases = [({'CUDA_STANDIN_NVRTC': '1106'}, 'libnvrtc.so is too old: install that of CUDA 11.7 or later'),
             ({'CUDA_STANDIN_DRIVER': '11060'}, 'the driver is too old: install one for CUDA 11.7 or later'),
             ({'CUDA_STANDIN_DEVICES': '75'}, 'no device has a compute capability of 8.0 or more'),
             ({'CUDA_STANDIN_DEVICES': ''}, 'the driver finds no device'),
             ({'CUDA_STANDIN_FAIL': '1'}, 'cuDriverGetVersion() fails: unknown error: CUDA_ERROR_UNKNOWN (999)'),
             ({'CUDA_STANDIN_FAIL': '2'}, 'cuInit() fails: unknown error: CUDA_ERROR_UNKNOWN (999)'),
             ({'CUDA_STANDIN_FAIL': '3'}, 'cuDeviceGetCount() fails: unknown error: CUDA_ERROR_UNKNOWN (999)')]
    for lacking, said in (('cuMemAllocAsync', 'libcuda.so.1 is too old: install a driver'), ('nvrtcGetCUBIN', 'libnvrtc.so is too old: install')):
        older = os.path.join(folder, lacking)
        os.makedirs(older)
        build_standins(older, '-D%s=lacking' % lacking)
        cases.append(({'LD_LIBRARY_PATH': older}, said))
    for setting, said in cases:
        done = run(folder, *words, libraries='LD_LIBRARY_PATH' not in setting, **setting)
        expect(done.returncode == 6 and 'error: no kernel for CUDA can run here: ' + said in done.stderr and 'hint:' in done.stderr, setting, done)
        expect(all(kept == 0 for calls, kept in last_log(folder)), setting, 'something is kept')


def check_tensors(folder):
    """Tensors of devices in the C API: tests/cuda_main.c."""
    program = os.path.abspath(os.path.join(os.environ.get('BUILD', 'build'), 'tests', 'cuda_main'))
    settings = [{'CUDA_STANDIN_DEVICES': '90,80'}, {'CUDA_STANDIN_DEVICES': '80,121,90', 'CUDA_STANDIN_OLD': '1'}, {'CUDA_STANDIN_POOLS': '0'}]
    for setting in settings:
        done = run(folder, command=[program], CUDA_STANDIN_LOG='', **setting)
        expect(done.returncode == 0, setting, done.returncode, done.stdout[-3000:], done.stderr[-1000:])


def check_failures(folder):
    """A run that needs each of the calls."""
    words = ['W[y[t],h] -> [t] | softmax t', '-i', 'W=0.npy', '-i', 'y=y.npy', '--device', 'cuda', '-o', 'out.npy']
    operands(folder, [(5, 300)])
    np.save(os.path.join(folder, 'y.npy'), np.array([1, 4, 0], np.int64))
    done = run(folder, *words, EINC_CACHE_DIR=os.path.join(folder, 'cache0'))
    expect(done.returncode == 0, 'without a failure', done)
    most = max(calls for calls, kept in last_log(folder))
    said = run(folder, *words, CUDA_STANDIN_CC='cat > /dev/null; false', EINC_CACHE_DIR=os.path.join(folder, 'uncompiled')).stderr
    for number in range(1, most + 1):
        done = run(folder, *words, CUDA_STANDIN_FAIL=str(number), EINC_CACHE_DIR=os.path.join(folder, 'cache%d' % number))
        said += done.stderr
        expect((done.returncode in (1, 6) and done.stderr.startswith('error: ')) or (done.returncode == 0 and number == most), 'call', number, 'fails', done)    # the last lets go of the module
        expect(all(kept == 0 for calls, kept in last_log(folder)), 'call', number, 'fails, and something is kept')
    of = ", for 'W[y[t],h] -> [t] | softmax t'"
    for words in ('einc_kernel_launch_1 with 3 blocks of 128 threads and ', ' bytes of shared memory' + of, 'NVRTC does not compile einc_kernel' + of,
                  'the code of einc_kernel cannot be loaded' + of, 'memory for an array of einc_kernel' + of,
                  'memory for the workspace of einc_kernel' + of, 'the workspace of einc_kernel cannot be cleared' + of):
        expect(words in said, 'no failure names', words, said)
    return most


def check_bench(folder):
    """einc bench: figures of the device, and nothing kept where a call fails."""
    words = ['jm->m', '-d', 'j=700,m=90', '--device', 'cuda', '--seconds', '0.01', '--json']
    done = run(folder, *words, command=(EINC, 'bench'))
    figures = json.loads(done.stdout) if done.returncode == 0 else {}
    expect(figures.get('device') == 'stand-in 0' and figures['target'] == 'cuda:sm_90a', 'bench', done)
    expect(figures and 0 < figures['efficiency'] < 1 and figures['flops'] == 700 * 90, 'bench', done)
    expect(abs(figures['flops_per_second'] * figures['seconds'] / figures['flops'] - 1) < 1e-6, 'bench', done)
    expect(all(kept == 0 for calls, kept in last_log(folder)), 'bench keeps something')
    for number in range(1, 41):
        done = run(folder, *words, command=(EINC, 'bench'), CUDA_STANDIN_FAIL=str(number))
        expect(done.returncode in (1, 6) and done.stderr.startswith('error: '), 'bench, call', number, 'fails', done)
        expect(all(kept == 0 for calls, kept in last_log(folder)), 'bench, call', number, 'fails, and something is kept')


def build_standins(folder, *options):
    """Both libraries, in a folder for LD_LIBRARY_PATH."""
    for source, library in (('cuda_standin.c', 'libcuda.so.1'), ('cuda_standin_nvrtc.c', 'libnvrtc.so.13')):
        subprocess.run([os.environ.get('CC', 'cc').split()[0], '-std=gnu11', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC',
                        '-fvisibility=hidden', *options, os.path.join(HERE, source), '-o', os.path.join(folder, library), '-ldl', '-lpthread'], check=True)


def main():
    if not shutil.which(os.environ.get('CXX', 'g++')):
        print('SKIPPED: no C++ compiler')
        return 77
    folder = tempfile.mkdtemp(prefix='einc-cuda-')
    build_standins(folder)
    check_results(folder)
    check_missing(folder)
    check_unfit(folder)
    check_tensors(folder)
    check_bench(folder)
    failed = check_failures(folder)
    shutil.rmtree(folder)
    print('%d runs, %d calls that fail, %d wrong' % (len(RUNS) + 18, failed, bad))
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
