"""Reads the sources of docs/spec.md: the rules, and the tests and modules that cite them.

Tests cite rules by `@pytest.mark.rule("LOG-1")`. pytest itself collects the marks, so that those of parameters and of
scenario files count too.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RULES = ROOT / "docs" / "rules.md"
PRODUCT = ("raft", "datasource", "kraft_spark")

_RULE = re.compile(r"^- \*\*([A-Z]+-\d+)\*\* (.*)$", re.MULTILINE)
_DIFFERENCE = re.compile(r"^\| (DIFF-\d+) \| ([^|]*) \|.*\| ([^|]*) \|$", re.MULTILINE)
_CITED = re.compile(r"\b([A-Z]+-\d+)\b")
_LONGEST_WORDS = 110


@dataclass(frozen=True, slots=True, order=True)
class Proof:
    """A test that cites a rule, for all of its parameters or for some; or a scenario file."""

    path: str
    name: str

    @classmethod
    def of(cls, item: pytest.Item) -> Proof:
        """Return the test of a collected item."""
        function, _, parameters = item.name.removesuffix("]").partition("[")
        scenario = item.path.with_name(f"{parameters}.txt")
        if parameters and scenario.exists():
            return cls(scenario.relative_to(ROOT).as_posix(), parameters)
        return cls(item.path.relative_to(ROOT).as_posix(), function.removeprefix("test_"))

    def __str__(self) -> str:
        return f"[{self.name.replace('_', ' ')}](../{self.path})"


class Citations:
    """A plugin of pytest that finds which tests cite which rules.

    Args:
        marker: the name of the mark.
    """

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self.proofs: dict[Any, set[Proof]] = defaultdict(set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Read the marks of all collected items."""
        for item in session.items:
            for mark in item.iter_markers(self._marker):
                for cited in mark.args:
                    self.proofs[cited].add(Proof.of(item))


def read_rules() -> dict[str, str]:
    """Return the id of each rule and a short text of it."""
    return {rule: _in_few_words(text) for rule, text in _RULE.findall(RULES.read_text())}


def read_differences() -> list[tuple[str, str, str]]:
    """Return the differences from the KIP texts: id, subject, and the rules that describe them."""
    return [(id, subject.strip(), rules.strip()) for id, subject, rules in _DIFFERENCE.findall(RULES.read_text())]


def _in_few_words(text: str) -> str:
    plain = re.sub(r"( \[[^\]]*\])+$", "", text).replace("**", "").replace("|", "\\|")
    sentence = re.split(r"(?<=[a-z0-9)`\"])\. ", plain, maxsplit=1)[0].removesuffix(".")
    if len(sentence) <= _LONGEST_WORDS:
        return sentence
    return sentence[:_LONGEST_WORDS].rpartition(" ")[0].rstrip(",;:(") + " …"


def citing_files(marker: str) -> list[str]:
    """Return the files whose tests have a mark.

    Args:
        marker: its name.
    """
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path) for path in files if f"mark.{marker}(" in path.read_text()]


def collect_proofs(marker: str = "rule") -> Mapping[Any, set[Proof]]:
    """Return the tests of each rule.

    Args:
        marker: the mark that cites rules, or something else that tests prove.

    Raises:
        SystemExit: the tests cannot be collected.
    """
    citations, said = Citations(marker), io.StringIO()
    arguments = ["--collect-only", "-qq", "-p", "no:cacheprovider", *citing_files(marker)]
    with contextlib.redirect_stdout(said):
        exit_code = pytest.main(arguments, plugins=[citations])
    if exit_code != pytest.ExitCode.OK:
        sys.exit(f"the tests cannot be collected:\n{said.getvalue()[-3000:]}")
    return citations.proofs


def modules_by_rule() -> dict[str, list[str]]:
    """Return for each rule the modules of the product that cite it."""
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for rule in sorted(set(_CITED.findall(path.read_text()))):
                modules[rule].append(module)
    return modules
