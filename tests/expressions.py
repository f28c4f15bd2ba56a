"""Random einc programs: from one tree come einc's text and numpy's value, never one from the other.

    program = random_program(seed)                  # a tree, with the data of its operands
    text = text_of(program, random.Random(seed))    # what einc reads
    terms = exact_values(program)                   # what numpy makes of it, in float64
    terms = working_values(program, RandomState(0)) # as a kernel computes, in each term's dtype
    inputs, old = program.operands()                # Tensors with .name, .dtype and .data; arrays that `+=` adds to
    to_file(tensor.data, tensor.dtype)              # as .npy files hold it

expression_tree.py has the tree and the text, expression_rules.py the dtypes, expression_arithmetic.py and
expression_values.py the values, expression_parts.py and expression_random.py the random trees.
"""

from expression_arithmetic import to_file
from expression_parts import random_data
from expression_random import Generator, random_program
from expression_rules import COMPLEX, FLOAT, INT, KIND, Refused
from expression_tree import (Arrow, At, Call, Chain, Constant, Index, Number, Position, Program, Read, Reduce,
                             Statement, Step, Tensor, Value, text_of, walk)
from expression_values import Term, exact_values, working_values

__all__ = ['to_file', 'Generator', 'random_data', 'random_program', 'COMPLEX', 'FLOAT', 'INT', 'KIND', 'Refused',
           'Arrow', 'At', 'Call', 'Chain', 'Constant', 'Index', 'Number', 'Position', 'Program', 'Read', 'Reduce',
           'Statement', 'Step', 'Tensor', 'Value', 'text_of', 'walk', 'Term', 'exact_values', 'working_values']
