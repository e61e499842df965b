"""Pickles of the objects that Spark sends to its workers, such that this package is imported first where they arrive.

Pickle names a class by its module. Where Spark's workers look for `datasource`, they may find the user's; this package
finds this project's own (`pyspark_kraft.own_packages`).
"""

from __future__ import annotations

import copyreg
from importlib import import_module
from typing import Any

from pyspark_kraft.own_packages import load_own_packages


def restore(module: str, name: str) -> Any:
    """Make an object of a class of this project's, without its state.

    Raises:
        ImportError: a module of the user's that is imported already hides a package of this project's.
    """
    hidden = load_own_packages()
    if hidden is not None:
        raise ImportError(hidden)
    cls = getattr(import_module(module), name)
    return cls.__new__(cls)


def restore_through_here(*classes: type) -> None:
    """Have objects of these classes pickled as a call of `restore`; pickle adds their state afterwards."""
    for cls in classes:
        copyreg.pickle(cls, _reduce)


def _reduce(instance: Any) -> tuple[Any, ...]:
    cls = type(instance)
    return restore, (cls.__module__, cls.__qualname__), vars(instance)
