"""Pickles the objects that Spark sends to its workers so that this package is imported first in the worker.

Pickle names a class by its module. A worker that imports `datasource` may find a module of the user; this package finds
the one of this project (`pyspark_kraft.own_packages`).
"""

from __future__ import annotations

import copyreg
from importlib import import_module
from typing import Any

from pyspark_kraft.own_packages import load_own_packages


def restore(module: str, name: str) -> Any:
    """Return an object of a class of this project, without its state.

    Args:
        module: of the class.
        name: of the class.

    Raises:
        ImportError: a module of the user hides a package of this project.
    """
    hidden = load_own_packages()
    if hidden is not None:
        raise ImportError(hidden)
    cls = getattr(import_module(module), name)
    return cls.__new__(cls)


def restore_through_here(*classes: type) -> None:
    """Make pickle store objects of these classes as a call of `restore`; pickle restores their state afterwards."""
    for cls in classes:
        copyreg.pickle(cls, _reduce)


def _reduce(instance: Any) -> tuple[Any, ...]:
    cls = type(instance)
    return restore, (cls.__module__, cls.__qualname__), vars(instance)
