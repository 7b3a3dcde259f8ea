"""Stands in for get-pip.py where the host that ansible-test downloads it from is out of reach: installs pip from the wheel beside it.

ansible-test makes its environments without pip, runs this file in them with the packages it wants, and never asks where it is from.
"""

import glob
import os
import sys

here = os.path.dirname(os.path.abspath(os.environ["GET_PIP"]))
options = [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
version = next(word.partition("==")[2] for word in options if word.startswith("pip=="))
sys.path.insert(0, glob.glob(os.path.join(here, f"pip-{version}-*.whl"))[0])

from pip._internal.cli.main import main  # noqa: E402

sys.exit(main(["install", "--no-index", "--find-links", here, *options]))
