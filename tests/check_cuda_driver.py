#!/usr/bin/env python3
"""What is declared here of NVIDIA's libraries, against NVIDIA's headers, about 2 s: the parameters of each function of the driver,
NVRTC and cuBLAS that is called, or that a stand-in has, and the numbers of enums. tests/golden/cuda/driver.txt says what these are
in the headers of CUDA; where there are such headers, it is compared with them, too.

    tests/check_cuda_driver.py --bless       writes it anew, from the headers that are here
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
GOLDEN = os.path.join(ROOT, 'tests', 'golden', 'cuda', 'driver.txt')

# Files that declare functions.
DECLARING = ['runtime/cuda_driver.h', 'runtime/gpu.h', 'tests/cuda_main.c', 'tests/cuda_standin.c', 'tests/cuda_standin_nvrtc.c',
             'bench/gpu/cublas.c']

# Numbers of ours, and what the headers call them.
TYPE, OF_DEVICE, OF_FUNCTION = 'CU_TENSOR_MAP_DATA_TYPE_', 'CU_DEVICE_ATTRIBUTE_', 'CU_FUNC_ATTRIBUTE_'
MAPS = {'MAP_U8': TYPE + 'UINT8', 'MAP_F16': TYPE + 'FLOAT16', 'MAP_BF16': TYPE + 'BFLOAT16'}
HOW = {'SWIZZLE_128': 'CU_TENSOR_MAP_SWIZZLE_128B', 'PROMOTION_256': 'CU_TENSOR_MAP_L2_PROMOTION_L2_256B'}
NUMBERS = {
    'runtime/cuda_driver.h': {
        'CUDA_MULTIPROCESSORS': OF_DEVICE + 'MULTIPROCESSOR_COUNT', 'CUDA_MAJOR': OF_DEVICE + 'COMPUTE_CAPABILITY_MAJOR',
        'CUDA_MINOR': OF_DEVICE + 'COMPUTE_CAPABILITY_MINOR', 'CUDA_MEMORY_POOLS': OF_DEVICE + 'MEMORY_POOLS_SUPPORTED',
        'CUDA_CAPTURE_RELAXED': 'CU_STREAM_CAPTURE_MODE_RELAXED', 'CUDA_NO_DEVICE': 'CUDA_ERROR_NO_DEVICE', 'CUDA_SHARED_BYTES': OF_FUNCTION + 'SHARED_SIZE_BYTES', 'CUDA_MORE_SHARED_BYTES': OF_FUNCTION + 'MAX_DYNAMIC_SHARED_SIZE_BYTES'},
    'templates/cuda/maps.cu': {**MAPS, **HOW},
    'compiler/emit_hopper_maps.c': MAPS,
    'runtime/grid.c': HOW,
    'tests/cuda_map.h': {'MAP_SWIZZLED': HOW['SWIZZLE_128']},
    'tests/cuda_standin.c': {
        'BAD_VALUE': 'CUDA_ERROR_INVALID_VALUE', 'NO_MEMORY': 'CUDA_ERROR_OUT_OF_MEMORY', 'NO_DEVICE': 'CUDA_ERROR_NO_DEVICE', 'NO_IMAGE': 'CUDA_ERROR_INVALID_IMAGE',
        'NO_CONTEXT': 'CUDA_ERROR_INVALID_CONTEXT', 'BAD_HANDLE': 'CUDA_ERROR_INVALID_HANDLE', 'NOT_FOUND': 'CUDA_ERROR_NOT_FOUND',
        'LOST': 'CUDA_ERROR_ILLEGAL_ADDRESS', 'RELAXED': 'CU_STREAM_CAPTURE_MODE_RELAXED', 'NOT_IN_CAPTURE': 'CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED'},
    'bench/gpu/cublas.c': {
        'REAL_F32': 'CUDA_R_32F', 'REAL_F64': 'CUDA_R_64F', 'REAL_I8': 'CUDA_R_8I', 'REAL_I32': 'CUDA_R_32I', 'REAL_BF16': 'CUDA_R_16BF',
        'COMPUTE_F32': 'CUBLAS_COMPUTE_32F', 'COMPUTE_F64': 'CUBLAS_COMPUTE_64F', 'COMPUTE_I32': 'CUBLAS_COMPUTE_32I',
        'COMPUTE_TF32': 'CUBLAS_COMPUTE_32F_FAST_TF32', 'AS_IT_IS': 'CUBLAS_OP_N', 'TURNED': 'CUBLAS_OP_T',
        'DEFAULT_ALGORITHM': 'CUBLAS_GEMM_DEFAULT'},
}

# Errors after which a context serves no more: runtime/cuda.c has their numbers.
LOSING = ['CUDA_ERROR_' + word for word in (
    'ECC_UNCORRECTABLE', 'NVLINK_UNCORRECTABLE', 'CONTAINED', 'ILLEGAL_ADDRESS', 'LAUNCH_TIMEOUT', 'CONTEXT_IS_DESTROYED', 'ASSERT',
    'HARDWARE_STACK_ERROR', 'ILLEGAL_INSTRUCTION', 'MISALIGNED_ADDRESS', 'INVALID_ADDRESS_SPACE', 'INVALID_PC', 'LAUNCH_FAILED',
    'TENSOR_MEMORY_LEAK', 'MPS_CLIENT_TERMINATED', 'EXTERNAL_DEVICE')]

# A map in a kernel's argument; before CUDA 13 it asked for less.
OLDER = ['alignof CUtensorMap 64']
SIZES = {'sizeof CUtensorMap': 'sizeof(CUtensorMap)', 'alignof CUtensorMap': '_Alignof(CUtensorMap)'}

BYTES = {'int': 4, 'unsigned': 4, 'unsigned int': 4, 'uint32_t': 4, 'size_t': 8, 'uint64_t': 8, 'uintptr_t': 8, 'CudaAddress': 8,
         'unsigned long': 8, 'unsigned long long': 8, 'long long': 8, 'char': 1, 'unsigned char': 1, 'float': 4, 'double': 8, 'void': '*'}


def form(parameter, types):
    """What a parameter is to who calls: its bytes, or P for each pointer to such; * is what only the library knows."""
    text = re.sub(r'\b(const|struct|enum)\b', ' ', parameter)
    pointers = text.count('*') + text.count('[')
    words = re.sub(r'\*.*|\[.*', '', text).split()
    while words and ' '.join(words) not in types:    # the last one is the parameter's name
        words.pop()
    assert words, 'no type is known in: ' + parameter
    kind = str(types[' '.join(words)])
    return 'P' * pointers + kind


def forms(parameters, types):
    return ' '.join(form(one, types) for one in parameters.split(',')) if parameters.strip() not in ('', 'void') else ''


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as file:
        return file.read()


def declared(name):
    """What a file of ours declares: function and parameters."""
    text = read(name).replace('\\\n', ' ')
    for symbol, parameters in re.findall(r'X\(\w+,\s*"((?:cu|nvrtc)\w+)",\s*\(([^()]*)\)\)', text):
        yield symbol, forms(parameters, BYTES)
    for symbol, parameters in re.findall(r'^CALL\((\w+),?\s*([^()]*)\)', text, re.M):
        yield symbol, forms(parameters, BYTES)
    members = dict(re.findall(r'int \(\*(\w+)\)\(([^()]*)\);', text))
    for member, symbol in re.findall(r'&\w+\.(\w+) = dlsym\(\w+\.library, "(\w+)"\)', text):
        yield symbol, forms(members[member], BYTES)


def our_functions():
    return [(name, symbol, parameters) for name in DECLARING for symbol, parameters in declared(name)]


def enum_number(name, word):
    found = re.search(r'\b%s = (-?\d+)' % word, read(name))
    assert found, '%s: no %s' % (name, word)
    return int(found.group(1))


def our_numbers():
    for name, words in NUMBERS.items():
        for word, theirs in words.items():
            yield '%s: %s' % (name, word), theirs, enum_number(name, word)
    losing = re.search(r'errors\[\] = \{([^}]*)\}', read('runtime/cuda.c')).group(1)
    listed = [int(number) for number in losing.split(',')]
    for word, number in zip(LOSING, listed):
        yield 'runtime/cuda.c: errors[]', word, number
    assert len(listed) == len(LOSING), 'runtime/cuda.c: errors[] has %d numbers, not %d' % (len(listed), len(LOSING))
    map_words = re.search(r'typedef struct __align__\((\d+)\) TensorMap \{\s*uint64_t words\[(\d+)\]', read('templates/cuda/tma.cu'))
    yield 'templates/cuda/tma.cu: TensorMap', 'alignof CUtensorMap', int(map_words.group(1))
    yield 'templates/cuda/tma.cu: TensorMap', 'sizeof CUtensorMap', 8 * int(map_words.group(2))
    for word, size in (('MAP_BYTES', 'sizeof CUtensorMap'), ('MAP_ALIGNMENT', 'alignof CUtensorMap')):
        yield 'compiler/emit_hopper_maps.c: ' + word, size, enum_number('compiler/emit_hopper_maps.c', word)


# ---- the headers ----

def header_types(text):
    """Of each name of a type what it is, as form() says it."""
    types = dict(BYTES)
    types.update((name, 4) for name in re.findall(r'typedef enum \w*\s*\{[^}]*\}\s*(\w+);', text))
    types.update((name, '*') for name in re.findall(r'typedef struct \w+ (\w+);|\}\s*(\w+);', text) for name in name if name)
    types.update((name, 4) for name in re.findall(r'typedef enum \w*\s*\{[^}]*\}\s*(\w+);', text))
    for _ in range(3):    # names of names
        for of, stars, name in re.findall(r'typedef ((?:const |struct |enum )*[\w ]+?)\s*(\**)\s*(\w+);', text):
            of = re.sub(r'\b(const|struct)\b', '', of).strip()
            if of.startswith('enum '):
                types[name] = 4
            elif stars:
                types.setdefault(name, 'P' * len(stars) + str(types.get(of, '*')))
            elif of in types:
                types.setdefault(name, types[of])
    return types


def preprocessed(folder, header, *options):
    compiler = os.environ.get('CC', 'cc').split()[0]
    done = subprocess.run([compiler, '-I' + folder, *options, '-E', '-P', '-xc', '-'], input='#include <%s>\n' % header,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return re.sub(r'__attribute__\s*\(\(.*?\)\)', ' ', re.sub(r'\s+', ' ', done.stdout))


def print_numbers(folder, words):
    """Lines with what the words are, by a program that includes the headers."""
    program = '#include <stdio.h>\n#include <cuda.h>\n#include <cublas_v2.h>\nint main(void)\n{\n%s    return 0;\n}\n' % ''.join(
        '    printf("%s %%d\\n", (int)%s);\n' % (word, SIZES.get(word, word)) for word in words)
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, 'numbers')
        subprocess.run([os.environ.get('CC', 'cc').split()[0], '-std=c11', '-I' + folder, '-xc', '-', '-o', path], input=program, text=True,
                       check=True)
        return subprocess.run([path], capture_output=True, text=True, check=True).stdout.splitlines()


def from_headers(folder):
    """The lines of the golden file. All versions of the driver's functions have their symbols' names."""
    text = preprocessed(folder, 'cuda.h', '-D__CUDA_API_VERSION_INTERNAL') + preprocessed(folder, 'nvrtc.h') + \
        preprocessed(folder, 'cublas_v2.h')
    types = header_types(text)
    prototypes = dict(re.findall(r'\b(?:CUresult|nvrtcResult|cublasStatus_t)\s+(\w+)\s*\(([^()]*)\)\s*;', text))
    symbols = sorted({symbol for _, symbol, _ in our_functions()})
    lines = ['%s(%s)' % (symbol, forms(prototypes[symbol], types)) for symbol in symbols if symbol in prototypes]
    return lines + print_numbers(folder, sorted({theirs for _, theirs, _ in our_numbers()}))


def find_headers():
    for folder in sorted(glob.glob('/usr/local/cuda*/include'), reverse=True) + ['/usr/include']:
        if all(os.path.exists(os.path.join(folder, name)) for name in ('cuda.h', 'nvrtc.h', 'cublas_v2.h')):
            return folder
    return None


def main():
    folder = find_headers()
    lines = from_headers(folder) if folder else None
    if '--bless' in sys.argv:
        assert lines, 'there are no headers of CUDA here'
        with open(GOLDEN, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
    golden = read(GOLDEN).splitlines()
    functions = dict(re.findall(r'^(\w+)\((.*)\)$', '\n'.join(golden), re.M))
    numbers = {word: int(number) for word, number in re.findall(r'^(.*) (-?\d+)$', '\n'.join(golden), re.M)}
    wrong = ['%s: %s(%s), but it is (%s)' % (name, symbol, parameters, functions.get(symbol, 'not in the golden file'))
             for name, symbol, parameters in our_functions() if functions.get(symbol) != parameters]
    wrong += ['%s is %d, but %s is %s' % (what, number, theirs, numbers.get(theirs)) for what, theirs, number in our_numbers()
              if numbers.get(theirs) != number]
    changed = sorted(line for line in set(lines or []) - set(golden) if line not in OLDER)
    if changed:
        wrong.append('the headers in %s say otherwise (to bless: tests/check_cuda_driver.py --bless):\n%s' % (folder, '\n'.join(changed)))
    print('\n'.join(wrong + ['%d functions, %d numbers, %s; %d wrong' % (
        len(our_functions()), len(list(our_numbers())), 'as in ' + folder if lines else 'as in the golden file', len(wrong))]))
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
