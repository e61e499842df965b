"""Pickles the objects that Spark sends to its workers so that this package is imported first in the worker.

Pickle names a class by its module. A worker that imports `datasource` may find a module of the user; this package finds
the one of this project (`pyspark_kraft.own_packages`).
"""

from __future__ import annotations

import copyreg
from importlib import import_module
from typing import Any

from pyspark import cloudpickle

from pyspark_kraft import presence
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


def restore_where_present(*classes: type) -> None:
    """Do the same for classes whose objects a task restores first, with a check; see `pyspark_kraft.presence`."""
    cloudpickle.register_pickle_by_value(presence)  # type: ignore[no-untyped-call]  # PySpark has no types for it
    for cls in classes:
        copyreg.pickle(cls, _reduce_with_check)


def _reduce(instance: Any) -> tuple[Any, ...]:
    cls = type(instance)
    return restore, (cls.__module__, cls.__qualname__), vars(instance)


def _reduce_with_check(instance: Any) -> tuple[Any, ...]:
    from raft import __version__  # Not before it is known that no module of the user hides it.

    cls = type(instance)
    return presence.restore_if_present, (cls.__module__, cls.__qualname__, __version__), vars(instance)
