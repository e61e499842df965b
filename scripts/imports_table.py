"""Writes docs/internals/imports.md: what each part of the product holds, and what it imports.

python -m scripts.imports_table            writes the document
python -m scripts.imports_table --check    writes nothing; the exit code is 1 if the document is out of date, or a part
                                           of raft is in no layer

What a part holds is the first paragraph of its docstring, what it imports is read from the code, and the order of the
layers is that of the contracts in pyproject.toml.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grimp import ImportGraph, build_graph

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "internals" / "imports.md"

_PACKAGES = ("kraft_spark", "pyspark_kraft", "datasource")
_RAFT = "raft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """The content of the document.

    Fields:
        layers: the parts of raft from top to bottom, those of one layer together; a part imports lower layers only.
        imported: for each part, the other parts that it imports.
        holds: for each part, what it holds.
        contracts: what import-linter checks, in words.
    """

    layers: Sequence[Sequence[str]]
    imported: Mapping[str, set[str]]
    holds: Mapping[str, str]
    contracts: Sequence[str]

    def document(self) -> str:
        """Return the document."""
        return "\n".join(
            [
                "# What imports what",
                "",
                "Made by `python -m scripts.imports_table` from the imports and the docstrings of the code. A test",
                "compares this page with the code.",
                "",
                "## Packages",
                "",
                "| package | holds | imports |",
                "|---|---|---|",
                *(self._row(package, package) for package in _PACKAGES),
                self._row(_RAFT, _RAFT),
                "",
                "## Layers of raft",
                "",
                "From top to bottom. A part imports parts of lower layers only. The prefix `raft.` is left out.",
                "",
                "| layer | part | holds | imports |",
                "|---|---|---|---|",
                *self._layer_rows(),
                "",
                "## Contracts",
                "",
                "`make check` proves these with import-linter; `pyproject.toml` has them.",
                "",
                *(f"- {contract}" for contract in self.contracts),
                "",
            ]
        )

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the layers, so that the document would be incomplete."""
        layers = {part for layer in self.layers for part in layer}
        for part in sorted(set(self.imported) - layers - {_RAFT, *_PACKAGES}):
            yield f"{part} is in no layer of the contract in pyproject.toml"
        for part in sorted(part for part in self.imported if not self.holds[part]):
            yield f"{part} has no docstring"

    def _layer_rows(self) -> Iterator[str]:
        for number, layer in enumerate(self.layers):
            for part in layer:
                yield f"| {len(self.layers) - number} {self._row(part.removeprefix(f'{_RAFT}.'), part)}"

    def _row(self, name: str, part: str) -> str:
        is_part_of_raft = part.startswith(f"{_RAFT}.")
        imported = sorted(self.imported[part])
        names = [each.removeprefix(f"{_RAFT}.") if is_part_of_raft else each for each in imported]
        return f"| `{name}` | {self.holds[part]} | {', '.join(f'`{each}`' for each in names)} |".replace("|  |", "| |")


def part_of(module: str) -> str:
    """Return the part of the product that a module belongs to: a package, or what is directly in `raft`."""
    names = module.split(".")
    return ".".join(names[:2]) if names[0] == _RAFT else names[0]


def imported_parts(graph: ImportGraph) -> dict[str, set[str]]:
    """Return for each part the other parts that one of its modules imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in graph.modules:
        part = part_of(module)
        found[part] |= {part_of(other) for other in graph.find_modules_directly_imported_by(module)} - {part}
    return found


def read_layers(contracts: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the layers of raft from top to bottom."""
    (listed,) = [each["layers"] for each in contracts if each["type"] == "layers" and "containers" not in each]
    return [layer.split(" | ") for layer in listed]


def first_paragraph(part: str) -> str:
    """Return the first paragraph of the docstring of a part, in one line."""
    path = ROOT / part.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def read_imports() -> Imports:
    """Read the code and the contracts."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    imported = imported_parts(build_graph(_RAFT, *_PACKAGES, cache_dir=None))
    return Imports(
        layers=read_layers(contracts),
        imported=imported,
        holds={part: first_paragraph(part) for part in imported},
        contracts=[contract["name"] for contract in contracts],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.imports_table", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if the document is out of date")
    is_checking = parser.parse_args(arguments).check
    imports = read_imports()
    problems = list(imports.problems())
    if not is_checking and not problems:
        DOCUMENT.write_text(imports.document())
    elif not problems and (not DOCUMENT.exists() or DOCUMENT.read_text() != imports.document()):
        problems.append(f"{DOCUMENT.relative_to(ROOT)} is out of date: run `python -m scripts.imports_table`")
    print("\n".join(problems) or f"{len(imports.imported)} parts in {len(imports.layers)} layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
