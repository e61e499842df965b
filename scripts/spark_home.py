"""Writes a home of Spark whose Python processes start in a third of the time: `python -m scripts.spark_home FOLDER`.

Spark's Python processes import pyspark from a zip. Python caches no compiled modules for a zip, so each process
compiles more than a hundred modules again. In this home, the zips have the compiled modules too; the rest are links to
the installed Spark. It is for the tests, which start hundreds of such processes.
"""

from __future__ import annotations

import importlib.util
import py_compile
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

_NOT_IMPORTED = ("/tests/", "pyspark/ml/", "pyspark/mllib/", "pyspark/pandas/", "pyspark/sql/connect/")
"""Parts of pyspark that these processes do not import."""


def write_spark_home(spark: Path, home: Path) -> None:
    """Write the home.

    Args:
        spark: the installed Spark, the folder of the package pyspark.
        home: the folder to write; it is replaced when it exists.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as name:
        partial = Path(name) / "home"
        libraries = partial / "python" / "lib"
        libraries.mkdir(parents=True)
        for each in ("bin", "jars", "sbin", "RELEASE"):
            if (spark / each).exists():
                (partial / each).symlink_to(spark / each)
        for archive in (spark / "python" / "lib").glob("*.zip"):
            _write_compiled(archive, libraries / archive.name)
        shutil.rmtree(home, ignore_errors=True)
        partial.rename(home)


def _write_compiled(archive: Path, compiled: Path) -> None:
    shutil.copy(archive, compiled)
    with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(compiled, "a") as target:
        module, bytecode = Path(name) / "module.py", Path(name) / "module.pyc"
        for entry in target.namelist():
            if entry.endswith(".py") and not any(part in entry for part in _NOT_IMPORTED):
                module.write_bytes(target.read(entry))
                # There is no need to compare it with the source in the zip, which does not change.
                unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
                py_compile.compile(
                    str(module), str(bytecode), dfile=f"{archive}/{entry}", doraise=True, invalidation_mode=unchecked
                )
                target.write(bytecode, f"{entry}c")


if __name__ == "__main__":
    specification = importlib.util.find_spec("pyspark")
    if specification is None or specification.origin is None:
        sys.exit("spark_home: pyspark is not installed")
    write_spark_home(Path(specification.origin).parent, Path(sys.argv[1]))
