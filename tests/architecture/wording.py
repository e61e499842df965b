"""Words that the house does not write, and what it writes in their place (STYLE.md).

python -m tests.architecture.wording    lists every place where one of them is written
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("raft", "datasource", "kraft_spark", "pyspark_kraft")
DOCUMENTS = "docs"
PROGRAMS = ("benchmarks", "examples", "scripts")
REAL_PROCESSES = tuple(
    f"tests/{folder}" for folder in ("harness", "hostile", "java", "network", "processes", "soak", "spark", "workload")
)
"""The tests that run real processes and real connections."""

FOLDERS = (*PACKAGES, DOCUMENTS, *PROGRAMS, *REAL_PROCESSES)

TERMS_OF_THE_FIELD = {
    r"\bterms?\b(?! of leadership)": "epoch",
    r"\bcommit index\b": "high watermark",
    r"\blearners?\b": "observer",
    r"\blog entr(y|ies)\b": "record or batch",
    r"\bproposals?\b": "append",
    r"\bTODO\b": "an issue",
    r"\bFIXME\b": "an issue",
}
"""Of other protocols, for what Kafka has a word; looked for in the product alone, as documents name both."""

PLAIN_ENGLISH = {
    r"\bplatters?\b": "disk",
    r"\breign(s|ed)?\b": "epoch, or term of leadership",
    r"\bheed(s|ed|ing)?\b": "handle",
    r"\bnobody\b": "no client, no node, none",
    r"\bwhoever\b": "the caller, a client that",
    r"\banybody's guess\b": "undefined",
    r"\bunsaid\b": "not sent",
    r"\bfarewells?\b": "EndQuorumEpoch",
    r"\bsigns? of life\b": "contact from the leader",
    r"\b(gives?|gave|giving) (its|their|the) leader up\b": "fetch timeout expired; starts a pre-vote",
    r"\bfor check quorum's time\b": "within the check-quorum timeout",
    r"\b(its|the) time is over\b": "timed out",
    r"\b(needs?|takes?) (no )?leave\b": "reserves budget, without reserving budget",
    r"\bwanted (is|are)\b": "expected",
    r"\ballowed (is|are)\b": "expected",
    r"\bis none of\b(?! these)": "is not an option of",
    r"\bthat cannot be\b(?=[.,;:!)'\"])": "invalid, not supported",
    r"\b(batch|its|a) heads?\b|\bheads? of (a|the) batch(es)?\b": "header",
    r"\b(is|are|was|were|be|been|gets) cut\b(?! into)|\bcuts? (it|them|off|back|the log)\b": "truncate",
    r"\b(an?|the|its|this|that|each|every|no) (answers?|repl(y|ies))\b": "response",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offence:
    """A place where a word is written that the house does not write."""

    path: Path
    line_number: int
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line_number}: {self.word!r}: write {self.instead}"


def files(folder: str) -> Iterator[Path]:
    """Yield what people read of a folder; the documents at the root belong to `docs`.

    Two are left out: STYLE.md shows these words on purpose, and spec.md is made of the names of tests.
    """
    if folder == DOCUMENTS:
        documents = [*ROOT.glob("*.md"), *(ROOT / folder).rglob("*.md")]
        yield from sorted(path for path in documents if path.name not in ("STYLE.md", "spec.md"))
    else:
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".c", ".h"))


def offences(folder: str, pattern: str, instead: str) -> Iterator[Offence]:
    """Yield where a word is written in a folder, in letters of either case."""
    for path in files(folder):
        for number, line in enumerate(_lines(path), 1):
            if found := re.search(pattern, line, re.IGNORECASE):
                yield Offence(path=path, line_number=number, word=found.group(), instead=instead)


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def main() -> None:
    for pattern, instead in PLAIN_ENGLISH.items():
        for folder in FOLDERS:
            for offence in offences(folder, pattern, instead):
                print(offence)


if __name__ == "__main__":
    main()
