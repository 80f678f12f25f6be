"""The command line as a process of its own: tieout, or python -m server as the daemon starts it."""

import gc
import sys

gc.disable()  # collections take a third of the processor time of the imports, and find nothing; a command enables them

from server.run.cli import main  # noqa: E402 - after collections are off

if __name__ == "__main__":
    sys.exit(main())
