"""Finds the packages of this project, independent of the files in the working directory.

Python looks for `raft` and `datasource` in the working directory first, and Spark's workers have that of the program. A
file `raft.py` or a folder `datasource` of the user would be imported in place of the package beside this one.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - a finder takes text
_PACKAGES = ("raft", "datasource")
"""In this order, because the second one imports the first one."""


def load_own_packages() -> str | None:
    """Import the packages of this project, if no other modules have their names.

    Returns:
        None, or an error message: a module that was imported before hides one of the packages.
    """
    for name in _PACKAGES:
        module = sys.modules.get(name)
        if module is not None and not _is_own(module):
            place = getattr(module, "__file__", None) or ", ".join(getattr(module, "__path__", ())) or "unknown place"
            return (
                f"the module {name} of {place} was imported before, and hides the package {name} of kraft-spark in "
                f"{_FOLDER}: rename that module, or import kraft_spark before it"
            )
    for name in _PACKAGES:
        if name not in sys.modules:
            _load(name)
    return None


def _is_own(module: ModuleType) -> bool:
    own = Path(_FOLDER).resolve()
    return any(Path(path).resolve().parent == own for path in getattr(module, "__path__", ()))


def _load(name: str) -> None:
    spec = PathFinder.find_spec(name, [_FOLDER])
    if spec is None or spec.loader is None:
        reason = f"kraft-spark is incomplete: {_FOLDER} has no package {name}, install it again"
        raise ModuleNotFoundError(reason, name=name)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # An import statement does this too, so that no incomplete module stays.
        sys.modules.pop(name, None)
        raise
