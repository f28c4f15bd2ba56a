#!/usr/bin/env python3
"""Runs what README.md and docs/*.md say. Takes about 40 s on two cores.

    tests/check_docs.py [--update] [PAGE.md ...]

In a page, a fenced block is, by the words behind its fence:

    console [N]   commands behind "$ ", each with the output that follows it. They run in one folder for each page, with
                  the einc that was built first in PATH. A command must exit with N, or 0, unless "$ echo $?" follows
                  it. In the output "…" stands for anything within a line, and a line "…" for any lines.
    FORMAT NAME   (c maxsim.c, python make.py) a file that is put into the page's folder.
    einc          an example: the expression, its operands, and what it gives.

                      expr   ij,j->i              further lines of the program: "expr" again
                      A      [[1, 2], [3, 4]]     an operand, as Python; f32 unless it is written A:i64
                      B      random(2)            or with numpy's names; random() and integers(a, b, shape) are seeded
                      with   -d h=2               options of einc run
                      gives  [5, 11]              the result, or "gives name = [5, 11]"; one line for each
                      dtype  f32                  what the result has, likewise
                      numpy  A @ B                the same by numpy in float64, computed from the operands

Every einc block runs with --check, which compares it with einc's own evaluator, too. Beside the blocks: links lead to
files and headings that exist; files, functions, variables and options of einc that are named exist; so do the targets
of make; every expression of README's table stands in an einc block, every function, reduction and dtype in one of
docs/notation.md. --update puts the outputs of console blocks as
they are now, and a "gives" of "?" as numpy computes it. The blocks of docs/extending.md are run by
tests/check_extending.sh, which sets EXTENDED. EINC, BUILD and PYTHON (with numpy) come from the environment."""
import ast
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get('BUILD', os.path.join(ROOT, 'build')))
EINC = os.path.abspath(os.environ.get('EINC', os.path.join(BUILD, 'einc')))
DTYPES = {'f16': 'f2', 'f32': 'f4', 'f64': 'f8', 'c64': 'c8', 'c128': 'c16', 'i8': 'i1', 'i16': 'i2', 'i32': 'i4',
          'i64': 'i8', 'bool': '?'}
FOLDERS = 'bench', 'cli', 'compiler', 'docs', 'examples', 'runtime', 'templates', 'tests', '.ci'


class Block:
    """A fenced block: its info string, its lines, and the line number of the first."""

    def __init__(self, info, start, indent):
        self.info, self.start, self.indent, self.lines = info, start, indent, []

    @property
    def kind(self):
        return self.info.split()[0] if self.info else ''

    @property
    def file(self):
        words = self.info.split()
        return words[1] if len(words) == 2 and self.kind != 'console' else None

    @property
    def status(self):
        return int((self.info.split() + ['0'])[1])


class Page:
    def __init__(self, path):
        self.path, self.blocks, self.prose, self.failures = path, [], [], []
        self.runs = path != 'docs/extending.md' or 'EXTENDED' in os.environ
        with open(os.path.join(ROOT, path), encoding='utf-8') as file:
            self.lines = file.read().split('\n')
        block = None
        for number, line in enumerate(self.lines, 1):
            fence = re.match(r'( *)```(.*)$', line)
            if fence and block is None:
                block = Block(fence[2].strip(), number + 1, len(fence[1]))
                self.blocks.append(block)
            elif fence:
                block = None
            elif block is not None:
                block.lines.append(line[block.indent:])
            else:
                self.prose.append((number, line))

    def fail(self, number, text):
        self.failures.append((number, text))

    def replace(self, block, lines):
        block.new = [' ' * block.indent + line if line else '' for line in lines]

    def write(self):
        lines = self.lines[:]
        for block in reversed(self.blocks):
            if hasattr(block, 'new'):
                lines[block.start - 1:block.start - 1 + len(block.lines)] = block.new
        if lines != self.lines:
            with open(os.path.join(ROOT, self.path), 'w', encoding='utf-8') as file:
                file.write('\n'.join(lines))
            print(f'{self.path}: updated')


# ---- console blocks ----

def split_console(block):
    """[[line number, command, [expected lines], [lines of the command]]]; a command goes on behind a backslash."""
    commands = []
    goes_on = False
    for number, line in enumerate(block.lines, block.start):
        if line.startswith('$ '):
            commands.append([number, line[2:], [], [line]])
        elif goes_on:
            commands[-1][1] += '\n' + re.sub(r'^> ?', '', line)
            commands[-1][3].append(line)
        elif commands:
            commands[-1][2].append(line)
        goes_on = line.endswith('\\') and (goes_on or line.startswith('$ '))
    return commands


def matches(expected, actual):
    """Whether the lines are the expected ones; "…" as in the page's comment."""
    pattern = ''
    for line in expected:
        pattern += '(?:.*\n)*' if line == '…' else '.*'.join(map(re.escape, line.split('…'))) + '\n'
    return re.fullmatch(pattern, ''.join(line + '\n' for line in actual)) is not None


def run_console(page, block, folder, environment, update):
    """One shell for the whole block, so that variables and $? carry over."""
    commands = split_console(block)
    mark = 'end-of-command-7d1c'
    script = ''.join(f'{command}\n{{ status=$?; printf "\\n{mark} %d\\n" $status; (exit $status); }} 2>/dev/null\n'
                     for _, command, _, _ in commands)
    done = subprocess.run(['bash', '-c', script], cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=50)
    parts = re.split(rf'\n{mark} (\d+)\n', done.stdout.decode('utf-8', 'replace'))
    outputs, statuses = parts[0::2], [int(s) for s in parts[1::2]]
    new, wrong = [], False
    for i, (number, command, expected, written) in enumerate(commands):
        if i >= len(statuses):
            page.fail(number, f'did not come to: {command}')
            return
        actual = outputs[i].split('\n')
        while actual and not actual[-1]:
            actual.pop()
        asked = i + 1 < len(commands) and commands[i + 1][1].strip() == 'echo $?'
        failed = statuses[i] != block.status and not asked
        if failed:
            page.fail(number, f'exit status {statuses[i]}: {command}\n' + '\n'.join(actual))
        stripped = expected[:]
        while stripped and not stripped[-1]:
            stripped.pop()
        right = failed or matches(stripped, actual)
        if not right and not update:
            page.fail(number, f'prints something else: {command}\n' + '\n'.join('    ' + line for line in actual))
        wrong |= not right
        new += written + (expected if right else actual + ([''] if expected and not expected[-1] else []))
    if wrong and update:
        page.replace(block, new)


def run_console_blocks(page, scratch, environment, update):
    """Writes the page's files and runs its commands, in order. Returns how many commands."""
    folder = os.path.join(scratch, page.path.replace('/', '-').replace('.md', ''))
    os.makedirs(folder, exist_ok=True)
    os.symlink(os.path.join(ROOT, 'examples'), os.path.join(folder, 'examples'))    # pages are read from the root
    count = 0
    for block in page.blocks:
        if block.file:
            with open(os.path.join(folder, block.file), 'w', encoding='utf-8') as file:
                file.write('\n'.join(block.lines) + '\n')
        if block.kind == 'console' and page.runs:
            count += len(split_console(block))
            try:
                run_console(page, block, folder, environment, update)
            except subprocess.TimeoutExpired:
                page.fail(block.start, 'takes more than 50 s')
    return count


# ---- einc blocks ----

class Example:
    def __init__(self, block):
        self.block, self.expr, self.operands, self.options = block, [], [], []
        self.gives, self.dtypes, self.numpy = [], [], []
        for number, line in enumerate(block.lines, block.start):
            word, _, rest = line.strip().partition(' ')
            rest = rest.strip()
            if word == 'expr':
                self.expr.append(rest)
            elif word == 'with':
                self.options += rest.split()
            elif word in ('gives', 'dtype', 'numpy'):
                name = re.match(r'(\w+) = (?!=)', rest)
                entry = (number, name and name[1], rest[name.end():] if name else rest)
                {'gives': self.gives, 'dtype': self.dtypes, 'numpy': self.numpy}[word].append(entry)
            elif word:
                name, _, dtype = word.partition(':')
                self.operands.append((number, name, dtype or 'f32', rest))


def scope_for(name):
    """What an operand's or numpy's line may use. random() differs from operand to operand, and is the same every time."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    scope = {n: getattr(np, n) for n in dir(np) if not n.startswith('_')}
    scope.update(np=np, random=lambda *shape: generator.normal(size=shape).round(3),
                 integers=lambda a, b, *shape: generator.integers(a, b, shape))
    return scope


def as_wide(array):
    return array.astype({'f': 'f8', 'c': 'c16'}.get(array.dtype.kind, array.dtype))


def same(a, b, tolerance):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.all(np.isclose(a, b, rtol=tolerance, atol=tolerance / 10, equal_nan=True)))


def text_of(value):
    return np.array2string(as_wide(np.asarray(value)), separator=', ', precision=4, suppress_small=True,
                           floatmode='maxprec', max_line_width=1 << 20, threshold=1 << 20).replace('\n', '')


def read_result(path, dtype):
    array = np.load(path)
    if array.dtype.kind == 'V':    # bf16: the upper half of an f32
        array = (array.view('u2').astype('u4') << 16).view('f4')
        return array, 'bf16'
    return array, next(name for name, code in DTYPES.items() if np.dtype(code) == array.dtype)


def run_example(page, example, folder, environment, update):
    block = example.block
    os.makedirs(folder)
    arguments, values = [EINC, 'run', '--check'], {}
    for number, name, dtype, text in example.operands:
        value = np.asarray(eval(text, scope_for(name)))
        if dtype == 'bf16':
            value = (value.astype('f4').view('u4') >> 16).astype('u2').view('V2')
            values[name] = read_bf16(value)
        else:
            value = value.astype(DTYPES[dtype])
            values[name] = as_wide(value)
        path = os.path.join(folder, name + '.npy')
        np.save(path, value)
        arguments += ['-i', f'{name}={path}']
    wanted = example.gives or example.numpy
    outputs = [os.path.join(folder, f'out{i}.npy') for i in range(len(wanted))]
    for (_, name, _), path in zip(wanted, outputs):
        arguments += ['-o', f'{name}={path}' if name else path]
    arguments += example.options + ['--', '\n'.join(example.expr)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=50)
    if done.returncode:
        page.fail(block.start, f'exit status {done.returncode}: {example.expr}\n{done.stderr}')
        return
    new = block.lines[:]
    for i, path in enumerate(outputs):
        result, dtype = read_result(path, None)
        computed = None
        if i < len(example.numpy):
            number, _, text = example.numpy[i]
            computed = np.asarray(eval(text, {**scope_for(''), **values}))
            if not same(computed, result, 2e-5):
                page.fail(number, f'numpy gives\n{computed}\neinc gives\n{result}')
        if i < len(example.gives):
            number, name, text = example.gives[i]
            if update and computed is not None and text == '?':
                at = number - block.start
                new[at] = new[at][:new[at].rindex('?')] + text_of(computed)
            elif not same(np.asarray(eval(text, {**scope_for(''), **values})), result, 1e-3):
                page.fail(number, f'einc gives\n{text_of(result)}')
        if i < len(example.dtypes) and example.dtypes[i][2] != dtype:
            page.fail(example.dtypes[i][0], f'the result is {dtype}')
    if new != block.lines:
        page.replace(block, new)


def read_bf16(value):
    return (value.view('u2').astype('u4') << 16).view('f4').astype('f8')


def run_examples(pages, scratch, environment, update):
    examples = [(page, Example(block)) for page in pages if page.runs
                for block in page.blocks if block.kind == 'einc']

    def run(job):
        number, (page, example) = job
        try:
            run_example(page, example, os.path.join(scratch, f'example{number}'), environment, update)
        except Exception as error:    # of a line of the page
            page.fail(example.block.start, f'{type(error).__name__}: {error}')

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(run, enumerate(examples)))
    return [example for _, example in examples]


# ---- what pages name ----

def anchor_of(heading):
    text = re.sub(r'[^\w\- ]', '', heading.strip().lower().replace('`', ''))
    return text.replace(' ', '-')


def anchors(path):
    if not path.endswith('.md'):
        return set()
    return {anchor_of(line.lstrip('#')) for _, line in Page(path).prose if line.startswith('#')}


def check_links(page):
    count = 0
    for number, line in page.prose:
        for target in re.findall(r'\]\(([^)\s]+)\)', re.sub(r'`[^`]*`', '', line)):
            if re.match(r'https?:', target):
                continue
            count += 1
            path, _, anchor = target.partition('#')
            path = os.path.normpath(os.path.join(os.path.dirname(page.path), path)) if path else page.path
            if not os.path.exists(os.path.join(ROOT, path)):
                page.fail(number, f'there is no file {path}')
            elif anchor and anchor not in anchors(path):
                page.fail(number, f'{path} has no heading #{anchor}')
    return count


def braces(pattern):
    inside = re.search(r'\{([^{}]*)\}', pattern)
    if not inside:
        return [pattern]
    return [p for part in inside[1].split(',') for p in braces(pattern[:inside.start()] + part + pattern[inside.end():])]


class Names:
    """What the tree has: to compare with what the pages say."""

    def __init__(self, environment):
        walked = [os.path.relpath(os.path.join(d, f), ROOT) for d, _, fs in os.walk(ROOT) for f in fs]
        self.files = [f for f in walked if not re.match(r'build|\.git/', f)]
        self.basenames = {os.path.basename(f) for f in self.files}
        sources = [f for f in self.files if re.search(r'\.(c|h|y|l|py|sh|mk)$', f) or f == 'Makefile']
        text = ''
        for path in sources:
            if os.path.exists(os.path.join(ROOT, path)):
                with open(os.path.join(ROOT, path), encoding='utf-8', errors='replace') as file:
                    text += file.read() + '\n'
        self.words = set(re.findall(r'\w+', text))
        made = [f for f in sources if f.endswith('.mk') or f == 'Makefile']
        rules = '\n'.join(open(os.path.join(ROOT, f), encoding='utf-8').read() for f in made)
        self.targets = set(re.findall(r'[\w-]+', ' '.join(re.findall(r'^\.PHONY:(.*)$', rules, re.M))))
        self.options = set()
        overview = subprocess.run([EINC, '--help'], capture_output=True, text=True).stdout
        for command in re.findall(r'einc (\w+) ', overview):
            done = subprocess.run([EINC, command, '--help'], capture_output=True, text=True)
            self.options |= set(re.findall(r'(--[a-z][a-z-]+)', done.stdout))
        self.options |= {'--help', '--version'}
        manual = os.path.join(ROOT, 'docs', 'einc.1')
        self.manual = open(manual, encoding='utf-8').read().replace('\\', '') if os.path.exists(manual) else None


def check_word(page, number, word, names, local):
    """A word of a code span or of a command. `local`: files that the page makes."""
    if any(word.startswith(f + '/') for f in FOLDERS):
        for path in braces(word.rstrip('.,:;')):
            if not glob.glob(os.path.join(ROOT, path)):
                page.fail(number, f'there is no {path}')
    elif re.fullmatch(r'[\w-]+\.(c|h|y|l|py|sh|mk|md)', word):
        if word not in names.basenames and word not in local:
            page.fail(number, f'there is no file {word}')
    elif re.fullmatch(r'[A-Za-z][a-z]*(_[a-z0-9]+)+(\(\))?|[A-Z]+(_[A-Z0-9]+)+', word):
        name = word.rstrip('()')
        if name not in names.words and name not in local:
            page.fail(number, f'there is no {name}')
    elif re.match(r'--[a-z]', word):
        option = re.match(r'--[a-z-]+', word)[0]
        if option not in names.options:
            page.fail(number, f'einc has no option {option}')
        elif names.manual and option not in names.manual:
            page.fail(number, f'docs/einc.1 does not have {option}')
    else:
        return 0
    return 1


def check_names(page, names):
    count = 0
    code = '\n'.join('\n'.join(block.lines) for block in page.blocks)
    local = set(re.findall(r'[\w.-]+', code)) | set(re.findall(r'\w+', code))
    for number, line in page.prose:
        for span in re.findall(r'`([^`]+)`', line):
            make = re.fullmatch(r'make ([a-z-]+)( .*)?', span)
            if make and make[1] not in names.targets:
                page.fail(number, f'the Makefile has no target {make[1]}')
            options = [w for w in span.split() if w.startswith('--')]
            words = options if span.startswith(('einc ', '--')) else [span] if ' ' not in span else []
            count += bool(make) + sum(check_word(page, number, word, names, local) for word in words)
    for block in page.blocks:
        if block.kind not in ('console', 'sh'):
            continue
        for number, line in enumerate(block.lines, block.start):
            if block.kind == 'console' and not line.startswith('$ '):
                continue
            command = re.sub(r'^\$ ', '', line)
            if re.match(r'make [a-z-]+', command):
                count += 1
                target = command.split()[1]
                if target not in names.targets:
                    page.fail(number, f'the Makefile has no target {target}')
            if command.startswith('einc '):
                for word in re.sub(r"'[^']*'", "''", command).split():
                    count += check_word(page, number, word, names, local) if word.startswith('--') else 0
    return count


def check_table(page, examples):
    """README's table of expressions: each stands in an einc block. Returns how many."""
    shown = {re.sub(r'\s+', ' ', ' ; '.join(example.expr)).strip() for example in examples}
    rows, inside = 0, False
    for number, line in page.prose:
        inside = line == '| the problem | the expression |' or inside and line.startswith('|')
        spans = re.findall(r'`([^`]+)`', line.replace('\\|', '|')) if inside else []
        for span in spans:
            rows += 1
            if re.sub(r'\s+', ' ', span).strip() not in shown:
                page.fail(number, f'no einc block runs {span}')
    return rows


def check_words(page, examples):
    """Each function, reduction and dtype of the compiler's tables stands in an example of the notation."""
    shown = set(re.findall(r'\w+', ' '.join(' '.join(example.expr) for example in examples)))
    words = set()
    for table in 'ops.h', 'dtype.h':
        with open(os.path.join(ROOT, 'compiler', table), encoding='utf-8') as file:
            words |= set(re.findall(r'^    X\(\w+, "([a-z]\w*)"', file.read(), re.M))
    for word in sorted(words - shown - {'cast'}):
        page.fail(1, f'no example has {word}')
    return len(words)


# ---- all of it ----

def make_environment(scratch):
    """PATH with this einc and a python3 that has numpy; the library installed in the scratch folder."""
    bin_folder, prefix = os.path.join(scratch, 'bin'), os.path.join(scratch, 'installed')
    os.makedirs(bin_folder)
    os.symlink(EINC, os.path.join(bin_folder, 'einc'))
    os.symlink(sys.executable, os.path.join(bin_folder, 'python3'))
    build = 'BUILD=' + os.environ.get('BUILD', 'build')
    subprocess.run(['make', '-s', 'install', f'PREFIX={prefix}', build], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return {**os.environ, 'PATH': bin_folder + ':' + os.environ['PATH'], 'NO_COLOR': '1', 'LC_ALL': 'C.UTF-8',
            'EINC_CACHE_DIR': os.environ.get('EINC_CACHE_DIR', os.path.join(scratch, 'cache')),
            'LD_LIBRARY_PATH': os.path.join(prefix, 'lib'),
            'PKG_CONFIG_PATH': os.path.join(prefix, 'lib', 'pkgconfig')}


def main(arguments):
    began = time.time()
    update = '--update' in arguments
    paths = [a for a in arguments if a != '--update']
    paths = [os.path.relpath(p, ROOT) for p in paths] or \
        ['README.md'] + sorted(os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, 'docs', '*.md')))
    pages = [Page(path) for path in paths]
    scratch = tempfile.mkdtemp(prefix='einc-docs-')
    try:
        environment = make_environment(scratch)
        names = Names(environment)
        links = sum(check_links(page) for page in pages)
        named = sum(check_names(page, names) for page in pages)
        examples = run_examples(pages, scratch, environment, update)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            commands = sum(pool.map(lambda page: run_console_blocks(page, scratch, environment, update), pages))
        everywhere = examples if not arguments else [Example(b) for p in glob.glob(os.path.join(ROOT, 'docs', '*.md'))
                                                     for b in Page(os.path.relpath(p, ROOT)).blocks if b.kind == 'einc']
        words = sum(check_words(page, [Example(b) for b in page.blocks if b.kind == 'einc'])
                    for page in pages if page.path == 'docs/notation.md')
        rows = sum(check_table(page, everywhere) for page in pages if page.path == 'README.md')
    finally:
        shutil.rmtree(scratch)
    if update:
        for page in pages:
            page.write()
    failures = [(page.path, number, text) for page in pages for number, text in sorted(page.failures)]
    for path, number, text in failures:
        print(f'{path}:{number}: {text}')
    print(f'{len(pages)} pages, {len(examples)} examples, {commands} commands, {rows} rows of the table, {words} words, '
          f'{links} links, {named} names; {len(failures)} wrong; {time.time() - began:.0f} s')
    nothing = not (examples and commands) and not arguments
    return 1 if failures or nothing else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
