"""Rules of the house that no tool checks by itself."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("raft", "datasource", "kraft_spark", "pyspark_kraft")


def product_files() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def test_no_module_is_called_for_everything() -> None:
    names = {"utils", "util", "helpers", "helper", "common", "misc"}

    assert not [path for path in product_files() if path.stem in names]


def test_no_file_of_the_product_is_longer_than_four_hundred_lines() -> None:
    assert not [path for path in product_files() if len(path.read_text().splitlines()) > 400]


def test_no_function_of_the_product_is_longer_than_fifty_lines() -> None:
    """Without its docstring and its arguments."""
    long: list[str] = []
    for path in product_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                if body and (node.end_lineno or 0) - body[0].lineno >= 50:
                    long.append(f"{path}:{node.lineno}: {node.name}")

    assert not long


@pytest.mark.parametrize(
    "package", ["raft.core", "raft.client", "raft.config", "raft.writers", "raft.local", "raft.codec"]
)
def test_package_exports_what_it_names(package: str) -> None:
    module = importlib.import_module(package)

    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", package) != "__future__" and not _is_module(value)
    } - {"annotations"}
    imported_when_used = {name for name in module.__all__ if name not in vars(module) and hasattr(module, name)}

    assert public | imported_when_used == set(module.__all__)


def _is_module(value: object) -> bool:
    return type(value).__name__ == "module"


@pytest.mark.rule("TIMER-10")
def test_core_runs_without_clock_and_dice_of_its_own() -> None:
    program = (
        "import sys\n"
        "from raft.core import RaftCore\n"
        "loaded = {'asyncio', 'socket', 'random', 'threading', 'logging'} & set(sys.modules)\n"
        "sys.exit(f'the core loads {loaded}' if loaded else 0)\n"
    )

    ended = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr


def test_rules_are_numbered_without_doubles() -> None:
    ids = re.findall(r"^- \*\*([A-Z0-9]+-\d+)\*\*", (ROOT / "docs" / "rules.md").read_text(), re.MULTILINE)

    assert len(ids) > 300
    assert len(ids) == len(set(ids))


def test_tests_cite_only_rules_that_there_are() -> None:
    known = set(re.findall(r"\b([A-Z]+-\d+)\b", (ROOT / "docs" / "rules.md").read_text()))
    cited = {
        rule
        for path in (ROOT / "tests").rglob("*.py")
        for marks in re.findall(r"mark\.rule\(([^)]*)\)", path.read_text())
        for rule in re.findall(r"\"([A-Z]+-\d+)\"", marks)
    }

    assert cited
    assert not cited - known
