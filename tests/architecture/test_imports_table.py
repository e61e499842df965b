"""The page of the imports is made from the code, is up to date, and leaves no part out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from grimp import ImportGraph

from scripts import imports_table
from scripts.imports_table import ROOT, Imports, imported_parts

SOUND = Imports(
    layers=[["raft.node", "raft.client"], ["raft.types"]],
    imported={"raft": set(), "raft.node": {"raft.types"}, "raft.client": set(), "raft.types": set()},
    holds={"raft": "All.", "raft.node": "A node.", "raft.client": "Clients.", "raft.types": "Values."},
    contracts=["Nothing imports upwards"],
)


def test_document_says_what_the_code_imports() -> None:
    assert imports_table.main(["--check"]) == 0


def test_architecture_links_the_document() -> None:
    assert "(docs/internals/imports.md)" in (ROOT / "ARCHITECTURE.md").read_text()


def test_part_imports_what_one_of_its_modules_imports() -> None:
    graph = ImportGraph()
    graph.add_import(importer="raft.node.node", imported="raft.core.machine")
    graph.add_import(importer="raft.node.node", imported="raft.node.listener")
    graph.add_import(importer="datasource.columns.decode", imported="raft.types")

    parts = imported_parts(graph)

    assert parts["raft.node"] == {"raft.core"}
    assert parts["datasource"] == {"raft.types"}


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param(
            {"layers": [["raft.node"], ["raft.types"]]},
            ["raft.client is in no layer of the contract in pyproject.toml"],
            id="no layer",
        ),
        pytest.param({"holds": {**SOUND.holds, "raft.node": ""}}, ["raft.node has no docstring"], id="no docstring"),
    ],
)
def test_problem_of_a_part_is_named(change: Mapping[str, object], problems: list[str]) -> None:
    assert list(replace(SOUND, **change).problems()) == problems  # type: ignore[arg-type]


def test_document_has_a_row_for_each_part_with_the_number_of_its_layer() -> None:
    packages = dict.fromkeys(("kraft_spark", "pyspark_kraft", "datasource"), "A package.")
    whole = replace(
        SOUND,
        imported={**SOUND.imported, **{package: set() for package in packages}},
        holds={**SOUND.holds, **packages},
    )

    document = whole.document()

    assert "| 2 | `node` | A node. | `types` |" in document
    assert "| 1 | `types` | Values. | |" in document
    assert "- Nothing imports upwards" in document
