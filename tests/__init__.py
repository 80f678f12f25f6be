"""The tests of Tieout; they mirror the packages.

Polars computes with one thread in a process of tests: there are as many processes as cores, and the books are small.
The servers that tests start compute with a thread a core, and a law compares the answers of both.
"""

import os
from importlib import import_module

if "POLARS_MAX_THREADS" not in os.environ:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import_module("polars")  # which reads it
    del os.environ["POLARS_MAX_THREADS"]
