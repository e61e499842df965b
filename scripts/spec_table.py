"""Writes docs/spec.md: which test proves which rule of docs/rules.md, which modules it binds, and what is not proven.

python -m scripts.spec_table            writes the document
python -m scripts.spec_table --check    writes nothing; the exit code is 1 if it is out of date, a rule has neither
                                        test nor reason, or a test cites a rule that does not exist

Modules are those of the product that cite the rule; if none does, the part of the product that the folder of the tests
belongs to.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.rule_citations import ROOT, Proof, collect_proofs, modules_by_rule, read_differences, read_rules

REASONS = ROOT / "scripts" / "spec_reasons.toml"
DOCUMENT = ROOT / "docs" / "spec.md"

PARTS = {
    "client": "raft.client",
    "codec": "raft.codec",
    "columns": "datasource.columns",
    "config": "raft.config",
    "core": "raft.core",
    "cli": "raft.cli",
    "datasource": "datasource",
    "fuzz": "raft.codec",
    "java": "raft.node",
    "kraft_spark": "kraft_spark",
    "local": "raft.local",
    "metadata": "raft.metadata",
    "metrics": "raft.metrics",
    "node": "raft.node",
    "records": "raft.records",
    "runtime": "raft.runtime",
    "scenarios": "raft.core",
    "security": "raft.security",
    "simulation": "raft.core",
    "spark": "datasource",
    "storage": "raft.storage",
    "wire": "raft.wire",
    "writers": "raft.writers",
}
"""The part of the product that the tests of a folder belong to."""

_SHOWN_TESTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """The content of the document."""

    rules: Mapping[str, str]
    proofs: Mapping[str, set[Proof]]
    modules: Mapping[str, Sequence[str]]
    missing: Mapping[str, str]
    partly: Mapping[str, str]

    def problems(self) -> Iterator[str]:
        """Yield the problems of the rules, the tests and the reasons."""
        for rule in sorted(set(self.proofs) - set(self.rules)):
            yield f"{rule} is cited by {min(self.proofs[rule]).path}, but is not a rule"
        for rule in self.rules:
            if rule not in self.proofs and rule not in self.missing:
                yield f"{rule} has neither a test nor a reason in {REASONS.relative_to(ROOT)}"
        for rule in self.missing:
            if rule in self.proofs:
                yield f"{rule} has a test, so the reason why it has none is out of date"
        for rule in self.partly:
            if rule not in self.proofs:
                yield f"{rule} has no test, so it is not proven in part"
        for rule in sorted({*self.missing, *self.partly} - set(self.rules)):
            yield f"{rule} has a reason, and is not a rule"

    def document(self) -> str:
        """Return the document."""
        proven = [rule for rule in self.rules if rule in self.proofs]
        return "\n".join(
            [
                "# Which test proves which rule",
                "",
                "Made by `python -m scripts.spec_table` from [rules.md](rules.md), the marks of the tests, and",
                "[spec_reasons.toml](../scripts/spec_reasons.toml). Of several tests two are named.",
                "",
                f"{len(self.rules)} rules, {len(proven)} proven by tests, {len(self.missing)} not.",
                "",
                "| rule | what it says | module | tests |",
                "|---|---|---|---|",
                *(f"| {rule} | {self.rules[rule]} | {self._modules(rule)} | {self._tests(rule)} |" for rule in proven),
                "",
                "## Proven in part",
                "",
                *_grouped(self.partly),
                "## Not proven by a test",
                "",
                *_grouped(self.missing),
                "## Differences from the KIP texts",
                "",
                "| id | subject | proven with |",
                "|---|---|---|",
                *(f"| {id} | {subject} | {rules} |" for id, subject, rules in read_differences()),
                "",
            ]
        )

    def _modules(self, rule: str) -> str:
        folders = sorted({Path(proof.path).parts[1] for proof in self.proofs[rule]})
        modules = self.modules.get(rule) or sorted({PARTS[folder] for folder in folders if folder in PARTS})
        return ", ".join(f"`{module}`" for module in modules) or "the repository"

    def _tests(self, rule: str) -> str:
        proofs = sorted(self.proofs[rule])
        more = f"; {len(proofs)} in all" if len(proofs) > _SHOWN_TESTS else ""
        return ", ".join(map(str, proofs[:_SHOWN_TESTS])) + more


def _grouped(reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield lines that name each reason once, with its rules."""
    rules_of: dict[str, list[str]] = defaultdict(list)
    for rule, reason in reasons.items():
        rules_of[reason].append(rule)
    for reason, rules in rules_of.items():
        yield f"- **{', '.join(rules)}**: {reason}"
    yield ""


def _reasons(groups: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {rule: group["reason"] for group in groups for rule in group["rules"]}


def specification() -> Specification:
    """Read the rules, the tests and the reasons."""
    reasons = tomllib.loads(REASONS.read_text())
    return Specification(
        rules=read_rules(),
        proofs=collect_proofs(),
        modules=modules_by_rule(),
        missing=_reasons(reasons["missing"]),
        partly=_reasons(reasons["partly"]),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.spec_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if there is a problem")
    is_checking = parser.parse_args(arguments).check
    found = specification()
    problems = list(found.problems())
    if not is_checking:
        DOCUMENT.write_text(found.document())
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != found.document():
        problems.append(f"{DOCUMENT.relative_to(ROOT)} is out of date: run `python -m scripts.spec_table`")
    print(
        "\n".join(problems)
        or f"{len(found.rules)} rules, {len(found.missing)} of them without a test, each with a reason"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
