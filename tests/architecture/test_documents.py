"""Links between the documents lead somewhere, indexes list each page, and what documents name is in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft import errors

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
DECISIONS = ROOT / "docs" / "decisions"
INTERNALS = ROOT / "docs" / "internals"
INTERFACES = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (?:`(\w+)` )?\| .+ \|$", re.MULTILINE)
OF_ONE_MODULE = {"Client", "Received", "Request", "Timer"}
"""Interfaces of the runtime that separate only its own parts."""


@pytest.mark.parametrize("document", [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in DOCUMENTS])
def test_document_links_to_files_that_exist(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)\)", document.read_text())

    assert not [link for link in links if "://" not in link and not (document.parent / link).exists()]


def test_fault_report_names_tests_that_exist() -> None:
    cited = re.findall(r"\[(test_\w+)\]\(([^)]+\.py)\)", (ROOT / "docs" / "faults.md").read_text())

    assert len(cited) > 15
    assert not [name for name, file in cited if f"def {name}(" not in (ROOT / "docs" / file).read_text()]


def test_readme_says_how_to_run_its_first_stream() -> None:
    section = (ROOT / "README.md").read_text().partition("## A first stream")[2]

    commands = re.findall(r"^    (.+?)\s*(?:#.*)?$", section.partition("```python")[0], re.MULTILINE)

    assert commands == ["make setup", ".venv/bin/python first.py", ".venv/bin/kraft --help"]


def test_setup_ends_with_the_next_step() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nsetup: ")[2].partition("\n\n")[0].splitlines()[1:]

    assert all(line.startswith("\t@echo ") for line in recipe)
    (module,) = re.findall(r"\$\(BIN\)/python -m ([\w.]+)", recipe[0])
    assert (ROOT / f"{module.replace('.', '/')}.py").exists()


def test_index_of_decisions_lists_every_page_by_its_title() -> None:
    index = (DECISIONS / "README.md").read_text()
    listed = re.findall(r"^\| \[(\d+)\]\((.+)\) \| (.+) \|$", index, re.MULTILINE)

    pages = sorted(path.name for path in DECISIONS.glob("[0-9]*.md"))

    assert [name for _, name, _ in listed] == pages
    for number, name, title in listed:
        assert (DECISIONS / name).read_text().startswith(f"# {number}. {title}\n"), name


@pytest.mark.parametrize("page", [pytest.param(path, id=path.stem) for path in sorted(DECISIONS.glob("[0-9]*.md"))])
def test_decision_has_all_parts_on_one_page(page: Path) -> None:
    lines = page.read_text().splitlines()

    assert [line for line in lines if line.startswith("## ")] == [
        "## Context",
        "## Decision",
        "## Consequences",
        "## Alternatives",
    ]
    assert len(lines) <= 40


@pytest.mark.parametrize("page", [pytest.param(path, id=path.stem) for path in sorted(DECISIONS.glob("*.md"))])
def test_decision_names_files_that_exist(page: Path) -> None:
    named = re.findall(r"`((?:raft|datasource|tests|benchmarks|scripts)/[\w./]+)`", page.read_text())

    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize(
    "page", [pytest.param(path, id=path.stem) for path in [ROOT / "ARCHITECTURE.md", *sorted(INTERNALS.glob("*.md"))]]
)
def test_page_of_internals_names_files_that_exist(page: Path) -> None:
    named = re.findall(r"`([\w/]+\.py|(?:raft|datasource|kraft_spark|pyspark_kraft|tests)/[\w/]+)`", page.read_text())
    product = {path.name for package in ("raft", "datasource") for path in (ROOT / package).rglob("*.py")}

    assert not [name for name in named if not (ROOT / name).exists() and name not in product]


def test_index_of_internals_and_architecture_link_every_page() -> None:
    pages = {path.name for path in INTERNALS.glob("*.md")} - {"README.md"}

    index = set(re.findall(r"\]\((\w+\.md)\)", (INTERNALS / "README.md").read_text()))
    architecture = set(re.findall(r"\]\(docs/internals/(\w+\.md)\)", (ROOT / "ARCHITECTURE.md").read_text()))

    assert index == pages
    assert architecture - {"README.md"} == pages


def test_architecture_stays_on_one_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 120


def _classes(folder: str) -> Iterator[ast.ClassDef]:
    for path in (ROOT / folder).rglob("*.py"):
        yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef))


def test_interfaces_of_the_runtime_are_listed_with_the_classes_that_implement_them() -> None:
    rows = INTERFACES.findall((INTERNALS / "node.md").read_text())
    protocols = {
        found.name
        for found in _classes("raft/runtime")
        if any(isinstance(base, ast.Name | ast.Subscript) and "Protocol" in ast.unparse(base) for base in found.bases)
    }
    of_nodes = {found.name for folder in ("raft/node", "raft/metrics") for found in _classes(folder)}
    of_the_simulator = {found.name for folder in ("tests/simulation", "raft/runtime") for found in _classes(folder)}

    assert {interface for interface, _, _ in rows} == protocols - OF_ONE_MODULE
    assert {in_a_node for _, in_a_node, _ in rows} <= of_nodes
    assert {simulated for _, _, simulated in rows if simulated} <= of_the_simulator


def test_errors_are_drawn_as_they_inherit() -> None:
    drawn = re.findall(r"^( +)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE)
    path: list[str] = []
    parents = {}
    for indent, name in drawn:
        path[len(indent) // 2 - 2 :] = [name]
        parents[name] = path[-2] if len(path) > 1 else "Exception"

    defined = {
        name: found.__bases__[0].__name__
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, Exception)
    }

    assert parents == defined
