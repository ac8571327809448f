"""`python -m restow`: the same as `restow`. Consumers that run as processes are started with it."""

import sys

from restow.cli import main

sys.exit(main())
