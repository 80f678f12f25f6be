"""tieout serve where scripts would run without a jail: python -m tests.support.service.unjailed."""

import sys

from server.base.settings import read_settings
from server.run.commands.serve import preside
from server.run.workers.worker import main

if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(*map(int, sys.argv[1:]), scripts="tests.unit.sandbox.unjailed")
    else:
        sys.exit(preside(read_settings(), program=__spec__.name))
