"""Links between the documents lead somewhere, and the index of decisions lists each page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
DECISIONS = ROOT / "docs" / "decisions"


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
