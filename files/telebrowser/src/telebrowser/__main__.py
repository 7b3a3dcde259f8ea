"""``python -m telebrowser`` is the same as ``telebrowser``."""

import sys

from .cli.main import main

sys.exit(main())
