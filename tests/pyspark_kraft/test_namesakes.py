"""Modules of the user's in the working directory that have the names of this project's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a `raft.py` and a package `datasource`."""
    (tmp_path / "raft.py").write_text("river = True\n")
    (tmp_path / "datasource").mkdir()
    (tmp_path / "datasource" / "__init__.py").write_text("river = True\n")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python there; the folder comes first on its path."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.spark
def test_everything_works_beside_them(folder: Path) -> None:
    shutil.copy(Path(__file__).with_name("namesakes.py"), folder)

    ended = run(folder, "namesakes.py")

    assert ended.stdout.split() == ["a", "b", "a", "b"], ended.stderr


@pytest.mark.parametrize(
    ("name", "file"),
    [("raft", "raft.py"), ("datasource", os.path.join("datasource", "__init__.py"))],  # noqa: PTH118 - as it is said
)
@pytest.mark.parametrize(
    "use",
    [
        pytest.param("import kraft_spark", id="package"),
        pytest.param("from pyspark_kraft import DefaultSource as s; assert s.name() == 'kraft'; s({})", id="source"),
        pytest.param(
            "from pyspark_kraft.pickles import restore; restore('datasource.task_rows', 'TaskRows')", id="pickle"
        ),
    ],
)
def test_one_that_is_imported_first_is_named(folder: Path, name: str, file: str, use: str) -> None:
    ended = run(folder, "-c", f"import {name}\n{use}")

    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: the module {name} of {folder / file} was imported before, and hides")
    assert f"the package {name} of kraft-spark in " in last
    assert last.endswith("rename that module, or import kraft_spark before it")


def test_packages_are_imported_anew_after_a_failure(folder: Path) -> None:
    program = (
        "import sys\n"
        "from pyspark_kraft import own_packages\n"
        "sys.modules.pop('raft')\n"
        "own_packages._FOLDER = '/nowhere'\n"
        "try:\n"
        "    own_packages._load('raft')\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error, 'raft' in sys.modules)\n"
    )

    ended = run(folder, "-c", program)

    assert ended.stdout == "kraft-spark is incomplete: /nowhere has no package raft, install it again False\n", (
        ended.stderr
    )


def test_task_rows_are_the_same_after_a_pickle_that_needs_no_path(folder: Path) -> None:
    program = (
        "import pickle, pyspark_kraft\n"
        "from datasource.task_rows import TaskRows\n"
        "from raft.types import WritePart\n"
        "part = WritePart(producer_id=7, record_count=1, content_checksum=2)\n"
        "rows = TaskRows(rows=b'x', part=part, row_count=1, query=None)\n"
        "data = pickle.dumps(rows)\n"
        "assert pickle.loads(data) == rows\n"
        "assert b'pyspark_kraft' in data[:40], data\n"
    )

    ended = run(folder, "-c", program)

    assert ended.returncode == 0, ended.stderr
