"""tieout serve where scripts would run without a jail: python -m tests.support.unjailed."""

import sys

from server.commands.serve import preside
from server.settings import read_settings
from server.workers.worker import main

if __name__ == "__main__":
    if len(sys.argv) > 1:
        control, listening, parent = map(int, sys.argv[1:])
        main(control, listening, parent, scripts="tests.sandbox.unjailed")
    else:
        sys.exit(preside(read_settings(), program=__spec__.name))
