"""Writes docs/options.md: the options of `format("kraft")`, from their table (`datasource.options`) and their types.

python -m scripts.options_table            writes the document
python -m scripts.options_table --check    writes nothing; the exit code is 1 if it is out of date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from datasource.option import Use
from datasource.options import OPTIONS
from kraft_spark.option_types import KraftReadOptions, KraftWriteOptions
from scripts.rule_citations import ROOT

DOCUMENT = ROOT / "docs" / "options.md"

_HEAD = """\
# Options

The options of `format("kraft")`. Made by `python -m scripts.options_table` from `datasource/options.py`. With the
types `KraftReadOptions` and `KraftWriteOptions` of `kraft_spark`, editors complete the names, and type checkers find
wrong ones.

Names are the same in all cases of letters. A name that is no option, and a value that is not expected, is an error at
`load()`, `save()` or `start()`; so is an option of Kafka's source that does not exist here, which says what to use
instead. Defaults for all reads and writes of an application can be put into a file: see [SQL and
tables](sql.md#defaults-kraft_config)."""

_SECTIONS = {
    "Reads and writes": (Use.ALL,),
    "Reads": (Use.READ, Use.STREAM, Use.BATCH),
    "Writes": (Use.WRITE,),
}
_ONE_KIND_OF_READ = {Use.STREAM: "streams: ", Use.BATCH: "batches: "}
_NAMES_OF_TYPES = {str: "text", int: "number", bool: "`true`, `false`"}


def document() -> str:
    """Return the content of the document."""
    sections = [f"## {title}\n\n" + "\n".join(_table(uses)) for title, uses in _SECTIONS.items()]
    return "\n\n".join((_HEAD, *sections)) + "\n"


def _table(uses: tuple[Use, ...]) -> Iterator[str]:
    types = get_type_hints(KraftReadOptions) | get_type_hints(KraftWriteOptions)
    yield "| option | value | default | meaning |"
    yield "|---|---|---|---|"
    for row in OPTIONS:
        if row.uses in uses:
            meaning = _ONE_KIND_OF_READ.get(row.uses, "") + row.meaning
            yield f"| `{row.name}` | {_values(types[row.name])} | {row.shown_default} | {meaning} |"


def _values(hint: Any) -> str:
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if origin in (Union, UnionType):
        return ", ".join(map(_values, get_args(hint)))
    return _NAMES_OF_TYPES[hint]


def write_or_check(path: Path, content: str, script: str, arguments: list[str] | None) -> int:
    """Write or check a document, as the arguments of a script say; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {script}", description=f"Writes {path.relative_to(ROOT)}.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the document is out of date")
    if not parser.parse_args(arguments).check:
        path.write_text(content)
        return 0
    if not path.exists() or path.read_text() != content:
        print(f"{path.relative_to(ROOT)} is out of date: run `python -m {script}`")
        return 1
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Write or check the document; return the exit code."""
    return write_or_check(DOCUMENT, document(), "scripts.options_table", arguments)


if __name__ == "__main__":
    sys.exit(main())
