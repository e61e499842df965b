"""What is done in one module only: the bytes of a batch's header, and the loading of code in C."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("raft", "datasource", "kraft_spark", "pyspark_kraft")
HEADER_FIELDS = "raft/records/header_fields.py"
LIBRARY = "raft/native/library.py"

UNPACKING = {"unpack", "unpack_from", "iter_unpack", "from_bytes"}
READS_INDEXES_TOO = {"raft/status/directory.py"}
"""Modules that read headers by `header_fields`, and the bytes of something else by themselves."""


def unpacks_a_header(name: str, source: str) -> Iterator[str]:
    """Yield why a module seems to read the bytes of a header itself."""
    tree = ast.parse(source)
    knows_headers = any(
        isinstance(node, ast.ImportFrom) and node.module == "raft.records.header_fields" for node in ast.walk(tree)
    )
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="HEADER"), attr=attribute) if attribute != "size":
                yield f"{name}:{node.lineno}: HEADER.{attribute}"
            case ast.Attribute(attr=attribute) if attribute in UNPACKING and knows_headers:
                if name not in READS_INDEXES_TOO:
                    yield f"{name}:{node.lineno}: {attribute}"
            case ast.Call(func=ast.Attribute(attr="Struct"), args=[ast.Constant(value=str(form))]) if "x" in form:
                yield f"{name}:{node.lineno}: a structure that skips bytes: {form}"
            case _:
                pass


def loads_code_in_c(name: str, source: str) -> Iterator[str]:
    """Yield where a module loads a library; `CDLL(None)` is this process itself."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="CDLL" | "PyDLL"), args=[ast.Constant(value=None)]):
                pass
            case ast.Call(func=ast.Attribute(attr="CDLL" | "PyDLL" | "LoadLibrary" | "dlopen" as function)):
                yield f"{name}:{node.lineno}: {function}"
            case _:
                pass


def product() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_one_module_reads_the_bytes_of_a_header() -> None:
    assert not [
        place for name, source in product() if name != HEADER_FIELDS for place in unpacks_a_header(name, source)
    ]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("HEADER.unpack_from(data)", id="by the structure of the header"),
        pytest.param(
            "from raft.records.header_fields import MAGIC\n_LENGTH.unpack_from(data, 8)", id="by a part of it"
        ),
        pytest.param("from raft.records.header_fields import MAGIC\nint.from_bytes(data[8:12])", id="by a slice"),
        pytest.param("import struct\n_FORM = struct.Struct('>8xi45xi')", id="by a structure with gaps"),
    ],
)
def test_module_that_reads_a_header_itself_is_found(source: str) -> None:
    assert list(unpacks_a_header("example.py", source))


def test_one_module_loads_code_in_c() -> None:
    loading = [place for name, source in product() for place in loads_code_in_c(name, source)]

    assert {place.partition(":")[0] for place in loading} == {LIBRARY}
    assert len(loading) == 2, "one that releases the interpreter's lock, one that keeps it"


def test_code_in_c_is_in_one_folder() -> None:
    sources = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.[ch]")}

    assert sources == {ROOT / "raft" / "native"}


SPARK_INTERNALS = re.compile(
    r"\._(jvm|jsc|gateway|jsparkSession|root_directory|localProperties|get_j_spark_session_class)\b"
    r"|SPARK_HIDE_TRACEBACK|\bgc\.freeze|TCP_QUICKACK|pyspark\.sql\.worker\.|pyspark\.daemon"
)


def test_what_is_not_public_in_pyspark_is_used_in_one_folder() -> None:
    """The other one is the package that Spark finds first, which imports nothing until it has checked the modules."""
    folder = ROOT / "datasource" / "spark_internals"
    users = {
        str(path.relative_to(ROOT))
        for package in ("datasource", "kraft_spark", "pyspark_kraft")
        for path in (ROOT / package).rglob("*.py")
        if folder not in path.parents and SPARK_INTERNALS.search(path.read_text())
    }

    assert users == {"pyspark_kraft/presence.py"}
    assert [path for path in folder.glob("*.py") if SPARK_INTERNALS.search(path.read_text())]
