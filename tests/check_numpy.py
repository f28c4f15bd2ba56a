#!/usr/bin/env python3
"""The reference evaluator against numpy on random expressions of a fixed seed, each of which also has to print as text
that reads back as the same Program: about 40 s. More by hand: python3 tests/numpy_check.py --help
"""

import os
import subprocess
import sys

BUILD = os.environ.get('BUILD', 'build')
HERE = os.path.dirname(os.path.abspath(__file__))
SEED, COUNT = os.environ.get('SEED', '2026'), os.environ.get('COUNT', '1000')

sys.exit(subprocess.call([sys.executable, os.path.join(HERE, 'numpy_check.py'), os.path.join(BUILD, 'tests', 'evaluate_main'),
                          '--seed', SEED, '--count', COUNT, '--prints', '--failures', '3']))
