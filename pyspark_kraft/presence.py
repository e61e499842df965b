"""Checks in a worker of Spark, before anything else, that this project is installed there in the version of the driver.

Without the check the worker fails with the name of a module that the user does not know, or later. The function is
pickled by its code and not by its name (`pyspark_kraft.pickles`), because this module may be what is missing.
"""

from __future__ import annotations

from typing import Any


def restore_if_present(module: str, name: str, version: str) -> Any:
    """Return an object of a class of this project, without its state.

    It uses nothing of this project but what it imports itself.

    Args:
        module: of the class.
        name: of the class.
        version: of this project, in the process that has pickled the object.

    Raises:
        ImportError: this project is not installed here, or has another version, or a module of the user hides one of
            its packages.
    """
    import os
    import socket
    import sys
    from importlib import import_module

    hidden = refusal = None
    try:
        hidden = import_module("pyspark_kraft.own_packages").load_own_packages()
        found = None if hidden else import_module("raft").__version__
        if found not in (None, version):
            refusal = f"has version {found}"
    except ModuleNotFoundError as error:
        if error.name in ("pyspark_kraft", "datasource", "raft"):
            refusal = "is not installed"
        else:
            refusal = f"cannot be imported, because {error.name} is not installed,"
    if hidden is None and refusal is None:
        cls = getattr(import_module(module), name)
        return cls.__new__(cls)
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER" and not os.environ.get("KRAFT_DEBUG"):
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # See datasource.short_errors.
    raise ImportError(
        hidden
        or f"package kraft-spark {refusal} on host {socket.gethostname()} (Python {sys.executable}), but version "
        f"{version} runs on the driver: install kraft-spark[spark]=={version} into the Python of all executors, and "
        "check each by `kraft doctor` there"
    )
