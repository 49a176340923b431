"""Other libraries' functions under their names and with their values: change one import line.

- ``from unmissed.compat import pyxclib as xc_metrics`` instead of ``from xclib.evaluation import xc_metrics``
- ``from unmissed.compat import napkinxc as metrics`` instead of ``from napkinxc import metrics``
"""

from . import napkinxc, pyxclib

__all__ = ["napkinxc", "pyxclib"]
