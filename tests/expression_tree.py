"""Trees of einc programs, and the text that einc reads.

A tree is what is meant; the text is one way to write it, chosen at random among those that mean the same: spaces,
parentheses, an implicit "_", newlines and comments.
"""

FUNCTIONS = set('''abs neg sign sqrt rsqrt square recip exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan
    atan2 sinh cosh tanh sigmoid softplus relu gelu silu erf pow min max clamp floor ceil round trunc mod where isnan
    isinf isfinite real imag conj complex f16 bf16 f32 f64 c64 c128 i8 i16 i32 i64 bool'''.split())
REDUCTIONS = set('''sum prod max min mean any all norm var std logsumexp argmax argmin topk bottomk argtopk argbottomk
    softmax log_softmax cumsum cumprod cummax cummin'''.split())
KEEPING = {'softmax', 'log_softmax', 'cumsum', 'cumprod', 'cummax', 'cummin'}
RANKING = {'topk', 'bottomk', 'argtopk', 'argbottomk'}
RESERVED = FUNCTIONS | REDUCTIONS | {'inf', 'nan', 'pi'}


class Index:
    """An index variable. One whose name is None is one of the dimensions that "..." stands for."""

    def __init__(self, name, extent):
        self.name = name
        self.extent = extent

    def __repr__(self):
        return '%s=%d' % (self.name or '...', self.extent)


class Tensor:
    """An operand, or what a statement makes. `data` of an operand is an array as expression_values.py holds it."""

    def __init__(self, name, dtype, shape=None, data=None):
        self.name = name            # None: an operand of letters
        self.dtype = dtype          # None: what its statement makes it
        self.shape = shape
        self.data = data
        self.by_name = False        # passed as NAME=file
        self.old = None             # what a `+=` to this name adds to, if the caller passes something


# ---- expressions ----

class Number:
    """An unsigned number; `text` is how it is written."""

    def __init__(self, text):
        self.text = text
        self.value = int(text) if text.isdigit() else float(text)


class Constant:
    def __init__(self, name):
        self.name = name            # inf, nan, pi


class Value:
    """_"""


class At:
    def __init__(self, index):
        self.index = index


class Read:
    """A tensor at positions. `dots`: how many positions, from `dots_at` on, are written "..."."""

    def __init__(self, tensor, positions, dots_at=None, dots=0, annotated=False):
        self.tensor = tensor
        self.positions = positions
        self.dots_at = dots_at
        self.dots = dots
        self.annotated = annotated  # its dtype is written


class Position:
    """constant + the sum of coefficient * (Index or Read)"""

    def __init__(self, parts, constant=0):
        self.parts = parts
        self.constant = constant

    @property
    def plain(self):
        return (len(self.parts) == 1 and self.constant == 0 and self.parts[0][0] == 1
                and isinstance(self.parts[0][1], Index))


class Call:
    """A function, an operator or a cast."""

    def __init__(self, function, *arguments):
        self.function = function
        self.arguments = arguments


# ---- chains ----

class Arrow:
    def __init__(self, indices, dtype=None):
        self.indices = indices
        self.dtype = dtype


class Reduce:
    def __init__(self, name, indices, parameter=None, ranks=None):
        self.name = name
        self.indices = indices
        self.parameter = parameter
        self.ranks = ranks          # of topk: the index that takes the place of the reduced one


class Step:
    """A stage that is an expression, or factors between commas, or an arrow alone (no factors)."""

    def __init__(self, factors, arrow=None):
        self.factors = factors
        self.arrow = arrow


class Chain:
    def __init__(self, factors, arrow=None, stages=(), also=()):
        self.factors = factors
        self.arrow = arrow
        self.stages = list(stages)
        self.also = list(also)      # the reductions that "&" joins at the end


class Statement:
    def __init__(self, chain, tensor=None, positions=None, dtype=None, accumulate=False):
        self.chain = chain
        self.tensor = tensor        # None: the result without a name
        self.positions = positions  # None: the target is a name alone
        self.dtype = dtype
        self.accumulate = accumulate


class Program:
    def __init__(self, statements, given=None):
        self.statements = statements
        self.given = given or {}    # the extents that einc is told

    def operands(self):
        """The inputs in order of first appearance, then the arrays that `+=` adds to."""
        made = {s.tensor.name for s in self.statements if s.tensor}
        inputs, old = [], []
        for node in walk(self):
            if isinstance(node, Read) and node.tensor.name not in made - {None} and node.tensor not in inputs:
                inputs.append(node.tensor)
        for s in self.statements:
            if s.accumulate and s.tensor.old is not None and s.tensor.old not in old:
                old.append(s.tensor.old)
        return inputs, old


def walk_positions(positions):
    for position in positions or ():
        for _, part in position.parts:
            if isinstance(part, Read):
                yield from walk_expression(part)


def walk_expression(node):
    yield node
    if isinstance(node, Read):
        yield from walk_positions(node.positions)
    elif isinstance(node, Call):
        for argument in node.arguments:
            yield from walk_expression(argument)


def walk_outside_where(statement):
    """The reads that no branch of a where holds, gathers too."""
    def visit(node):
        if isinstance(node, Read):
            yield from (n for n in walk_expression(node) if isinstance(n, Read))
        for k, argument in enumerate(node.arguments if isinstance(node, Call) else ()):
            if node.function != 'where' or k == 0:
                yield from visit(argument)
    yield from (n for n in walk_positions(statement.positions) if isinstance(n, Read))
    for factor in statement.chain.factors:
        yield from visit(factor)
    for stage in statement.chain.stages:
        for factor in stage.factors if isinstance(stage, Step) else ():
            yield from visit(factor)


def walk(program):
    """All nodes of expressions, in the order of the text."""
    for statement in program.statements:
        yield from walk_positions(statement.positions)
        for factor in statement.chain.factors:
            yield from walk_expression(factor)
        for stage in statement.chain.stages:
            for factor in stage.factors if isinstance(stage, Step) else ():
                yield from walk_expression(factor)


# ---- text ----

BARE, OR, AND, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)
OPERATORS = {'||': OR, '&&': AND, '<': COMPARE, '<=': COMPARE, '>': COMPARE, '>=': COMPARE, '==': COMPARE,
             '!=': COMPARE, '+': SUM, '-': SUM, '*': PRODUCT, '/': PRODUCT, '^': POWER}


class Writer:
    """Writes a program; `random` decides among ways that mean the same."""

    def __init__(self, random):
        self.random = random
        self.reserved = RESERVED    # words that are no letters here
        self.long_names = False     # the statement has an index of several letters

    def chance(self, p):
        return self.random.random() < p

    # -- words --

    def letters(self, names):
        """Indices or "..." as one or more words."""
        if not names:
            return ''
        if self.long_names:
            return ' '.join(names)
        words, last = [], None
        for name in names:
            apart = last is None or self.chance(0.1)
            if apart:
                words.append(name)
            else:
                words[-1] += name
            last = name
        if any(w in self.reserved for w in words):
            words = list(names)
        return ' '.join(words)

    def index_names(self, indices):
        names = []
        for index in indices:
            name = index.name or '...'
            if name != '...' or '...' not in names:
                names.append(name)
        return names

    def index_list(self, indices):
        """Behind an arrow or a reduction."""
        names = self.index_names(indices)
        if self.chance(0.1):
            return '[%s]' % ', '.join(names)
        if names and self.chance(0.1):
            return ', '.join(names)
        return self.letters(names)

    def dtype(self, dtype):
        return '' if dtype is None else (': ' if self.chance(0.1) else ':') + dtype

    # -- operands --

    def part(self, coefficient, part):
        text = part.name if isinstance(part, Index) else self.read(part)
        if coefficient == 1:
            return text
        if self.chance(0.2):
            return '%s*%d' % (text, coefficient)
        return '%d*%s' % (coefficient, text)

    def position(self, position):
        terms = [(c < 0, self.part(abs(c), p)) for c, p in position.parts]
        if position.constant or not terms:
            at = self.random.randrange(len(terms) + 1)
            terms.insert(at, (position.constant < 0, str(abs(position.constant))))
        text = ''
        for k, (negative, term) in enumerate(terms):
            sign = '-' if negative else '+' if k else ''
            text += ' %s ' % sign if sign and k and self.chance(0.3) else sign
            text += term
        same = {c for c, _ in position.parts}
        if len(position.parts) > 1 and same == {2} and not position.constant:
            return '2*(%s)' % '+'.join(self.part(1, p) for _, p in position.parts)
        return text

    def read(self, read):
        dtype = self.dtype(read.tensor.dtype) if read.annotated else ''
        positions = list(read.positions)
        if read.dots_at is not None:
            positions[read.dots_at:read.dots_at + read.dots] = ['...']
        if read.tensor.name is None:
            names = [p if p == '...' else p.parts[0][1].name for p in positions]
            return self.letters(names) + dtype
        comma = ', ' if self.chance(0.3) else ','
        written = comma.join(p if p == '...' else self.position(p) for p in positions)
        return '%s[%s]%s' % (read.tensor.name, written, dtype)

    # -- expressions --

    def call(self, node):
        """Text and precedence."""
        name, arguments = node.function, node.arguments
        if name in OPERATORS and len(arguments) == 2:
            own = OPERATORS[name]
            left, right = own, own + 1
            if own == COMPARE:
                left += 1
            if own == POWER:
                left, right = POWER + 1, POWER
            sign = ' %s ' % name if self.chance(0.8) or own <= COMPARE else name
            return self.expression(arguments[0], left) + sign + self.expression(arguments[1], right), own
        if name in ('neg', '!') and (name == '!' or self.chance(0.8)):
            return {'neg': '-', '!': '!'}[name] + self.expression(arguments[0], SIGN), SIGN
        comma = ', ' if self.chance(0.8) else ','
        return '%s(%s)' % ({'^': 'pow'}.get(name, name), comma.join(self.expression(a, OR) for a in arguments)), ATOM

    def expression(self, node, least):
        """`least`: the precedence that needs no parentheses."""
        precedence = ATOM
        if isinstance(node, Number):
            text = node.text
        elif isinstance(node, Constant):
            text = node.name
        elif isinstance(node, Value):
            text = '_'
        elif isinstance(node, At):
            text = '@' + node.index.name
        elif isinstance(node, Read):
            text = self.read(node)
        else:
            text, precedence = self.call(node)
        spare = text and least != BARE and self.chance(0.03)
        return '(%s)' % text if precedence < least or spare else text

    def factors(self, factors):
        # Operands of letters in parentheses are no subscript string.
        letters = all(isinstance(f, Read) and f.tensor.name is None for f in factors)
        texts = []
        for factor in factors:
            text = self.expression(factor, BARE if letters else OR)
            if isinstance(factor, Constant):
                text = '(%s)' % text.strip('()')    # a word alone is an operand
            texts.append(text)
        return (', ' if self.chance(0.3) else ',').join(texts)

    # -- chains --

    def arrow(self, arrow):
        return '->' + (' ' if self.chance(0.3) else '') + self.index_list(arrow.indices) + self.dtype(arrow.dtype)

    def reduction(self, stage):
        parameter = '' if stage.parameter is None else '(%s)' % stage.parameter
        indices = self.index_list(stage.indices) or '[]'
        return '%s%s %s' % (stage.name, parameter, indices)

    def step(self, step):
        if not step.factors:
            return self.arrow(step.arrow)
        only = step.factors[0]
        if (len(step.factors) == 1 and not step.arrow and isinstance(only, Call) and len(only.arguments) == 1
                and isinstance(only.arguments[0], Value) and only.function != '!' and self.chance(0.7)):
            return only.function
        text = self.factors(step.factors)
        others = sum(isinstance(n, Value) for f in step.factors for n in walk_expression(f)) - 1
        for operator in sorted(list(OPERATORS) + [','], key=len, reverse=True):
            rest = text[1:].lstrip()
            if text.startswith('_') and rest.startswith(operator):
                if self.chance(0.6) and not (operator == '-' and others):
                    text = rest
                break
        return text + (' ' + self.arrow(step.arrow) if step.arrow else '')

    def chain(self, chain):
        text = self.factors(chain.factors)
        if chain.arrow:
            text += (' ' if self.chance(0.3) else '') + self.arrow(chain.arrow)
        for stage in chain.stages:
            text += self.bar() + (self.reduction(stage) if isinstance(stage, Reduce) else self.step(stage))
        if chain.also:
            text += self.bar() + ' & '.join(self.reduction(r) for r in chain.also)
        return text

    def bar(self):
        return '\n  | ' if self.chance(0.05) else ' | '

    # -- statements --

    def statement(self, statement):
        indices = [part for p in statement_positions(statement) for _, part in p.parts if isinstance(part, Index)]
        self.long_names = any(len(i.name or 'x') > 1 for i in indices)
        text = ''
        if statement.tensor:
            text = statement.tensor.name
            if statement.positions is not None:
                text += '[%s]' % ','.join(self.position(p) for p in statement.positions)
            text += self.dtype(statement.dtype) + (' += ' if statement.accumulate else ' = ')
        return text + self.chain(statement.chain)

    def program(self, program):
        text = ''
        self.reserved = RESERVED | {node.tensor.name for node in walk(program) if isinstance(node, Read)} | {
            s.tensor.name for s in program.statements if s.tensor}
        for k, statement in enumerate(program.statements):
            following = self.statement(statement)
            if k:
                # A newline beside an operator or an arrow ends nothing.
                goes_on = text.rstrip().endswith(('->', ',')) or following[:1] in ('-', ',')
                text += self.random.choice(['; ', ' ; '] if goes_on else ['; ', ' ; ', '\n', '\n\n', '  # the next\n'])
            text += following
        return text


def statement_positions(statement):
    """All positions in brackets, of targets, operands and gathers."""
    yield from statement.positions or ()
    for node in walk(Program([statement])):
        if isinstance(node, Read) and node.tensor.name is not None:
            yield from node.positions


def text_of(program, random):
    return Writer(random).program(program)
