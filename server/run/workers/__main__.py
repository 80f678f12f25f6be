"""python -m server.run.workers: one worker, as its parent starts it."""

import gc
import sys

gc.disable()  # collections take a third of the processor time of the imports, and find nothing

from server.run.workers import COLLECTED  # noqa: E402 - after collections are off
from server.run.workers.worker import main  # noqa: E402 - after collections are off

gc.freeze()  # later collections pass over what is imported, which stays
gc.set_threshold(*COLLECTED)
gc.enable()
main(*map(int, sys.argv[1:]))
