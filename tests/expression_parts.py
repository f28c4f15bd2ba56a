"""Random parts of programs: data, operands, positions and expressions.

Each part is computed by numpy as it is made, so that its axes and its dtype are known and what einc refuses by rule is
never built.
"""

import math
import random

import numpy as np

from expression_arithmetic import bf16_of_bits, bits_of_bf16, wrap
from expression_rules import BITS, COMPLEX, INT, KIND, NUMPY, Refused
from expression_tree import At, Call, Constant, Index, Number, Position, Read, Tensor, Value
from expression_values import Exact, Runner

SIZE_MAX = 1500                     # elements of one term
NAMES = 'Q D W1 X Y2 len start bias mask data dist m0 K V acc lse Qs x1 seq_len'.split()
LONG = 'batch seq dim head tok h0 out_row n2'.split()
LETTERS = 'abcdefghijklmnopqrstuvwxyz' + 'ABNZ' + '\u03b1\u03b2\u00c0'

UNARY = '''neg abs sign sqrt rsqrt square recip exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh
    tanh sigmoid softplus relu gelu silu erf floor ceil round trunc isnan isinf isfinite real imag conj !'''.split()
BINARY = '+ + + + - - - * * * * / / ^ min max atan2 mod < <= > >= == != && || complex'.split()
GENTLE = 'neg abs sign square sin cos atan tanh sigmoid softplus relu gelu silu erf floor round'.split()
CASTS = 'f16 bf16 f32 f64 c64 c128 i8 i16 i32 i64 bool'.split()
DTYPES = 'f32 f32 f32 f32 f32 f64 f16 bf16 i8 i16 i32 i64 bool c64 c128'.split()


# ---- data ----

def special(values, state):
    """Some NaN, infinities and zeros of both signs among the numbers."""
    flat = values.reshape(-1)
    for k in range(flat.size):
        if state.rand() < 0.15:
            flat[k] = [np.nan, np.inf, -np.inf, -0.0, 0.0][state.randint(5)]
    return values


def random_data(dtype, shape, state, style):
    """An array as expression_arithmetic.py holds it, with values that the dtype holds."""
    kind = KIND[dtype]
    if dtype == 'bool':
        return state.rand(*shape) < 0.5 if shape else np.asarray(state.rand() < 0.5)
    if kind == INT:
        top = 2 ** min(BITS[dtype] - 1, 62)
        x = state.randint(-top, top, shape) if style == 'wild' else state.randint(-5, 6, shape)
        return wrap(np.asarray(x, np.int64), dtype)
    if style == 'whole':
        x = state.randint(-4, 5, shape).astype(np.float64)
    elif style == 'quarters':
        x = state.randint(-9, 10, shape) / 4.0
    elif style == 'positive':
        x = state.uniform(0.1, 3, shape)
    else:
        x = state.normal(0, 1, shape) * (10.0 ** state.randint(-12, 13, shape) if style == 'wild' else 1)
    x = np.asarray(x)
    if kind == COMPLEX:
        x = x + 1j * np.asarray(random_data('f64', shape, state, style))
    elif style == 'special':
        x = special(x, state)
    if dtype == 'bf16':
        return np.asarray(bf16_of_bits(bits_of_bf16(x))).reshape(shape)
    with np.errstate(over='ignore'):
        return x.astype(NUMPY[dtype])


# ---- parts with what numpy makes of them ----

class Part:
    """A node and its Term."""

    def __init__(self, node, term):
        self.node = node
        self.term = term


class PartGenerator:
    """Makes parts of one statement; `indices`, `tensors` and `runner` outlive it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.state = np.random.RandomState(self.random.randrange(2 ** 32))
        self.runner = Runner(Exact())
        self.style = self.pick({'letters': 6, 'named': 3, 'long': 1})
        self.data_style = self.pick({'normal': 5, 'whole': 3, 'quarters': 2, 'special': 2, 'positive': 2, 'wild': 0.4})
        self.dtypes = [self.random.choice(DTYPES) for _ in range(self.random.randint(1, 3))]
        self.indices = []
        self.dots = []              # of the statement: what "..." stands for
        self.tensors = []           # named inputs, to be read again
        self.value = None           # a Part: "_"

    # -- choices --

    def chance(self, p):
        return self.random.random() < p

    def pick(self, weights):
        return self.random.choices(list(weights), list(weights.values()))[0]

    def some(self, items, least=1, most=None):
        count = self.random.randint(least, min(len(items), most or len(items)))
        return self.random.sample(items, count)

    # -- indices --

    def new_index(self, extent=None):
        names = LONG if self.style == 'long' else LETTERS
        free = [n for n in names if n not in [i.name for i in self.indices]]
        if extent is None:
            extent = self.pick({0: 0.15, 1: 1, 2: 4, 3: 4, 4: 2, 5: 3, 7: 2, 11: 0.7})
        if not free:
            raise Refused('no name is left')
        index = Index(self.random.choice(free), extent)
        self.indices.append(index)
        return index

    def index(self):
        if len(self.indices) < 2 or (len(self.indices) < 5 and self.chance(0.2)):
            return self.new_index()
        return self.random.choice(self.indices)

    def index_of(self, extent):
        """One that a made tensor's axis of this size can have."""
        same = [i for i in self.indices if i.extent == extent]
        if same and (self.chance(0.8) or len(self.indices) > 7):
            return self.random.choice(same)
        return self.new_index(extent)

    # -- operands --

    def new_tensor(self, name, dtype, shape, data=None):
        if data is None:
            data = random_data(dtype, shape, self.state, self.data_style)
        tensor = Tensor(name, dtype, tuple(shape), data)
        tensor.by_name = name is not None and self.chance(0.3)
        return tensor

    def new_name(self):
        taken = {t.name for t in self.tensors} | set(self.runner.made)
        free = [n for n in NAMES if n not in taken]
        return self.random.choice(free or ['T%d' % len(taken)])

    def sizes(self, indices):
        """Sizes of axes for these indices: now and then 1, which is broadcast."""
        return [1 if self.chance(0.04) else i.extent for i in indices]

    def plain_read(self, most=3):
        count = self.pick({0: 0.3, 1: 4, 2: 5, 3: 2})
        indices = []
        for _ in range(min(count, most)):
            index = self.index()
            if index not in indices or self.chance(0.15):
                indices.append(index)
        named = self.style != 'letters' or not indices
        dtype = self.random.choice(self.dtypes)
        again = [t for t in self.tensors if len(t.shape) == len(indices)
                 and all(s in (1, i.extent) for s, i in zip(t.shape, indices))]
        if named and again and self.chance(0.4):
            tensor = self.random.choice(again)
        else:
            tensor = self.new_tensor(self.new_name() if named else None, dtype, self.sizes(indices))
            if named:
                self.tensors.append(tensor)
        return Read(tensor, [Position([(1, i)]) for i in indices], annotated=self.chance(0.08))

    def made_read(self):
        name = self.random.choice(list(self.runner.made))
        term = self.runner.made[name]
        tensor = Tensor(name, None)
        positions = []
        for size in term.value.shape:
            index = self.index_of(size)
            positions.append(Position([(1, index)]))
        return Read(tensor, positions)

    def range_of(self, parts, constant):
        low = high = constant
        for coefficient, index in parts:
            reach = coefficient * (index.extent - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def affine(self):
        """Parts and a constant that keep the position at 0 or above, and its least size; not a plain position."""
        indices = list(dict.fromkeys([self.index(), self.index()]))[:self.random.randint(1, 2)]
        parts = [(self.random.choice([1, 1, 1, 2, 3, -1]), i) for i in indices]
        if any(i.extent == 0 for i in indices):
            parts = [(abs(c), i) for c, i in parts]
        low, high = self.range_of(parts, 0)
        constant = -low if low < 0 else self.random.choice([0, 0, 1, 2])
        if Position(parts, constant).plain:
            constant = 1
        return parts, constant, max(high + constant + 1, 1)

    def gather(self, size):
        """A read of integers that stay within the size (but seldom do not)."""
        indices = self.some(list({self.index(): 0, self.index(): 0}), most=2)
        top = size if self.chance(0.97) else size + 1
        shape = [i.extent for i in indices]
        dtype = self.random.choice(['i8', 'i16', 'i32', 'i64', 'i64'])
        data = self.state.randint(0, max(top, 1), shape).astype(np.int64)
        tensor = self.new_tensor(self.new_name(), dtype, shape, np.asarray(data))
        self.tensors.append(tensor)
        return Read(tensor, [Position([(1, i)]) for i in indices])

    def position(self):
        """A position, and a size of the axis that holds it."""
        way = self.pick({'plain': 4, 'affine': 4, 'gather': 3, 'packed': 1.5, 'constant': 0.5})
        if way == 'plain':
            index = self.index()
            return Position([(1, index)]), index.extent
        if way == 'constant':
            size = self.random.randint(1, 4)
            return Position([], self.random.randrange(size)), size
        if way == 'affine':
            parts, constant, size = self.affine()
            return Position(parts, constant), size + self.random.choice([0, 0, 1])
        size = self.random.randint(1, 6)
        gather = self.gather(size)
        if way == 'gather':
            return Position([(1, gather)]), size
        index = self.index()
        return Position([(1, gather), (1, index)]), size + max(index.extent - 1, 0)

    def computed_read(self):
        """A named tensor at computed positions."""
        positions, shape = [], []
        for _ in range(self.pick({1: 3, 2: 3, 3: 1})):
            position, size = self.position()
            positions.append(position)
            shape.append(size)
        tensor = self.new_tensor(self.new_name(), self.random.choice(self.dtypes), shape)
        self.tensors.append(tensor)
        return Read(tensor, positions)

    def offset_of(self, parts, constant):
        """The expression of a position."""
        at = None
        for coefficient, index in parts:
            number = Number(str(abs(coefficient)))
            number = number if coefficient > 0 else Call('neg', number)
            term = At(index) if coefficient == 1 else Call('*', number, At(index))
            at = Call('+', at, term) if at else term
        if constant:
            at = Call('+' if constant > 0 else '-', at, Number(str(abs(constant))))
        return at

    def guarded_affine(self):
        """What padding is made of: where an affine position is inside, and a read there."""
        parts, constant, size = self.affine()
        constant -= self.random.randint(0, 2)
        if Position(parts, constant).plain:
            constant -= 1
        size = max(1, size - self.random.randint(0, 3))
        at = self.offset_of(parts, constant)
        least = Call('neg', Number('1')) if self.chance(0.02) else Number('0')    # too little, so that a read may fail
        inside = Call('&&', Call('>=', at, least), Call('<', at, Number(str(size))))
        return inside, Position(parts, constant), size

    def guarded_gather(self):
        """What ignored labels are made of: where a label is no -1, and a read there."""
        size = self.random.randint(1, 5)
        gather = self.gather(size)
        if gather.tensor.data.size:
            gather.tensor.data.flat[self.random.randrange(gather.tensor.data.size)] = -1
        return Call('>=', gather, Number('0')), Position([(1, gather)]), size

    def guarded_read(self):
        inside, position, size = self.guarded_affine() if self.chance(0.6) else self.guarded_gather()
        tensor = self.new_tensor(self.new_name(), self.random.choice(self.dtypes), [size])
        self.tensors.append(tensor)
        other = self.random.choice([Number('0'), Number('1'), Call('neg', Constant('inf'))])
        read = Read(tensor, [position])
        return Call('where', inside, read, other) if self.chance(0.8) else Call('where', Call('!', inside), other, read)

    def read(self):
        ways = {'plain': 6}
        if self.style != 'letters' or self.chance(0.15):
            ways['computed'] = 2
            ways['guarded'] = 0.7
            ways['made'] = 5 if self.runner.made else 0
        way = self.pick(ways)
        if way == 'computed' and len(self.tensors) > 9:
            way = 'plain'
        return getattr(self, way + '_read')()

    # -- expressions --

    def part(self, node):
        term = self.runner.term(node)
        if term.value.size > SIZE_MAX or math.prod(a.extent or 1 for a in term.axes) > SIZE_MAX:
            raise Refused('too large')
        return Part(node, term)

    def number(self):
        text = self.random.choice(['0', '1', '2', '2', '3', '7', '0.5', '1.5', '2.', '.25', '1e-1', '0.1', '100'])
        node = Number(text)
        return Call('neg', node) if self.chance(0.25) else node

    def leaf(self):
        if self.value and self.chance(0.3):
            return Part(Value(), self.value.term)
        way = self.pick({'read': 7, 'number': 1.5, 'at': 0.8, 'constant': 0.15})
        if way == 'number':
            return self.part(self.number())
        if way == 'at':
            return self.part(At(self.index()))
        if way == 'constant':
            return self.part(Constant(self.random.choice(['inf', 'nan', 'pi', 'pi'])))
        return self.part(self.read())

    def call(self, function, *parts):
        nodes = [p.node for p in parts]
        if function == '^' and max(p.term.kind for p in parts) <= INT and parts[1].term.weak and \
                np.any(parts[1].term.value < 0):
            raise Refused('an integer has no negative integer power')
        terms = [p.term for p in parts]
        if function == 'where':
            term = self.runner.where(*terms)
        elif function in KIND:
            if terms[0].kind == COMPLEX and KIND[function] < COMPLEX and function != 'bool':
                raise Refused('a complex number does not become real')
            term = self.runner.cast(terms[0], function)
        else:
            term = self.runner.apply(function, terms)
        if math.prod(a.extent or 1 for a in term.axes) > SIZE_MAX:
            raise Refused('too large')
        return Part(Call(function, *nodes), term)

    def compound(self, depth):
        way = self.pick({'unary': 3, 'gentle': 2, 'binary': 6, 'where': 1, 'clamp': 0.3, 'cast': 0.8})
        if way in ('unary', 'gentle'):
            return self.call(self.random.choice(UNARY if way == 'unary' else GENTLE), self.expression(depth - 1))
        if way == 'binary':
            return self.call(self.random.choice(BINARY), self.expression(depth - 1), self.expression(depth - 1))
        if way == 'cast':
            return self.call(self.random.choice(CASTS), self.expression(depth - 1))
        parts = [self.expression(depth - 1) for _ in range(3)]
        return self.call(way, *parts)

    def expression(self, depth):
        for _ in range(8):
            try:
                return self.leaf() if depth <= 0 or self.chance(0.25) else self.compound(depth)
            except Refused:
                pass
        return self.part(Number('1'))

    def condition(self):
        """What masks, ragged lengths, windows and labels are made of."""
        axes = [a for a in self.value.term.axes if a.name] or [self.index()]
        i, j = self.random.choice(axes), self.random.choice(axes)
        way = self.pick({'length': 3, 'causal': 2, 'window': 1, 'any': 2})
        if way == 'length':
            lengths = self.new_tensor(self.new_name(), self.random.choice(['i32', 'i64', 'i8']), [j.extent],
                                      self.state.randint(0, i.extent + 1, [j.extent]).astype(np.int64))
            self.tensors.append(lengths)
            return self.part(Call(self.random.choice(['<', '<', '<=']), At(i), Read(lengths, [Position([(1, j)])])))
        if way == 'causal':
            return self.part(Call(self.random.choice(['>=', '<=', '>']), At(i), At(j)))
        if way == 'window':
            return self.part(Call('<=', Call('abs', Call('-', At(i), At(j))), Number('1')))
        return self.expression(2)
