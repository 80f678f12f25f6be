"""python -m server: the command line, as the daemon starts it."""

import sys

from server.run.cli import main

sys.exit(main())
