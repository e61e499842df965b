"""Writes docs/options.md: the options of `format("kraft")`, from their types (`kraft_spark.option_types`).

python -m scripts.options_table            writes the document
python -m scripts.options_table --check    writes nothing; the exit code is 1 if it is out of date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from datasource.options import BATCH_ONLY, STREAM_ONLY
from kraft_spark.option_types import KraftReadOptions, KraftWriteOptions, option_meanings
from scripts.rule_citations import ROOT

DOCUMENT = ROOT / "docs" / "options.md"

_HEAD = """\
# Options

The options of `format("kraft")`. Made by `python -m scripts.options_table` from the types `KraftReadOptions` and
`KraftWriteOptions` of `kraft_spark`, with which editors complete the names and type checkers find wrong ones.

Names are the same in all cases of letters. A name that is no option, and a value that is not expected, is an error at
`load()`, `save()` or `start()`; so is an option of Kafka's source that does not exist here, which says what to use
instead. Defaults for all reads and writes of an application can be put into a file: see [SQL and
tables](sql.md#defaults-kraft_config)."""

_SECTIONS = (
    ("Reads and writes", {*get_type_hints(KraftReadOptions)} & {*get_type_hints(KraftWriteOptions)}),
    ("Reads", {*get_type_hints(KraftReadOptions)} - {*get_type_hints(KraftWriteOptions)}),
    ("Writes", {*get_type_hints(KraftWriteOptions)} - {*get_type_hints(KraftReadOptions)}),
)

_NAMES_OF_TYPES = {str: "text", int: "number", bool: "`true`, `false`"}


def document() -> str:
    """Return the content of the document."""
    sections = [f"## {title}\n\n" + "\n".join(_table(names)) for title, names in _SECTIONS]
    return "\n\n".join((_HEAD, *sections)) + "\n"


def _table(names: set[str]) -> Iterator[str]:
    meanings = option_meanings(KraftReadOptions) | option_meanings(KraftWriteOptions)
    types = get_type_hints(KraftReadOptions) | get_type_hints(KraftWriteOptions)
    yield "| option | value | default | meaning |"
    yield "|---|---|---|---|"
    for name, meaning in meanings.items():
        if name in names:
            said, default = _without_default(meaning)
            yield f"| `{name}` | {_values(types[name])} | {default} | {_kind(name)}{said} |"


def _without_default(meaning: str) -> tuple[str, str]:
    """Split a meaning into what it says, and the default in it."""
    required = meaning.removeprefix("required: ")
    if required != meaning:
        return required, "required"
    parts = meaning.split("; ")
    defaults = [part for part in parts if part.startswith("default: ")]
    said = "; ".join(part for part in parts if part not in defaults)
    return said, defaults[0].removeprefix("default: ") if defaults else ""


def _values(hint: Any) -> str:
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if origin in (Union, UnionType):
        return ", ".join(map(_values, get_args(hint)))
    return _NAMES_OF_TYPES[hint]


def _kind(name: str) -> str:
    return "streams: " if name in STREAM_ONLY else "batches: " if name in BATCH_ONLY else ""


def main(arguments: list[str] | None = None) -> int:
    """Write or check the document; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.options_table", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the document is out of date")
    if not parser.parse_args(arguments).check:
        DOCUMENT.write_text(document())
        return 0
    if not DOCUMENT.exists() or DOCUMENT.read_text() != document():
        print(f"{DOCUMENT.relative_to(ROOT)} is out of date: run `python -m scripts.options_table`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
