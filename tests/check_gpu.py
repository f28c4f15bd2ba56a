#!/usr/bin/env python3
"""All of `make gpu` on a GPU that is none, about 30 s: tests/gpu.py --trial with stand-ins for NVIDIA's libraries, nvcc and
compute-sanitizer. Nothing is measured, and docs/gpu-results.md stays as it is. A wrong result is noticed; without a device it says
so and ends with 77."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import check_cuda_run
import gpu

HERE = os.path.dirname(os.path.abspath(__file__))
SANITIZER = '''#!/bin/sh
# --tool T --error-exitcode N PROGRAM...
shift 4
exec "$@"
'''

bad = 0


def expect(holds, *what):
    global bad
    if not holds:
        bad += 1
        print(*what)


def run(folder, *words, **environment):
    """gpu.py with the stand-ins of the folder."""
    setting = {**os.environ, 'CUDA_STANDIN_FOLDER': folder, 'CUDA_STANDIN_CC': os.path.join(HERE, 'cuda_cc.sh'),
               'LD_LIBRARY_PATH': folder, 'NVCC': os.path.join(HERE, 'cuda_nvcc.sh'), 'PATH': folder + ':' + os.environ['PATH'], **environment}
    return subprocess.run([sys.executable, os.path.join(HERE, 'gpu.py'), *words], capture_output=True, text=True, env=setting, timeout=900)


def check_page(folder):
    """A card's block takes the place of its earlier one; all else stays."""
    row = {'name': 'a', 'work': 'x | y', 'goal': '≤ 1 ms', 'by': 'memory', 'failure': '', 'seconds': 2e-3, 'rate': 1e12, 'bound': 1e-3, 'peer': 1e-3,
           'met': False, 'checked': 4}
    figures = {'card': 'A', 'driver': 12080, 'nvrtc': 1208, 'architecture': 90, 'multiprocessors': 132, 'bandwidth': 3e12,
               'peaks': [{'of': 'f32', 'measured': 1e12, 'paper': 0}, {'of': 'i8', 'measured': 2e12, 'paper': 3e12}], 'rows': [row]}
    page = os.path.join(folder, 'page.md')
    with open(page, 'w', encoding='utf-8') as file:
        file.write('# before\n')
    for card in 'ABA':
        figures['card'] = card
        gpu.write_page(page, gpu.block_of(figures, [('what', 'words %s' % card)]))
        row['failure'] = 'it | fails\n'
    text = open(page, encoding='utf-8').read()
    expect(text.startswith('# before\n') and text.count('## A') == 1 and text.count('## B') == 1 and text.index('## A') < text.index('## B'),
           'blocks', text)
    expect(text.count('failed: it \\| fails') == 2 and 'CUDA 12.8, NVRTC 12.8' in text, 'words', text)


def main():
    if not shutil.which(os.environ.get('CXX', 'g++')):
        print('SKIPPED: no C++ compiler')
        return 77
    folder = tempfile.mkdtemp(prefix='einc-gpu-check-')
    check_cuda_run.build_standins(folder)
    sanitizer = os.path.join(folder, 'compute-sanitizer')
    with open(sanitizer, 'w') as file:
        file.write(SANITIZER)
    os.chmod(sanitizer, 0o755)
    before = open(gpu.PAGE, encoding='utf-8').read()
    page = os.path.join(folder, 'trial.md')
    with open(page, 'w', encoding='utf-8') as file:
        file.write('# a page\n')
    done = run(folder, '--trial', '--count', '8', '--page', page)
    expect(done.returncode == 0, 'a trial', done.stdout, done.stderr)
    text = open(page, encoding='utf-8').read()
    expect(all(what in done.stdout and what in text for name, what, part in gpu.PARTS), 'parts', done.stdout, text)
    expect('A trial' in text and 'not run' not in text and 'WRONG' not in text, 'the page', text)
    done = run(folder, '--trial', '--only', 'functions', CUDA_FAULT='s/int64_t i = i_first \\+ rest/int64_t i = i_first/')
    expect(done.returncode == 1 and 'WRONG' in done.stdout, 'a wrong result', done.stdout, done.stderr)
    empty = os.path.join(folder, 'empty')
    os.makedirs(empty)
    with open(os.path.join(empty, 'libcuda.so.1'), 'w') as file:
        file.write('no library')
    done = run(folder, LD_LIBRARY_PATH=empty)
    expect(done.returncode == 77 and 'No GPU can be used here' in done.stdout and 'libcuda' in done.stdout, 'no device', done)
    check_page(folder)
    expect(open(gpu.PAGE, encoding='utf-8').read() == before, 'docs/gpu-results.md has changed')
    shutil.rmtree(folder)
    print('%d parts run, %d wrong' % (len(gpu.PARTS), bad))
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
