"""Random programs: chains and statements of random parts. The same seed gives the same program, on any machine."""

import math

import numpy as np

from expression_parts import BINARY, CASTS, GENTLE, SIZE_MAX, UNARY, Part, PartGenerator
from expression_rules import COMPLEX, KIND, Refused
from expression_tree import (RANKING, Arrow, At, Call, Chain, Constant, Index, Number, Position, Program, Read, Reduce,
                             Statement, Step, Tensor, Value, statement_positions, walk, walk_outside_where)

REDUCTIONS = '''sum sum sum prod max max min mean any all norm var std logsumexp argmax argmin softmax log_softmax
    cumsum cumprod cummax cummin topk bottomk argtopk argbottomk'''.split()
ORDERED = set('max min logsumexp argmax argmin softmax log_softmax cummax cummin'.split()) | RANKING
JOINS = {'*': ['sum'], '+': ['max', 'min', 'logsumexp'], 'min': ['max'], 'max': ['min'], '&&': ['any'], '||': ['all']}
LEAST, GREATEST = Call('neg', Constant('inf')), Constant('inf')
IDENTITY = {'sum': Number('0'), 'prod': Number('1'), 'max': LEAST, 'min': GREATEST, 'logsumexp': LEAST,
            'softmax': LEAST, 'any': Number('0'), 'mean': Number('0'), 'argmax': LEAST}


class Generator(PartGenerator):
    """Makes one program."""

    def __init__(self, seed):
        super().__init__(seed)
        self.given = {}             # the extents that einc is told
        self.joined = None          # of the statement: what joins the factors of its head, where one reduction follows
        self.ranks = {}             # of the statement: what topk leaves -> the index whose name it takes

    # -- stages --

    def with_value(self):
        """An expression that has "_" in it."""
        me = Part(Value(), self.value.term)
        way = self.pick({'apply': 4, 'gentle': 3, 'cast': 1, 'binary': 6, 'twice': 1, 'mask': 2})
        if way in ('apply', 'gentle'):
            return self.call(self.random.choice(UNARY if way == 'apply' else GENTLE), me)
        if way == 'cast':
            return self.call(self.random.choice(CASTS), me)
        if way == 'twice':
            return self.call(self.random.choice(BINARY), me, self.call(self.random.choice(GENTLE), me))
        if way == 'mask':
            other = self.expression(0)
            pair = [me, other] if self.chance(0.8) else [other, me]
            return self.call('where', self.condition(), *pair)
        pair = [me, self.expression(self.random.randint(0, 2))]
        return self.call(self.random.choice(BINARY), *(pair if self.chance(0.7) else pair[::-1]))

    def arrow(self, axes, dtype=None):
        """Some of the axes, in any order; of "..." all or nothing."""
        named = [a for a in axes if a.name]
        kept = self.some(named, 0)
        if self.chance(0.4):
            kept = self.random.sample(named, len(named))
        dots = [a for a in self.dots if a in axes]
        if dots and self.chance(0.9):
            at = self.random.randint(0, len(kept))
            kept[at:at] = dots
        return Arrow(kept, dtype)

    def declared_dtype(self, term):
        """A dtype behind an arrow or a target."""
        if not self.chance(0.15):
            return None
        dtypes = ['f32', 'f64', 'f16', 'bf16', 'i32', 'i64', 'c64', 'bool', 'i8']
        return self.random.choice([d for d in dtypes if term.kind < COMPLEX or KIND[d] == COMPLEX or d == 'bool'])

    def reduction(self, axes, names=REDUCTIONS):
        name = self.random.choice(names)
        term = self.value.term
        named = [a for a in axes if a.name]
        if term.kind == COMPLEX and name in ORDERED:
            raise Refused('complex')
        if name in RANKING:
            named = [a for a in named if a.extent]
            if not named:
                raise Refused('no index')
            index = self.random.choice(named)
            k = self.random.randint(1, index.extent)
            return Reduce(name, [index], str(k), Index(index.name, k))
        over = self.some(named, 1, 3) if named else []
        dots = [a for a in self.dots if a in axes]
        if dots and (not over or self.chance(0.2)):
            over += dots
        if not over and self.chance(0.9):
            raise Refused('no index')
        if name in ('norm', 'var', 'std'):
            choices = ['1', '2', '3', 'inf', '-inf', '0', '0.5', '2.5', '-1']
            if name != 'norm':
                choices = ['0', '1', '2', '0.5']
            return Reduce(name, over, self.random.choice(choices) if self.chance(0.6) else None)
        return Reduce(name, over)

    def rename(self, stage):
        """Behind topk the name of its index means the ranks."""
        if isinstance(stage, Reduce) and stage.ranks:
            index = stage.indices[0]
            self.ranks[stage.ranks] = self.ranks.get(index, index)
            self.indices = [stage.ranks if i is index else i for i in self.indices]

    def set_value(self, node, term):
        if math.prod(a.extent or 1 for a in term.axes) > SIZE_MAX:
            raise Refused('too large')
        self.value = Part(node, term)
        self.runner.value = term

    def stage(self):
        """One more stage, or two that belong together."""
        axes = self.value.term.axes
        way = self.pick({'reduce': 6, 'expression': 5, 'product': 2, 'arrow': 1, 'domain': 1.5})
        if way == 'reduce':
            return [self.reduction(axes)]
        if way == 'arrow':
            return [Step([], self.arrow(axes, self.declared_dtype(self.value.term)))]
        if way == 'domain':
            name = self.random.choice(list(IDENTITY))
            other = IDENTITY[name]
            if name == 'any' and self.value.term.dtype != 'bool':
                raise Refused('any')
            mask = self.call('where', self.condition(), Part(Value(), self.value.term), self.part(other))
            return [Step([mask.node]), self.reduction(mask.term.axes, [name])]
        if way == 'product':
            parts = [Part(Value(), self.value.term), self.part(self.plain_read())]
            arrow = self.arrow(self.call('*', *parts).term.axes) if self.chance(0.6) else None
            if arrow:
                arrow.dtype = self.declared_dtype(self.call('*', *parts).term)
            return [Step([p.node for p in parts], arrow)]
        part = self.with_value()
        arrow = self.arrow(part.term.axes) if self.chance(0.2) else None
        return [Step([part.node], arrow)]

    def stages(self, most):
        made = []
        for _ in range(self.random.randint(1 if self.joined else 0, most)):
            before = self.value
            try:
                stages = self.stage() if not self.joined else [self.reduction(before.term.axes, JOINS[self.joined])]
                self.joined = None
                for stage in stages:
                    self.set_value(stage, self.runner.stage(stage))
                    self.rename(stage)
                made += stages
            except Refused:
                self.value = before
                self.runner.value = before.term
        return made

    # -- chains --

    def letters_factor(self):
        """An operand of letters, with "..." if the statement has any."""
        count = self.pick({0: 0.3, 1: 3, 2: 6, 3: 3})
        indices = []
        for _ in range(count):
            index = self.index()
            if index not in indices or self.chance(0.2):
                indices.append(index)
        dots_at = dots = None
        if self.dots and self.chance(0.8):
            dots = self.random.randint(0, len(self.dots))
            dots_at = self.random.randint(0, len(indices))
            indices[dots_at:dots_at] = self.dots[len(self.dots) - dots:]
        tensor = self.new_tensor(None, self.random.choice(self.dtypes), self.sizes(indices))
        return Read(tensor, [Position([(1, i)]) for i in indices], dots_at, dots or 0,
                    annotated=bool(indices) and self.chance(0.05))

    def einsum_head(self):
        count = self.pick({1: 3, 2: 5, 3: 3, 4: 2, 5: 1})
        if self.style == 'letters' and self.chance(0.2):
            self.dots = [Index(None, self.random.choice([1, 2, 3])) for _ in range(self.random.randint(1, 2))]
        factors = [self.letters_factor() for _ in range(count)]
        if any(not f.positions and f.dots_at is None for f in factors) and count < 2:
            raise Refused('a scalar stands between commas')
        return factors

    def mixed_head(self):
        return [self.expression(self.random.randint(0, 3)).node for _ in range(self.pick({1: 7, 2: 2, 3: 1}))]

    def joined_head(self):
        """Three factors or more, joined by what some reduction distributes over."""
        function = self.pick({'*': 4, '+': 4, 'min': 0.5, 'max': 0.5, '&&': 0.5, '||': 0.5})
        joined = self.part(self.plain_read())
        for _ in range(self.random.randint(2, 4)):
            other = self.part(self.plain_read()) if self.chance(0.8) else self.expression(1)
            joined = self.call(function, *([joined, other] if self.chance(0.7) else [other, joined]))
        self.joined = function
        return [joined.node]

    def head(self):
        einsum = self.style == 'letters' and self.chance(0.5)
        joined = not einsum and self.chance(0.2)
        factors = self.einsum_head() if einsum else self.joined_head() if joined else self.mixed_head()
        product = self.runner.product(factors, None)
        if math.prod(a.extent or 1 for a in product.axes) > SIZE_MAX:
            raise Refused('too large')
        arrow = None
        longest = max([f.dots for f in factors if isinstance(f, Read)], default=0)
        unknown_dots = longest < len([a for a in product.axes if not a.name])
        if unknown_dots:
            raise Refused('dots')
        if self.chance(0.6) and not joined:
            arrow = self.arrow(product.axes, self.declared_dtype(product))
        return Chain(factors, arrow)

    # -- statements --

    def target_positions(self, axes):
        """Plain positions for these axes, and seldom one more, along which the value is repeated."""
        indices = self.random.sample(axes, len(axes))
        more = [i for i in self.indices if i not in axes and i not in self.ranks]
        if more and self.chance(0.1):
            indices.insert(self.random.randint(0, len(indices)), self.random.choice(more))
        return [Position([(1, i)]) for i in indices]

    def scatter_positions(self, axes):
        """Positions that together hold all axes, and the shape of the target."""
        positions, shape, left = [], [], list(axes)
        self.random.shuffle(left)
        while left:
            index = left.pop()
            way = self.pick({'plain': 4, 'affine': 1.5, 'gather': 3})
            if way == 'plain':
                positions.append(Position([(1, index)]))
                shape.append(index.extent)
                if self.chance(0.1):
                    positions.append(Position([(1, index)]))
                    shape.append(index.extent)
            elif way == 'affine' or not index.extent:
                step, constant = self.random.choice([1, 2]), self.random.choice([0, 1])
                parts = [(step, index)]
                if left and self.chance(0.3):
                    parts.append((1, left.pop()))
                positions.append(Position(parts, constant))
                empty = any(i.extent == 0 for _, i in parts)
                shape.append(0 if empty else self.range_of(parts, constant)[1] + 1)
            else:
                size = self.random.randint(1, 4)
                dtype = self.random.choice(['i8', 'i32', 'i64'])
                tensor = self.new_tensor(self.new_name(), dtype, [index.extent],
                                         self.state.randint(0, size, [index.extent]).astype(np.int64))
                self.tensors.append(tensor)
                positions.append(Position([(1, Read(tensor, [Position([(1, index)])]))]))
                shape.append(size)
        return positions, shape

    def accumulate(self, chain, term):
        """`+=` to a new name, with or without the caller's array."""
        positions, shape = self.scatter_positions(term.axes)
        tensor = Tensor(self.new_name(), None, tuple(shape))
        dtype = term.dtype
        if self.chance(0.2):
            dtype = self.random.choice([d for d in CASTS if term.kind < COMPLEX or KIND[d] == COMPLEX])
        gathers = any(isinstance(part, Read) for p in positions for _, part in p.parts)
        if gathers or self.chance(0.6):
            tensor.old = self.new_tensor(tensor.name, dtype, shape)
            tensor.old.by_name = True
            return Statement(chain, tensor, positions, None, True)
        return Statement(chain, tensor, positions, dtype if dtype != term.dtype or term.weak else None, True)

    def can_be_target(self, term):
        """Whether all axes have names that a target can use."""
        names = [a.name for a in term.axes]
        return None not in names and len(set(names)) == len(names)

    def named(self, chain, term):
        """`name = chain`, with positions or without."""
        plain = self.can_be_target(term)
        if plain and self.chance(0.3):
            return self.accumulate(chain, term)
        tensor = Tensor(self.new_name(), None)
        positions = self.target_positions(term.axes) if plain and self.chance(0.5) else None
        return Statement(chain, tensor, positions, self.declared_dtype(term))

    def again(self, chain, term):
        """`+=` to what an earlier statement made; None when there is nothing of this shape."""
        for name, made in self.runner.made.items() if self.can_be_target(term) else ():
            sizes = list(made.value.shape)
            if sorted(sizes) != sorted(a.extent for a in term.axes) or term.kind > made.kind:
                continue
            left, positions = list(term.axes), []
            for size in sizes:
                index = next(a for a in left if a.extent == size)
                left.remove(index)
                positions.append(Position([(1, index)]))
            return Statement(chain, Tensor(name, None), positions, None, True)
        return None

    def begin_statement(self):
        self.dots = []
        self.joined = None
        self.value = None
        self.runner.value = None
        self.runner.reduced = None

    def largest_in_range(self, statement, index):
        """The extent that einc infers from computed positions; None where it does not."""
        best = None
        for read in walk_outside_where(statement):
            made = self.runner.made.get(read.tensor.name)
            shape = made.value.shape if made else read.tensor.shape
            for position, size in zip(read.positions, shape):
                own = [c for c, part in position.parts if part is index]
                others = [(c, part) for c, part in position.parts if part is not index]
                if not own or any(isinstance(part, Read) for _, part in others):
                    continue
                low, high = self.range_of([(c, i) for c, i in others if i.extent], position.constant)
                room = size - 1 - high if own[0] > 0 else low
                extent = max(room // abs(own[0]) + 1, 0)
                best = extent if best is None else min(best, extent)
        return best

    def give_extents(self, statement):
        """Tells einc what no axis does."""
        fixed, used, before = set(), set(), dict(self.given)
        for node in walk(Program([statement])):
            if isinstance(node, At):
                used.add(node.index)
            if isinstance(node, Read):
                made = self.runner.made.get(node.tensor.name)
                self.see(node.positions, made.value.shape if made else node.tensor.shape, fixed, used)
        old = statement.tensor.old if statement.tensor else None
        self.see(statement.positions or [], old.shape if old else None, fixed, used)
        if any(index.name is None for index in used - fixed):
            raise Refused('an extent of "..." that no axis has')
        alone = {p.parts[0][1] for node in walk(Program([statement])) if isinstance(node, Read)
                 for p in node.positions if p.plain}
        if alone & (used - fixed):
            raise Refused('all its axes have size 1, so its extent is 1')
        unknown = sorted((i for i in used - fixed if i not in self.ranks), key=lambda i: i.name)
        for index in unknown:
            self.given[index.name] = index.extent
        # One of them einc may find out by itself: the largest extent that keeps every read in range.
        index = self.random.choice(unknown) if unknown and self.chance(0.6) else None
        if index and index.name not in before and self.largest_in_range(statement, index) == index.extent:
            del self.given[index.name]

    def see(self, positions, shape, fixed, used):
        """The indices of these positions; fixed are those that stand alone at a full axis."""
        for axis, position in enumerate(positions):
            indices = [part for _, part in position.parts if isinstance(part, Index)]
            used.update(indices)
            if position.plain and shape is not None and shape[axis] == indices[0].extent:
                fixed.add(indices[0])

    def require_brackets(self, statement):
        """A word of several letters names an index only where a bracket of the statement does."""
        bracketed = {part.name for position in statement_positions(statement) for _, part in position.parts
                     if isinstance(part, Index)}
        for node in walk(Program([statement])):
            if isinstance(node, At) and len(node.index.name) > 1 and node.index.name not in bracketed:
                raise Refused('no bracket names the index')

    def statement(self, last):
        """A statement; new indices are the program's, ranks are not."""
        self.ranks = {}
        try:
            return self.statement_in_scope(last)
        finally:
            self.indices = [self.ranks.get(i, i) for i in self.indices]

    def statement_in_scope(self, last):
        self.begin_statement()
        chain = self.head()
        self.set_value(None, self.runner.head(chain, Statement(chain)))
        chain.stages = self.stages(4)
        if chain.stages:            # then a target's dtype does not reach the head
            chain_value = self.value.term
        else:
            chain_value = self.runner.head(chain, Statement(chain))
        if last and self.chance(0.12) and chain_value.axes:
            self.set_value(None, chain_value)
            chain.also = [self.reduction(chain_value.axes) for _ in range(self.random.randint(2, 3))]
        statement = Statement(chain)
        if not chain.also and (not last or self.chance(0.3)):
            statement = (self.again(chain, chain_value) if self.chance(0.3) else None) or self.named(chain, chain_value)
        self.require_brackets(statement)
        self.give_extents(statement)
        return statement

    def program(self):
        statements = []
        count = self.pick({1: 7, 2: 3, 3: 1})
        while len(statements) < count:
            made, given = dict(self.runner.made), dict(self.given)
            try:
                statement = self.statement(len(statements) == count - 1)
                self.runner.statement(statement)
                statements.append(statement)
            except Refused:
                self.runner.made, self.given = made, given
        return Program(statements, self.given)


def random_program(seed):
    with np.errstate(all='ignore'):
        return Generator(seed).program()
