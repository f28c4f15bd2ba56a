"""What a tree's program means, by numpy.

Terms are numpy arrays whose axes are named by Index objects. What is read out of range is marked in `bad`, and so is
all that is computed from it; `where` takes the mark of the branch that it chooses.
"""

import math

import numpy as np

from expression_arithmetic import (NARROW, Exact, Working, apply_bool, apply_integer, first_best, float_function,
                                   round_float, wrap)
from expression_rules import (BOOL, INT, KIND, WEAK, Refused, accumulator, common, function_type, reduction_type,
                              where_type, widen)
from expression_tree import KEEPING, RANKING, At, Constant, Index, Number, Read, Reduce, Value


class Term:
    def __init__(self, value, axes, dtype, weak=None, bad=None):
        self.value = value
        self.axes = axes            # a list of Index, one for each axis of the value
        self.dtype = dtype
        self.weak = weak
        self.bad = bad              # None, or a bool array like the value

    @property
    def kind(self):
        return KIND[self.dtype]


def aligned(terms):
    """The union of the axes, in order, and for each term its value and its marks as arrays that broadcast."""
    axes = []
    for term in terms:
        axes += [a for a in term.axes if a not in axes]
    arrays = []
    for term in terms:
        order = sorted(range(len(term.axes)), key=lambda k: axes.index(term.axes[k]))
        shape = [a.extent if a in term.axes else 1 for a in axes]
        arrays.append([None if x is None else np.transpose(x, order).reshape(shape) for x in (term.value, term.bad)])
    return axes, arrays


def joined_marks(arrays, shape):
    marks = [np.broadcast_to(bad, shape) for _, bad in arrays if bad is not None]
    return np.any(np.stack(marks), axis=0) if marks else None


def rows_of(term, kept, over):
    """The term with the axes in `over` as one last axis, and its marks with none."""
    order = [term.axes.index(a) for a in kept + over]
    shape = [a.extent for a in kept]
    rows = np.transpose(term.value, order).reshape(shape + [math.prod(a.extent for a in over)])
    if term.bad is None:
        return rows, None
    bad = np.transpose(term.bad, order).reshape(rows.shape).any(axis=-1)
    return rows, bad if bad.any() else None


class Runner:
    """Computes a program in one of the two ways."""

    def __init__(self, way):
        self.way = way
        self.made = {}              # name of a tensor that a statement made -> Term
        self.value = None           # "_"
        self.reduced = None         # the last reduction: its result, its stage, its argument

    # -- expressions --

    def cast(self, term, dtype, weak=None):
        if term.dtype == dtype and (term.weak is None or weak):
            return term
        return Term(self.way.cast(term.value, term.dtype, dtype), term.axes, dtype, weak, term.bad)

    def constant(self, value):
        weak = 'int' if isinstance(value, int) else 'float'
        return Term(np.asarray(value, np.int64 if weak == 'int' else np.float64), [], WEAK[weak], weak)

    def at(self, index):
        return Term(np.arange(index.extent), [index], 'i64', 'int')

    def position(self, position):
        """A position as a term of int64, along the indices that it has."""
        terms = [(c, self.at(p) if isinstance(p, Index) else self.term(p)) for c, p in position.parts]
        axes, arrays = aligned([t for _, t in terms])
        value = np.full([a.extent for a in axes], position.constant, np.int64)
        for (c, _), (array, _) in zip(terms, arrays):
            value = value + c * array.astype(np.int64)
        return Term(value, axes, 'i64', None, joined_marks(arrays, value.shape))

    def operand(self, tensor):
        return tensor.data.astype(self.way.number(tensor.dtype))

    def read(self, read):
        made = self.made.get(read.tensor.name)
        data = made.value if made else self.operand(read.tensor)
        axes, arrays = aligned([self.position(p) for p in read.positions])
        shape = tuple(a.extent for a in axes)
        bad = np.zeros(shape, bool)
        for _, marks in arrays:
            bad = bad if marks is None else bad | marks
        at = []
        for position, (array, _), size in zip(read.positions, arrays, data.shape):
            if position.plain and size == 1:
                array = np.zeros_like(array)
            bad = bad | (array < 0) | (array >= size)
            at.append(np.broadcast_to(np.clip(array, 0, max(size - 1, 0)), shape))
        if 0 in data.shape or 0 in shape:
            value = np.zeros(shape, data.dtype)
        else:
            value = data[tuple(at)]
            if made and made.bad is not None:
                bad = bad | made.bad[tuple(at)]
        return Term(value, axes, made.dtype if made else read.tensor.dtype, None, bad if bad.any() else None)

    def apply(self, name, terms):
        (used, used_weak), (dtype, weak) = function_type(name, [(t.dtype, t.weak) for t in terms])
        axes, arrays = aligned([self.cast(t, used, used_weak) for t in terms])
        values = [a for a, _ in arrays]
        if KIND[used] == BOOL:
            value = apply_bool(name, values)
        elif KIND[used] == INT:
            value = apply_integer(name, dtype, values)
        else:
            value = self.way.function(name, float_function(name, values[0].dtype.kind == 'c'), *values)
        value = np.asarray(value).astype(self.way.number(dtype))
        shape = tuple(a.extent for a in axes)
        return Term(np.broadcast_to(value, shape), axes, dtype, weak, joined_marks(arrays, shape))

    def where(self, condition, yes, no):
        dtype, weak = where_type((yes.dtype, yes.weak), (no.dtype, no.weak))
        terms = [self.cast(condition, 'bool'), self.cast(yes, dtype, weak), self.cast(no, dtype, weak)]
        axes, arrays = aligned(terms)
        shape = tuple(a.extent for a in axes)
        chosen, yes, no = [value for value, _ in arrays]
        marks = [np.zeros((1,) * len(shape), bool) if m is None else m for _, m in arrays]
        bad = np.broadcast_to(marks[0] | np.where(chosen, marks[1], marks[2]), shape)
        return Term(np.broadcast_to(np.where(chosen, yes, no), shape), axes, dtype, weak, bad if bad.any() else None)

    def term(self, node):
        if isinstance(node, Number):
            return self.constant(node.value)
        if isinstance(node, Constant):
            return self.constant({'inf': math.inf, 'nan': math.nan, 'pi': math.pi}[node.name])
        if isinstance(node, Value):
            return self.value
        if isinstance(node, At):
            return self.at(node.index)
        if isinstance(node, Read):
            return self.read(node)
        terms = [self.term(a) for a in node.arguments]
        if node.function == 'where':
            return self.where(*terms)
        if node.function in KIND:
            function_type(node.function, [(t.dtype, t.weak) for t in terms])
            return self.cast(terms[0], node.function)
        return self.apply(node.function, terms)

    # -- products and sums --

    def product(self, factors, declared):
        terms = [self.term(f) for f in factors]
        dtype, weak = common([(t.dtype, t.weak) for t in terms])
        if len(terms) > 1 and not weak:
            dtype = widen(dtype)
        used = accumulator(dtype, declared)
        if used != dtype or not weak:
            terms = [self.cast(t, used) for t in terms]
        value = terms[0]
        for term in terms[1:]:
            value = self.apply('*', [value, term])
        return value

    def contract(self, term, kept, declared):
        if declared is None and term.axes == kept:
            return term
        over = [a for a in term.axes if a not in kept]
        dtype = accumulator(widen(term.dtype) if over else term.dtype, declared)
        term = self.cast(term, dtype)
        rows, bad = rows_of(term, kept, over)
        value = rows[..., 0] if not over else np.any(rows, axis=-1) if dtype == 'bool' else self.way.sum(rows, dtype)
        value = wrap(value, dtype) if KIND[dtype] == INT else value
        result = Term(np.asarray(value), list(kept), dtype, None, bad)
        return result if declared is None else self.cast(result, declared)

    def einsum(self, factors, arrow):
        """numpy.einsum itself, with the subscripts as they are written; None where it would not mean the same."""
        labels = [i.name or '...' for f in factors for p in f.positions for _, i in p.parts]
        if type(self.way) is not Exact or len({KIND[f.tensor.dtype] for f in factors}) != 1:
            return None
        if any(label != '...' and (len(label) > 1 or not label.isascii()) for label in labels):
            return None
        full, subscripts = {}, []
        for f in factors:
            indices = [p.parts[0][1] for p in f.positions]
            sizes = set(zip(indices, f.tensor.shape))
            full.update({i: True for i, n in sizes if n == i.extent})
            if len(sizes) > len(set(indices)):
                return None         # a diagonal of an axis that is broadcast
            letters = [i.name for i in indices]
            if f.dots_at is not None:
                letters[f.dots_at:f.dots_at + f.dots] = ['...']
            subscripts.append(''.join(letters))
        if any(p.parts[0][1] not in full for f in factors for p in f.positions):
            return None             # an index that is broadcast everywhere
        text = ','.join(subscripts)
        if arrow:
            letters = list(dict.fromkeys(i.name or '...' for i in arrow.indices))
            if '...' in labels and '...' not in letters:
                return None         # numpy refuses to sum what "..." stands for
            text += '->' + ''.join(letters)
        operands = [self.operand(f.tensor) for f in factors]
        if not all(np.isfinite(x).all() for x in operands):
            return None             # it takes factors out of sums, where 0 * inf may be
        return np.asarray(np.einsum(text, *operands))

    # -- reductions --

    def reduce(self, stage, term, used=None):
        """`used`: a dtype other than its own to make a sum in."""
        name, over = stage.name, stage.indices
        own, dtype = reduction_type(name, term.dtype)
        argument = self.cast(term, own)
        if used:
            argument, dtype = self.cast(argument, used), used
        kept = [a for a in argument.axes if a not in over]
        rows, bad = rows_of(argument, kept, over)
        if name in ('max', 'min', 'argmax', 'argmin') and not rows.shape[-1] and math.prod(rows.shape[:-1]):
            raise Refused('%s of nothing' % name)
        value = np.asarray(self.reduced_rows(name, rows, dtype, stage.parameter))
        value = wrap(value, dtype) if KIND[dtype] == INT else value
        result = Term(value, kept, dtype, None, bad)
        if name in KEEPING or name in RANKING:
            result = self.put_back(argument, result, stage)
        self.reduced = result, stage, term
        return result

    def put_back(self, argument, rows, stage):
        """The last axis in its place again, as the indices that it was or as the ranks."""
        last = [stage.ranks] if stage.name in RANKING else stage.indices
        axes = rows.axes + last
        wanted = [stage.ranks if a in stage.indices and stage.name in RANKING else a for a in argument.axes]
        order = [axes.index(a) for a in wanted]
        shape = [a.extent for a in axes]
        bad = rows.bad
        if bad is not None:
            bad = np.transpose(np.broadcast_to(bad.reshape(bad.shape + (1,) * len(last)), shape), order)
        return Term(np.transpose(rows.value.reshape(shape), order), wanted, rows.dtype, None, bad)

    def reduced_rows(self, name, x, dtype, parameter):
        if name in ('sum', 'prod', 'mean', 'cumsum', 'cumprod'):
            return getattr(self.way, name)(x, dtype)
        if name in ('any', 'all'):
            return getattr(np, name)(x, axis=-1)
        if name in ('max', 'min'):
            return getattr(np, name)(x, axis=-1) if x.shape[-1] else np.zeros(x.shape[:-1], x.dtype)
        if name in ('cummax', 'cummin'):
            return (np.maximum if name == 'cummax' else np.minimum).accumulate(x, axis=-1) if x.shape[-1] else x
        if name == 'norm':
            return self.way.norm(x, 2.0 if parameter is None else float(parameter))
        if name in ('var', 'std'):
            value = self.way.var(x, 0.0 if parameter is None else float(parameter))
            return np.sqrt(value) if name == 'std' else value
        if name in ('logsumexp', 'softmax', 'log_softmax'):
            return getattr(self.way, name)(x)
        if name in ('argmax', 'argmin'):
            return getattr(np, name)(x, axis=-1) if x.shape[-1] else np.zeros(x.shape[:-1], np.int64)
        best = first_best(x, 'top' in name)[..., :int(parameter)]
        return best if name.startswith('arg') else np.take_along_axis(x, best, axis=-1)

    # -- chains --

    def implicit(self, factors):
        """numpy's rule: what "..." stands for, then the labels that occur once, sorted."""
        labels = [p.parts[0][1] for f in factors for p in f.positions]
        longest = max(factors, key=lambda f: f.dots)
        dots = [p.parts[0][1] for p in longest.positions if p.parts[0][1].name is None]
        once = [i for i in dict.fromkeys(labels) if labels.count(i) == 1 and i.name]
        return dots + sorted(once, key=lambda i: i.name.encode())

    def head(self, chain, statement):
        declared = chain.arrow.dtype if chain.arrow else None
        whole = not chain.stages and not chain.also
        if declared is None and whole:
            declared = self.declared(statement)
        product = self.product(chain.factors, declared)
        letters = all(isinstance(f, Read) and f.tensor.name is None for f in chain.factors)
        for_target = statement.positions is not None and whole and not chain.arrow
        if chain.arrow:
            kept = chain.arrow.indices
        elif for_target:
            kept = self.target_axes(statement, product.axes)
        else:
            kept = self.implicit(chain.factors) if letters else product.axes
        term = self.contract(product, list(kept), declared)
        if letters and not for_target and declared is None:
            numpys = self.einsum(chain.factors, chain.arrow)
            if numpys is not None:
                value = wrap(numpys, term.dtype) if term.kind == INT else numpys
                term = Term(value, term.axes, term.dtype, term.weak)
        return term

    def stage(self, stage):
        if isinstance(stage, Reduce):
            return self.reduce(stage, self.value)
        declared = stage.arrow.dtype if stage.arrow else None
        term = self.product(stage.factors or [Value()], declared)
        kept = self.value.axes + [a for a in term.axes if a not in self.value.axes]
        return self.contract(term, stage.arrow.indices if stage.arrow else kept, declared)

    # -- statements --

    def declared(self, statement):
        """The dtype that the target is known to have."""
        if statement.dtype or not statement.accumulate:
            return statement.dtype
        before = self.made.get(statement.tensor.name) or statement.tensor.old
        return before.dtype if before is not None else None

    def target_axes(self, statement, axes):
        kept = []
        for position in statement.positions:
            for _, part in position.parts:
                for index in [part] if isinstance(part, Index) else self.term(part).axes:
                    if index in axes and index not in kept:
                        kept.append(index)
        return kept

    def in_target_dtype(self, term, statement):
        """A sum that ends the chain is made in the target's dtype where that is no narrower; all else is cast."""
        declared = self.declared(statement) or term.dtype
        if self.reduced and self.reduced[0] is term:
            _, stage, argument = self.reduced
            used = accumulator(term.dtype, declared)
            if stage.name in ('sum', 'prod', 'mean', 'cumsum', 'cumprod') and used != term.dtype:
                term = self.reduce(stage, argument, used)
        return self.cast(term, declared)

    def store(self, statement, term):
        if statement.positions is None:
            return term
        if statement.accumulate:
            return self.accumulate(statement, term)
        axes = [p.parts[0][1] for p in statement.positions]
        shape = tuple(a.extent for a in axes)
        _, (_, (value, bad)) = aligned([Term(np.zeros(shape, bool), axes, 'bool'), term])
        bad = None if bad is None else np.broadcast_to(bad, shape)
        return Term(np.broadcast_to(value, shape), axes, term.dtype, None, bad)

    def accumulate(self, statement, term):
        tensor, before = statement.tensor, self.made.get(statement.tensor.name)
        axes, arrays = aligned([term] + [self.position(p) for p in statement.positions])
        shape = tuple(a.extent for a in axes)
        value = np.broadcast_to(arrays[0][0], shape)
        places = tuple(np.broadcast_to(a, shape) for a, _ in arrays[1:])
        if before is not None:
            result = np.array(before.value)
        elif tensor.old is not None:
            result = np.array(self.operand(tensor.old))
        else:
            result = np.zeros(tensor.shape, value.dtype)
        marks = np.zeros(result.shape, bool) if before is None or before.bad is None else np.array(before.bad)
        bad = joined_marks(arrays, shape)
        bad = np.zeros(shape, bool) if bad is None else bad
        for place, size in zip(places, result.shape):
            bad = bad | (place < 0) | (place >= size)
        if bad.any() and not all(p.plain for p in statement.positions):
            marks[...] = True       # a scatter is made whole or not at all
        elif not places:
            result, marks = (result | value if term.dtype == 'bool' else result + value), marks | bad
        elif value.size:
            (np.logical_or if term.dtype == 'bool' else np.add).at(result, places, value)
            np.logical_or.at(marks, places, bad)
        if term.kind == INT:
            result = wrap(result, term.dtype)
        if isinstance(self.way, Working) and term.dtype in NARROW:
            result = round_float(result, *NARROW[term.dtype])
        axes = [p.parts[0][1] if p.plain else Index('?', n) for p, n in zip(statement.positions, result.shape)]
        return Term(np.asarray(result), axes, term.dtype, None, marks if marks.any() else None)

    def statement(self, statement):
        chain = statement.chain
        self.reduced = None
        self.value = self.head(chain, statement)
        for stage in chain.stages:
            self.value = self.stage(stage)
        if chain.also:
            return [self.reduce(r, self.value) for r in chain.also]
        term = self.value
        if statement.tensor:
            term = self.store(statement, self.in_target_dtype(term, statement))
            self.made[statement.tensor.name] = term
        return [term]

    def run(self, program):
        """The Terms that the program results in: several with "&"."""
        terms = []
        with np.errstate(all='ignore'):
            for statement in program.statements:
                terms = self.statement(statement)
        return terms


def exact_values(program):
    return Runner(Exact()).run(program)


def working_values(program, random):
    return Runner(Working(random)).run(program)
