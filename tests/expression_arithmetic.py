"""numpy's arithmetic on the elements of einc's dtypes, in two ways.

`Exact` computes in float64, complex128 and wrapped int64. `Working` computes as a kernel does: in each term's own
dtype, with functions as wrong as kernels may be, sums in a random order and reductions by one of the usual algorithms.

Arrays are held so: bool as bool, integers as int64 (wrapped to their dtype), f16 and bf16 of `Working` as float64 that
the dtype holds, all else in numpy's own type.
"""

import math

import numpy as np

from expression_rules import BITS, BOOL, FLOAT, INT, KIND, NUMPY, ULPS


# ---- elements ----

def wrap(x, dtype):
    """int64 as an integer dtype holds it."""
    return x.astype(NUMPY[dtype]).astype(np.int64)


def round_float(x, digits, lowest, huge):
    """float64 rounded to a narrow float, ties to even."""
    _, exponent = np.frexp(x)
    step = np.ldexp(1.0, np.maximum(exponent - digits, lowest))
    rounded = np.where(np.isfinite(x), np.rint(x / step) * step, x)
    return np.where(np.abs(rounded) > huge, np.copysign(np.inf, rounded), rounded)


NARROW = {'f16': (11, -24, 65504.0), 'bf16': (8, -133, float.fromhex('0x1.FEp127'))}


def float_to_int(x, dtype):
    """Cut towards zero, saturated; NaN is 0."""
    top = 2.0 ** (BITS[dtype] - 1)
    most = 2 ** (BITS[dtype] - 1) - 1
    x = np.asarray(x, np.float64)
    inside = np.where((x < top) & (x > -top), x, 0).astype(np.int64)
    return np.where(x >= top, most, np.where(x <= -top, -most - 1, inside))


def bits_of_bf16(x):
    """The upper half of a float32."""
    wide = np.atleast_1d(np.asarray(x, np.float64)).astype(np.float32).view(np.uint32)
    return (wide >> 16).astype(np.uint16).reshape(np.shape(x))


def bf16_of_bits(bits):
    wide = np.atleast_1d(bits).astype(np.uint32) << 16
    return wide.view(np.float32).astype(np.float64).reshape(np.shape(bits))


def to_file(x, dtype):
    """An array as einc's .npy files hold it."""
    if dtype == 'bf16':
        return np.ascontiguousarray(np.atleast_1d(bits_of_bf16(x))).view('V2').reshape(np.shape(x))
    return np.asarray(x).astype(NUMPY[dtype])


# ---- functions ----

def vectorized(f):
    def apply(x):
        x = np.asarray(x)
        wide = np.asarray(x, np.float64)
        return np.array([f(v) for v in wide.ravel()], np.float64).reshape(x.shape).astype(x.dtype)
    return apply


def in_float64(f):
    """Composed functions are made in float64 and rounded once."""
    return lambda x: np.asarray(f(np.asarray(x, np.float64))).astype(np.asarray(x).dtype)


def integer_power(x, y):
    def one(base, exponent):
        if exponent < 0:
            return 1 if base == 1 else (-1) ** (exponent & 1) if base == -1 else 0
        value = pow(base, exponent, 1 << 64)
        return value - (1 << 64) if value >> 63 else value
    x, y = np.broadcast_arrays(x, y)
    return np.array([one(int(a), int(b)) for a, b in zip(x.ravel(), y.ravel())], np.int64).reshape(x.shape)


def clamp(x, low, high):
    return np.minimum(np.maximum(x, low), high)


COMPARE = {'<': np.less, '<=': np.less_equal, '>': np.greater, '>=': np.greater_equal, '==': np.equal,
           '!=': np.not_equal, '&&': np.logical_and, '||': np.logical_or, '!': np.logical_not, 'isnan': np.isnan,
           'isinf': np.isinf, 'isfinite': np.isfinite}
ORDER = {'min': np.minimum, 'max': np.maximum, 'clamp': clamp}
FLOAT_ONLY = {
    'sqrt': np.sqrt, 'rsqrt': in_float64(lambda x: 1 / np.sqrt(x)), 'recip': lambda x: 1 / x, 'exp': np.exp,
    'exp2': np.exp2, 'expm1': np.expm1, 'log': np.log, 'log2': np.log2, 'log10': np.log10, 'log1p': np.log1p,
    'sin': np.sin, 'cos': np.cos, 'tan': np.tan, 'asin': np.arcsin, 'acos': np.arccos, 'atan': np.arctan,
    'atan2': np.arctan2, 'sinh': np.sinh, 'cosh': np.cosh, 'tanh': np.tanh,
    'sigmoid': in_float64(lambda x: 1 / (1 + np.exp(-x))), 'softplus': in_float64(lambda x: np.logaddexp(x, 0)),
    'gelu': in_float64(lambda x: 0.5 * x * vectorized(math.erfc)(-x / math.sqrt(2))),
    'silu': in_float64(lambda x: x / (1 + np.exp(-x))), 'erf': vectorized(math.erf), '/': np.divide,
    'floor': np.floor, 'ceil': np.ceil, 'round': np.rint, 'trunc': np.trunc}
ANY = {'+': np.add, '-': np.subtract, '*': np.multiply, 'neg': np.negative, 'abs': np.abs, 'square': np.square,
       'sign': np.sign, 'relu': lambda x: np.maximum(x, 0), 'mod': np.mod, '^': np.power, 'real': np.real,
       'imag': np.imag, 'conj': np.conj}


def make_complex(re, im):
    re, im = np.broadcast_arrays(re, im)
    value = np.empty(re.shape, np.complex64 if re.dtype == np.float32 else np.complex128)
    value.real, value.imag = re, im
    return value


def float_function(name, is_complex):
    if name == 'complex':
        return make_complex
    if name == 'rsqrt' and is_complex:
        return lambda x: 1 / np.sqrt(x)
    return COMPARE.get(name) or ORDER.get(name) or FLOAT_ONLY.get(name) or ANY[name]


def apply_integer(name, dtype, arguments):
    """Of int64 arrays, wrapped."""
    if name in COMPARE:
        return COMPARE[name](*arguments)
    if name == '^':
        value = integer_power(*arguments)
    elif name in ('floor', 'ceil', 'round', 'trunc', 'conj', 'real'):
        value = arguments[0]
    elif name == 'mod':
        value = np.where(arguments[1] == 0, 0, np.mod(arguments[0], np.where(arguments[1] == 0, 1, arguments[1])))
    else:
        value = (ORDER.get(name) or ANY[name])(*arguments)
    return wrap(np.asarray(value), dtype)


BOOLS = {**COMPARE, '+': np.logical_or, '*': np.logical_and, 'min': np.logical_and, 'max': np.logical_or,
         'clamp': clamp}


def apply_bool(name, arguments):
    return BOOLS[name](*arguments) if name in BOOLS else arguments[0]


# ---- reductions over the last axis ----

def first_best(x, largest):
    """The ranking, best first: NaN before all, the lower position first among equals."""
    if x.dtype == np.bool_:
        x = x.astype(np.int64)
    nan = np.isnan(x) if x.dtype.kind == 'f' else np.zeros(x.shape, bool)
    key = np.where(nan, 0, x)
    key = ~key if largest and key.dtype.kind == 'i' else -key if largest else key
    position = np.broadcast_to(np.arange(x.shape[-1]), x.shape)
    return np.lexsort((position, key, ~nan), axis=-1)


def by_part(function, x, count):
    """A real number applied to each part of a complex one."""
    x = np.asarray(x)
    if x.dtype.kind != 'c':
        return np.asarray(function(x, x.dtype.type(count)))
    value = np.empty(x.shape, x.dtype)
    value.real, value.imag = (function(part, part.dtype.type(count)) for part in (x.real, x.imag))
    return value


def masked(top):
    """What to subtract: nothing in a row of nothing but -inf."""
    return np.where(np.isneginf(top), np.zeros_like(top), top)


class Exact:
    """float64, complex128, int64: what exact arithmetic gives, but for float64's own rounding."""

    def number(self, dtype):
        kind = KIND[dtype]
        return [np.bool_, np.int64, np.float64, np.complex128][kind]

    def cast(self, x, source, target):
        x = np.asarray(x)
        if KIND[target] == BOOL:
            return x != 0
        if KIND[target] == INT:
            return float_to_int(x, target) if KIND[source] == FLOAT else wrap(x.astype(np.int64), target)
        return self.to_float(x, target)

    def to_float(self, x, target):
        return x.astype(self.number(target))

    def function(self, name, function, *arguments):
        """What a kernel makes of a function."""
        return np.asarray(function(*arguments))

    def sum(self, x, dtype):
        return np.sum(x, axis=-1)

    def prod(self, x, dtype):
        return np.prod(x, axis=-1)

    def mean(self, x, dtype):
        return by_part(np.divide, np.sum(x, axis=-1), x.shape[-1])

    def cumsum(self, x, dtype):
        return np.cumsum(x, axis=-1)

    def cumprod(self, x, dtype):
        return np.cumprod(x, axis=-1)

    def var(self, x, ddof):
        if x.shape[-1] == 0:
            return np.full(x.shape[:-1], np.nan)
        squares = np.sum(np.abs(x - np.mean(x, axis=-1, keepdims=True)) ** 2, axis=-1)
        if x.shape[-1] == 1:
            squares = np.where(np.isfinite(squares), 0, squares)
        return squares / max(x.shape[-1] - ddof, 0)

    def norm(self, x, p):
        size = np.abs(x)
        if p == 0:
            return np.sum(x != 0, axis=-1).astype(size.dtype)
        if np.isinf(p):
            return np.max(size, axis=-1, initial=0) if p > 0 else np.min(size, axis=-1, initial=np.inf)
        one = size.dtype.type(1)
        if p == 1:
            return self.sum(size, None)
        if p == 2:
            return np.sqrt(self.sum(size * size, None))
        p = size.dtype.type(p)
        total = self.sum(self.function('^', np.power, size, p), None)
        return self.function('^', np.power, total, one / p)

    def exponentials(self, x):
        """The largest, and the sum of exp(x - the largest); 0 in a row of nothing but -inf."""
        top = np.max(x, axis=-1, initial=-np.inf)
        return top, self.sum(self.exp(x - masked(top)[..., None]), None)

    def exp(self, x):
        return self.function('exp', np.exp, x)

    def logsumexp(self, x):
        top, total = self.exponentials(x)
        value = top + self.function('log', np.log, total)
        return np.where(np.isposinf(top), top, np.where(np.isneginf(top), top, value)).astype(x.dtype)

    def softmax(self, x):
        top, total = self.exponentials(x)
        value = self.exp(x - masked(top)[..., None]) / total[..., None]
        return np.where(np.isneginf(top)[..., None], np.zeros_like(x), value).astype(x.dtype)

    def log_softmax(self, x):
        top, total = self.exponentials(x)
        value = x - masked(top)[..., None] - self.function('log', np.log, total)[..., None]
        return np.where(np.isneginf(top)[..., None], top[..., None], value).astype(x.dtype)


class Working(Exact):
    """As a kernel computes: in each term's dtype, in some order."""

    def __init__(self, random):
        self.random = random        # numpy's RandomState

    def number(self, dtype):
        kind = KIND[dtype]
        return np.float64 if dtype in NARROW else NUMPY[dtype] if kind >= FLOAT else [np.bool_, np.int64][kind]

    def to_float(self, x, target):
        if target in NARROW:
            return round_float(x.astype(np.float64), *NARROW[target])
        return x.astype(NUMPY[target])

    def function(self, name, function, *arguments):
        """Off by what compiler/ops.h allows, but for zeros, and for "^" where it is a product."""
        ulp, dtype = ULPS.get(name, 0), np.asarray(arguments[0]).dtype
        if dtype.kind != 'f' or ulp <= 0.5 or self.random.rand() < 0.3:
            return np.asarray(function(*arguments))
        value = np.asarray(function(*[np.asarray(a, np.float64) for a in arguments])).astype(dtype)
        ulp -= 0.5 if dtype == np.float32 else 2    # numpy's own error in float64
        with np.errstate(all='ignore'):
            wrong = value + np.spacing(np.abs(value)) * self.random.uniform(-ulp, ulp, value.shape).astype(dtype)
        keep = ~np.isfinite(wrong) | (value == 0) | (ulp < 0)
        if name == '^':
            keep = keep | (arguments[1] == 1) | (arguments[1] == 2)
        return np.where(keep, value, wrong)

    def shuffled(self, x):
        if self.random.rand() < 0.5:
            return x
        return x[..., self.random.permutation(x.shape[-1])]

    def sum(self, x, dtype):
        if x.dtype.kind not in 'fc' or x.shape[-1] == 0:
            return np.sum(x, axis=-1)
        x = self.shuffled(x)
        way = self.random.randint(3)
        if way == 0:
            return np.sum(x, axis=-1)
        if way == 1:
            return np.cumsum(x, axis=-1)[..., -1]
        half = x.shape[-1] // 2
        if not half:
            return x[..., 0]
        return np.cumsum(x[..., :half], axis=-1)[..., -1] + np.cumsum(x[..., half:], axis=-1)[..., -1]

    def prod(self, x, dtype):
        if x.dtype.kind not in 'fc':
            return np.prod(x, axis=-1)
        return np.prod(self.shuffled(x), axis=-1)

    def mean(self, x, dtype):
        total, n = self.sum(x, dtype), x.shape[-1]
        if self.random.rand() < 0.5 or not n:
            return by_part(np.divide, total, n)
        return by_part(lambda part, count: part * (part.dtype.type(1) / part.dtype.type(count)), total, n)

    def var(self, x, ddof):
        n = x.shape[-1]
        size = np.abs(x[..., :0]).dtype.type
        if n == 0 or self.random.rand() < 0.3:
            mean = self.sum(x, None) / x.dtype.type(max(n, 1)) if n != 1 else x[..., 0]
            apart = np.abs(x - mean[..., None])
            squares = self.sum(apart * apart, None) if n else np.full(x.shape[:-1], size(0))
        elif self.random.rand() < 0.5:
            _, squares, _ = welford(x)
        else:
            half = n // 2
            squares = merge_moments(welford(x[..., :half]), welford(x[..., half:]))[1]
        return squares / size(max(n - ddof, 0))

    def exponentials(self, x):
        if self.random.rand() < 0.4 or x.shape[-1] == 0:
            return super().exponentials(x)
        x = self.shuffled(x)
        top = np.full(x.shape[:-1], -np.inf, x.dtype)
        total = np.zeros(x.shape[:-1], x.dtype)
        for k in range(x.shape[-1]):
            new = np.maximum(top, x[..., k])
            total = total * self.exp(top - masked(new)) + self.exp(x[..., k] - masked(new))
            top = new
        return top, total


def welford(x):
    """Count, squared distances and mean, one element after the other."""
    mean = np.zeros(x.shape[:-1], x.dtype)
    squares = np.abs(mean)
    for k in range(x.shape[-1]):
        apart = x[..., k] - mean
        mean = mean + apart / x.dtype.type(k + 1) if k else x[..., k]
        squares = squares + (apart * np.conj(x[..., k] - mean)).real if k else np.abs(x[..., k] - mean)
    return x.shape[-1], squares, mean


def merge_moments(a, b):
    if not a[0] or not b[0]:
        return b if b[0] else a
    n = a[0] + b[0]
    kind = a[1].dtype.type
    apart = np.abs(b[2] - a[2])
    return n, a[1] + b[1] + apart * apart * kind(kind(a[0]) * kind(b[0]) / kind(n)), None
