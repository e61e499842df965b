"""The core's state changes in few places, so that each of them can be guarded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def assignments(attribute: str, tree: ast.AST, within: str) -> Iterator[str]:
    """The functions that assign an attribute of that name, to whatever object, each as often as it does."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del) and node.attr == attribute:
            yield within
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from assignments(attribute, node, f"{within}.{node.name}")
        else:
            yield from assignments(attribute, node, within)


@pytest.mark.parametrize(
    ("attribute", "allowed"),
    [
        pytest.param("role", ["State.__init__", "State.update_role", "State._enter"], id="the role"),
        pytest.param("stored", ["State.__init__", "State.store_election_state"], id="the stored election state"),
    ],
)
def test_state_assigns_what_it_guards_in_its_own_methods_only(attribute: str, allowed: list[str]) -> None:
    found = [
        place
        for path in sorted((ROOT / "raft").rglob("*.py"))
        for place in assignments(attribute, ast.parse(path.read_text()), str(path.relative_to(ROOT)))
    ]

    assert found == [f"raft/core/state.py.{method}" for method in allowed]
