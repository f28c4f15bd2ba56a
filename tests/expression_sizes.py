"""Other extents and other data for a random program: the text stays, the arrays change.

    links = Links(program)                          # what ties axes to indices and to each other
    data = data_set(links, random.Random(7))        # a DataSet; of what sizes is the third argument
    data.arrays[tensor]                             # for each operand, as expression_arithmetic.py holds it
    data.given                                      # the extents that einc is told

What is chosen nearly always fits the program. Where it does not, kernel and evaluator must both say so.
"""

import math

import numpy as np

from expression_arithmetic import Exact, wrap
from expression_parts import random_data
from expression_rules import COMPLEX, FLOAT, INT, KIND
from expression_tree import At, Call, Index, Read, Reduce, walk, walk_outside_where
from expression_values import Runner


class Sizes:
    """What extents are drawn from, what one of them, seldom none, is drawn from instead, and how many elements a term and an
    operand have at most."""

    def __init__(self, extents, long_extents, term_max, operand_max):
        self.extents, self.long_extents, self.term_max, self.operand_max = extents, long_extents, term_max, operand_max


SMALL = Sizes([1, 1, 2, 2, 3, 3, 4, 5, 5, 7, 7, 8, 11, 13, 16, 17, 23, 31], [37, 61, 64, 67, 100, 127, 131, 257], 6000, math.inf)
# More than caches hold, so that the planner goes other ways.
LARGE = Sizes([1, 2, 3, 4, 5, 8, 16, 17, 31, 64, 64, 65, 97, 128, 128, 130, 256], [300, 515, 1024, 1100, 2050, 4099, 9001, 20000],
              2500000, 20000000)
COMPARISONS = {'<', '<=', '>', '>='}
STYLES = 'normal normal whole quarters special special positive negative equal wild zero'.split()


class Links(Runner):
    """Runs the program by numpy and notes which indices share an extent and which positions an axis is read at."""

    def __init__(self, program):
        super().__init__(Exact())
        self.program = program
        self.parent = {}            # index -> another one of the same extent
        self.fixed = set()          # indices whose extent stands in the text
        self.least = {}             # index -> the least extent, for topk
        self.uses = {}              # (tensor, axis) -> positions that it is read or written at
        self.gathers = {}           # tensor of positions -> what it is a position in: a tensor and an axis
        self.lengths = {}           # tensor -> the index whose position it is compared with
        self.shapes = []            # axes of each term
        outside = {id(read) for statement in program.statements for read in walk_outside_where(statement)}
        self.guarded = {node.tensor for node in walk(program) if isinstance(node, Read) and id(node) not in outside
                        and any(not p.plain for p in node.positions)}
        for statement in program.statements:
            for stage in statement.chain.stages + statement.chain.also:
                if isinstance(stage, Reduce) and stage.ranks:
                    self.fixed.add(stage.ranks)
                    self.least[stage.indices[0]] = max(int(stage.parameter), self.least.get(stage.indices[0], 0))
        self.run(program)
        for (tensor, axis), positions in self.uses.items():
            plain = [p.parts[0][1] for p in positions if p.plain and tensor.shape[axis] == p.parts[0][1].extent]
            for index in plain[1:]:
                self.join(plain[0], index)

    def root(self, index):
        while index in self.parent:
            index = self.parent[index]
        return index

    def join(self, a, b):
        a, b = self.root(a), self.root(b)
        if a is not b:
            self.parent[a] = b

    def use(self, tensor, positions, made):
        for axis, position in enumerate(positions):
            if made is None:
                self.uses.setdefault((tensor, axis), []).append(position)
            elif position.plain and made.value.shape[axis] == position.parts[0][1].extent:
                self.join(made.axes[axis], position.parts[0][1])
            for _, part in position.parts:
                if isinstance(part, Read):
                    self.gathers.setdefault(part.tensor, []).append((tensor, axis))

    def read(self, read):
        self.use(read.tensor, read.positions, self.made.get(read.tensor.name))
        return super().read(read)

    def term(self, node):
        term = super().term(node)
        self.shapes.append(term.axes)
        if isinstance(node, Call) and node.function in COMPARISONS:
            at, read = node.arguments
            if isinstance(at, At) and isinstance(read, Read):
                self.lengths[read.tensor] = at.index
        return term

    def product(self, factors, declared):
        term = super().product(factors, declared)
        self.shapes.append(term.axes)
        return term

    def statement(self, statement):
        if statement.positions is not None and statement.accumulate:
            before = self.made.get(statement.tensor.name)
            if before is not None or statement.tensor.old is not None:
                self.use(statement.tensor.old, statement.positions, before)
        return super().statement(statement)


class DataSet:
    def __init__(self, arrays, given, extents):
        self.arrays = arrays        # tensor -> array
        self.given = given
        self.extents = extents      # root index -> extent


class Chooser:
    """Chooses one data set."""

    def __init__(self, links, random, sizes):
        self.links = links
        self.random = random
        self.sizes = sizes
        self.state = np.random.RandomState(random.randrange(2 ** 32))
        self.extents = {}
        self.bases = {}             # tensor of positions -> how many places it has to choose from
        self.stretch = random.random() < 0.1

    def extent(self, index):
        root = self.links.root(index)
        return self.extents.get(root, root.extent)

    def choose_extents(self):
        links = self.links
        indices = {}
        for axes in links.shapes:
            for index in axes:
                indices.setdefault(links.root(index), []).append(index)
        fixed = {links.root(i) for i in links.fixed}
        least = {}
        for index, k in links.least.items():
            least[links.root(index)] = max(k, least.get(links.root(index), 0))
        long = self.random.choice(list(indices) + [None] * 2) if indices else None
        for root in indices:
            if root in fixed or '?' == root.name:
                continue
            extent = 0 if self.random.random() < 0.03 else self.random.choice(self.sizes.extents)
            if root is long:
                extent = self.random.choice(self.sizes.long_extents)
            self.extents[root] = max(extent, least.get(root, 0))
        self.limit_elements()
        self.limit_positions()

    def limit_elements(self):
        """The largest extents shrink until each term is small."""
        for axes in self.links.shapes:
            while math.prod(max(self.extent(i), 1) for i in axes) > self.sizes.term_max:
                largest = max((self.links.root(i) for i in axes), key=self.extent)
                if self.extent(largest) <= 2 or largest not in self.extents:
                    break
                self.extents[largest] = max(self.extents[largest] // 2, 1)

    def limit_positions(self):
        """A position that counts backwards stays in range up to the extents that it was made for."""
        for positions in self.links.uses.values():
            for position in positions:
                for coefficient, part in position.parts:
                    if coefficient < 0 and isinstance(part, Index) and self.random.random() < 0.98:
                        root = self.links.root(part)
                        if root in self.extents:
                            self.extents[root] = min(self.extents[root], part.extent)

    def reach(self, position, extent_of):
        """The greatest value of a position, whatever its gathers hold being 0."""
        high = position.constant
        for coefficient, part in position.parts:
            if isinstance(part, Index) and coefficient > 0:
                high += coefficient * (extent_of(part) - 1)
        return high

    def axis(self, tensor, axis, size):
        """The new size of an axis that had `size`."""
        positions = self.links.uses.get((tensor, axis), [])
        plain = [p.parts[0][1] for p in positions if p.plain]
        if plain:
            full = size == plain[0].extent
            if full and self.random.random() > 0.01 or not full and self.stretch:
                return self.extent(plain[0])
            return 1
        if tensor in self.links.guarded or all(not p.parts for p in positions):
            return size
        sizes = []
        for position in positions:
            gathers = [part.tensor for _, part in position.parts if isinstance(part, Read)]
            old, new = self.reach(position, lambda i: i.extent), self.reach(position, self.extent)
            if gathers:
                sizes += [new + self.bases.setdefault(g, self.random.randint(1, 9)) for g in gathers]
            else:
                empty = any(isinstance(part, Index) and self.extent(part) == 0 for _, part in position.parts)
                sizes.append(0 if empty else new + size - old)
        return max([0] + sizes)

    def places(self, tensor, shape):
        """Positions in what the tensor is a position of; seldom one too many, and -1 where there was one."""
        most = self.bases.get(tensor)
        for target, axis in self.links.gathers[tensor]:
            if most is None and target is not None and (target, axis) in self.links.uses and target in self.shapes:
                most = self.shapes[target][axis]
        if most is None:
            most = max(int(tensor.data.max()) + 1, 1) if tensor.data.size else 1
        most += self.random.random() < 0.03
        data = self.state.randint(0, max(most, 1), shape)
        if tensor.data.size and tensor.data.min() < 0 and data.size:
            data = np.where(self.state.rand(*shape) < 0.3, -1, data)
        return wrap(np.asarray(data, np.int64), tensor.dtype)

    def values(self, tensor, shape, style):
        if tensor in self.links.gathers:
            return self.places(tensor, shape)
        if tensor in self.links.lengths and KIND[tensor.dtype] == INT:
            most = self.extent(self.links.lengths[tensor]) + 1
            return wrap(np.asarray(self.state.randint(-1 if style == 'special' else 0, most + 1, shape), np.int64),
                        tensor.dtype)
        if style == 'wild' and KIND[tensor.dtype] == INT and self.random.random() < 0.7:
            style = 'normal'
        data = random_data(tensor.dtype, shape, self.state, {'negative': 'positive', 'equal': 'whole', 'zero': 'whole'}
                           .get(style, style))
        if tensor.dtype != 'bool' and data.size:
            if style == 'negative':
                data = -np.abs(data) if KIND[tensor.dtype] < COMPLEX else -data
            elif style == 'equal':
                data = np.full_like(data, data.reshape(-1)[0])
            elif style == 'zero' and KIND[tensor.dtype] >= FLOAT:
                data = np.where(self.state.rand(*shape) < 0.5, data * 0, -data * 0).astype(data.dtype)
        return np.asarray(data)

    def choose_shapes(self):
        """Whether no operand is too large."""
        self.choose_extents()
        inputs, old = self.links.program.operands()
        self.shapes = {t: tuple(self.axis(t, a, size) for a, size in enumerate(t.shape)) for t in inputs + old}
        return all(math.prod(shape) <= self.sizes.operand_max for shape in self.shapes.values())

    def data_set(self):
        while not self.choose_shapes():
            pass
        style = self.random.choice(STYLES)
        mixed = self.random.random() < 0.3
        inputs, old = self.links.program.operands()
        arrays = {t: self.values(t, self.shapes[t], self.random.choice(STYLES) if mixed else style)
                  for t in inputs + old}
        indices = {i.name: i for axes in self.links.shapes for i in axes if i not in self.links.fixed}
        given = {name: self.extent(indices[name]) if name in indices else extent
                 for name, extent in self.links.program.given.items()}
        return DataSet(arrays, given, self.extents)


def data_set(links, random, sizes=SMALL):
    with np.errstate(all='ignore'):
        return Chooser(links, random, sizes).data_set()


def first_set(program):
    """The data that the program was made with."""
    inputs, old = program.operands()
    return DataSet({t: t.data for t in inputs + old}, dict(program.given), {})
