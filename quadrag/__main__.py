"""`python -m quadrag`: the command, where its script is not on the path."""

import sys

from quadrag.cli import main

sys.exit(main())
