"""Smaller programs that still fail.

    small = shrink(case, fails)     # case.program and case.sets are those of expression_sizes.py

Each round proposes one change after the other: data sets, statements, stages, factors and expressions are left out,
extents and values made simpler. What `fails` accepts is kept. Proposals need not be valid programs: what the compiler
refuses does not fail.
"""

import copy
import itertools
import time

import numpy as np

from expression_tree import Arrow, Call, Number, Position, Read, Reduce, Step, Value, walk

SECONDS = 60                        # for one failure


def expressions(program):
    """Places that hold an expression, as (container, key)."""
    def inside(container, key):
        node = container[key]
        yield container, key
        if isinstance(node, Call):
            node.arguments = list(node.arguments)
            for k in range(len(node.arguments)):
                yield from inside(node.arguments, k)
    for statement in program.statements:
        lists = [statement.chain.factors] + [s.factors for s in statement.chain.stages if isinstance(s, Step)]
        for factors in lists:
            for k in range(len(factors)):
                yield from inside(factors, k)


def without_statements(program):
    for k in range(len(program.statements)):
        def change(p, k=k):
            del p.statements[k]
        yield change
    for k, statement in enumerate(program.statements):
        if statement.tensor and k == len(program.statements) - 1:
            def bare(p, k=k):
                p.statements[k].tensor, p.statements[k].positions, p.statements[k].accumulate = None, None, False
            yield bare
        if statement.dtype:
            def untyped(p, k=k):
                p.statements[k].dtype = None
            yield untyped


def without_stages(program):
    for s, statement in enumerate(program.statements):
        for k in reversed(range(len(statement.chain.stages))):
            def change(p, s=s, k=k):
                del p.statements[s].chain.stages[k]
            yield change
        for k in range(len(statement.chain.also)):
            def fewer(p, s=s, k=k):
                also = p.statements[s].chain.also
                del also[k]
                if len(also) == 1:
                    p.statements[s].chain.stages.append(also.pop())
            yield fewer
        if statement.chain.arrow:
            def no_arrow(p, s=s):
                p.statements[s].chain.arrow = None
            yield no_arrow
        for k in range(len(statement.chain.factors) if len(statement.chain.factors) > 1 else 0):
            def factor(p, s=s, k=k):
                del p.statements[s].chain.factors[k]
            yield factor


def simpler_expressions(program):
    for at, (container, key) in enumerate(list(expressions(program))):
        node = container[key]

        def replace(p, at, make):
            place, k = next(itertools.islice(expressions(p), at, None))
            place[k] = make(place[k])
        if isinstance(node, Call):
            for k in range(len(node.arguments)):
                yield lambda p, at=at, k=k: replace(p, at, lambda n: n.arguments[k])
        if not isinstance(node, (Number, Value)):
            yield lambda p, at=at: replace(p, at, lambda n: Number('1'))
            if isinstance(node, Call):
                yield lambda p, at=at: replace(p, at, lambda n: Value())


def structural(case):
    for changes in (without_statements, without_stages, simpler_expressions):
        for change in changes(case.program):
            def apply(c, change=change):
                change(c.program)
                return any(s.chain.factors for s in c.program.statements)
            yield apply


def fewer_sets(case):
    for k in reversed(range(len(case.sets) if len(case.sets) > 1 else 0)):
        def alone(c, k=k):
            c.sets = [c.sets[k]]
            return True
        yield alone
    if len(case.sets) > 2:
        for k in reversed(range(1, len(case.sets))):
            def pair(c, k=k):
                c.sets = [c.sets[0], c.sets[k]]
                return True
            yield pair
    for k in reversed(range(len(case.sets) if len(case.sets) > 1 else 0)):
        def less(c, k=k):
            del c.sets[k]
            return True
        yield less


def smaller_sizes(case):
    """All axes of one size become shorter together, in one data set."""
    for s, data in enumerate(case.sets):
        sizes = {n for array in data.arrays.values() for n in array.shape} | set(data.given.values())
        for size in sorted(sizes, reverse=True):
            for new in dict.fromkeys([1, 2, size // 2, size - 1]):
                if not 0 < new < size:
                    continue

                def change(c, s=s, size=size, new=new):
                    d = c.sets[s]
                    for tensor, array in d.arrays.items():
                        d.arrays[tensor] = array[tuple(slice(new if n == size else n) for n in array.shape)].copy()
                    d.given = {k: new if n == size else n for k, n in d.given.items()}
                    return True
                yield change


def simpler_values(case):
    for s, data in enumerate(case.sets):
        for k, (tensor, array) in enumerate(data.arrays.items()):
            for value in (1, 0):
                if array.size == 0 or (array == value).all():
                    continue

                def change(c, s=s, k=k, value=value):
                    t = list(c.sets[s].arrays)[k]
                    c.sets[s].arrays[t] = np.full_like(c.sets[s].arrays[t], value)
                    return True
                yield change


def shrink(case, fails):
    end = time.time() + SECONDS
    progress = True
    while progress:
        progress = False
        for proposals in (fewer_sets, structural, smaller_sizes, simpler_values):
            again = True
            while again:
                again = False
                for change in proposals(case):
                    if time.time() > end:
                        return case
                    trial = copy.deepcopy(case)
                    try:
                        valid = change(trial)
                        valid = valid and trial.program.statements and trial.text() and (
                            {t for part in trial.program.operands() for t in part} <= set(trial.sets[0].arrays))
                    except (IndexError, ValueError, AttributeError):
                        valid = False
                    if valid and fails(trial):
                        case, again, progress = trial, True, True
                        break
    return case
