"""Finds the packages of this project, whatever lies in the working directory.

Python looks for `raft` and `datasource` in the working directory first, and Spark's workers have the program's. A file
`raft.py` or a folder `datasource` of the user's would be imported in place of the package that lies beside this one.
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
"""In this order: the second one imports the first one."""


def load_own_packages() -> str | None:
    """Import this project's packages, where nothing else has their names yet.

    Returns:
        None, or what is wrong: that a module which is imported already hides one of the packages.
    """
    for name in _PACKAGES:
        module = sys.modules.get(name)
        if module is not None and not _is_own(module):
            place = getattr(module, "__file__", None) or ", ".join(getattr(module, "__path__", ())) or "unknown place"
            return (
                f"the module {name} of {place} is imported already, and hides the package {name} of kraft-spark in "
                f"{_FOLDER}. Rename that module, or import kraft_spark before it"
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
        raise ModuleNotFoundError(f"kraft-spark is not installed whole: {_FOLDER} has no package {name}", name=name)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # As an import statement does: what failed half-way is not to be found.
        sys.modules.pop(name, None)
        raise
