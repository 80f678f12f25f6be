"""python -m server.run.workers: one worker, as its parent starts it."""

import sys

from server.run.workers.worker import main

control, listening, parent = map(int, sys.argv[1:])
main(control, listening, parent)
