"""What `help` shows of the public names: each is documented in full, and the errors that it names can be imported."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

PACKAGES = ["raft", "raft.client", "kraft_spark"]

_RAISES = re.compile(r"^\s*Raises:\n((?:\s+\S.*\n?)+)", re.MULTILINE)
_ERROR = re.compile(r"^\s*((?:\w*Error(?:, )?)+):", re.MULTILINE)


def documented(package: str) -> Iterator[tuple[str, str]]:
    """Yield the public names of a package, with the methods and properties of its classes, and their docstrings."""
    module = import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)) or value.__module__.split(".")[0] == "builtins":
            continue
        yield name, inspect.getdoc(value) or ""
        for attribute, member in vars(value).items() if inspect.isclass(value) else ():
            if attribute.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
                continue
            yield f"{name}.{attribute}", inspect.getdoc(member) or ""


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_documented_at_their_place(package: str) -> None:
    docstrings = dict(documented(package))

    assert len(docstrings) > 10
    assert not [name for name, text in docstrings.items() if not text or text.startswith("See ")]


@pytest.mark.parametrize("package", ["raft", "kraft_spark"])
def test_errors_that_docstrings_name_can_be_imported_from_the_package(package: str) -> None:
    public = set(import_module(package).__all__)

    promised = {
        (name, error)
        for name, text in documented(package)
        for raised in _RAISES.findall(text)
        for names in _ERROR.findall(raised)
        for error in names.split(", ")
    }

    assert promised
    builtin = {"TypeError", "ValueError", "OSError", "RuntimeError", "KeyError", "ImportError"}
    assert not sorted((name, error) for name, error in promised if error not in public | builtin)
