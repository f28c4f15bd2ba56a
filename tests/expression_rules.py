"""The dtypes of einc's expressions: numpy's promotion, with einc's exceptions (docs: numbers and positions are weak,
16-bit floats and i8, i16 are computed in f32 and i32)."""

import os
import re

import numpy as np

BOOL, INT, FLOAT, COMPLEX = range(4)
KIND = {'bool': BOOL, 'i8': INT, 'i16': INT, 'i32': INT, 'i64': INT, 'f16': FLOAT, 'bf16': FLOAT, 'f32': FLOAT,
        'f64': FLOAT, 'c64': COMPLEX, 'c128': COMPLEX}
NUMPY = {'bool': np.bool_, 'i8': np.int8, 'i16': np.int16, 'i32': np.int32, 'i64': np.int64, 'f16': np.float16,
         'f32': np.float32, 'f64': np.float64, 'c64': np.complex64, 'c128': np.complex128}
EINC = {np.dtype(v): k for k, v in NUMPY.items()}
BITS = {'i8': 8, 'i16': 16, 'i32': 32, 'i64': 64}
WEAK = {'int': 'i64', 'float': 'f64', 'complex': 'c128'}   # what a weak number is meanwhile
WEAK_ORDER = [None, 'int', 'float', 'complex']

FLOATS = '/ sqrt rsqrt recip exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh ' \
         'sigmoid softplus gelu silu erf'.split()
REAL_ONLY = 'sign mod relu exp2 expm1 log2 log10 log1p asin acos atan atan2 sigmoid softplus gelu silu erf min max ' \
            'clamp floor ceil round trunc < <= > >= complex'.split()


def table_of_ulps():
    """The largest error of each function of real numbers that kernels may have, by compiler/ops.h."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'compiler', 'ops.h')
    with open(path) as table:
        rows = re.findall(r'X\([A-Z0-9]+, "([^"]+)", \d, RULE_\w+, \w+, ([0-9.]+)\)', table.read())
    ulps = {name: float(ulp) for name, ulp in rows}
    ulps['^'] = ulps.pop('pow')
    del ulps['abs'], ulps['mod']        # exact but for complex numbers, and where whole numbers go in
    return ulps


ULPS = table_of_ulps()


class Refused(Exception):
    """einc gives no meaning to this."""


def promote(a, b):
    """numpy.promote_types, with bf16 beside it."""
    if a == b:
        return a
    if 'bf16' in (a, b):
        other = b if a == 'bf16' else a
        if other in ('bool', 'i8'):
            return 'bf16'
        if other in ('f16', 'i16'):
            return 'f32'
        return promote('f32', other)
    return EINC[np.promote_types(NUMPY[a], NUMPY[b])]


def widen(dtype):
    return {'f16': 'f32', 'bf16': 'f32', 'i8': 'i32', 'i16': 'i32'}.get(dtype, dtype)


def real(dtype):
    return {'c64': 'f32', 'c128': 'f64'}.get(dtype, dtype)


def complex_of(dtype):
    return 'c128' if dtype in ('f64', 'c128') else 'c64'


def as_float(dtype):
    """What sqrt of it is: numpy's float for it, widened."""
    if KIND[dtype] < FLOAT:
        return {'bool': 'f32', 'i8': 'f32', 'i16': 'f32'}.get(dtype, 'f64')
    return widen(dtype)


def meet_weak(dtype, weak):
    if weak == 'int':
        return 'i64' if dtype == 'bool' else dtype
    if weak == 'float':
        return 'f64' if KIND[dtype] < FLOAT else dtype
    return 'c128' if KIND[dtype] < FLOAT else complex_of(dtype)


def common(types):
    """The common (dtype, weak) of such pairs."""
    strong, weak = None, None
    for dtype, w in types:
        weak = max(weak, w, key=WEAK_ORDER.index)
        if w is None:
            strong = dtype if strong is None else promote(strong, dtype)
    if strong is None:
        return WEAK[weak], weak
    return (meet_weak(strong, weak) if weak else strong), None


def function_type(name, types):
    """What the arguments are cast to (dtype, weak) and what the function gives (dtype, weak)."""
    if name in KIND:
        if KIND[types[0][0]] == COMPLEX and KIND[name] < COMPLEX and name != 'bool':
            raise Refused('a complex number does not become real')
        return types[0], (name, None)
    dtype, weak = common(types)
    if KIND[dtype] == COMPLEX and name in REAL_ONLY:
        raise Refused('complex')
    if name in ('&&', '||', '!'):
        return ('bool', None), ('bool', None)
    if name in ('<', '<=', '>', '>=', '==', '!=', 'isnan', 'isinf', 'isfinite'):
        return (widen(dtype), weak), ('bool', None)
    if name in ('min', 'max', 'clamp', 'conj'):
        return (dtype, weak), (dtype, weak)
    if name in ('floor', 'ceil', 'round', 'trunc'):
        used = widen(dtype) if KIND[dtype] == FLOAT and not weak else dtype
        return (used, weak), (used, weak)
    if name in FLOATS or name == 'complex':
        weak = 'float' if weak == 'int' else weak
        used = WEAK[weak] if weak else as_float(dtype)
        if name == 'complex':
            return (used, weak), (complex_of(used), weak and 'complex')
        return (used, weak), (used, weak)
    if dtype == 'bool' and name not in ('+', '*'):
        raise Refused('bool')
    if name in ('abs', 'real', 'imag'):
        used = widen(dtype) if name == 'abs' and not weak else dtype
        return (used, weak), (real(used), 'float' if weak == 'complex' else weak)
    used = dtype if weak else widen(dtype)
    return (used, weak), (used, weak)


def where_type(yes, no):
    return common([yes, no])


def accumulator(natural, declared):
    """The dtype that a sum of products is made in when `declared` is written behind its arrow."""
    if declared is None or KIND[declared] < KIND[natural]:
        return natural
    return widen(declared)


def reduction_type(name, dtype):
    """What the argument is cast to, and the dtype of the result."""
    whole = KIND[dtype] < FLOAT
    if name in ('sum', 'prod', 'cumsum', 'cumprod'):
        used = 'i64' if dtype in ('bool', 'i32') else widen(dtype)
        return used, used
    if name == 'mean':
        used = 'f64' if whole else widen(dtype)
        return used, used
    if name in ('norm', 'var', 'std'):
        used = 'f64' if whole else widen(dtype)
        return used, real(used)
    if name in ('any', 'all'):
        return 'bool', 'bool'
    if KIND[dtype] == COMPLEX:
        raise Refused('complex numbers have no order')
    if name in ('logsumexp', 'softmax', 'log_softmax'):
        return as_float(dtype), as_float(dtype)
    return dtype, 'i64' if name.startswith('arg') else dtype
