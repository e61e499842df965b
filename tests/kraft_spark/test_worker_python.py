"""Which Pythons count as this one, and the warning about another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from kraft_spark.worker_python import WorkerPython, choose_this_python, warn_of_another_python
from tests.spark.applications import Application

HERE = str(Path(sys.executable).parent)


def worker(command: object, path: str | None = HERE, *, runs_here: bool = True) -> WorkerPython:
    return WorkerPython(command=str(command), variable="PYSPARK_PYTHON", path=path, runs_here=runs_here)


@pytest.fixture(scope="module")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of another environment; the file is the same as ours, by links."""
    folder = tmp_path_factory.mktemp("environment").resolve()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def script(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_python_is_this_one_by_whatever_name(tmp_path: Path) -> None:
    link_to_folder = tmp_path / "environment"
    link_to_folder.symlink_to(sys.prefix)
    by_folder = link_to_folder / Path(sys.executable).relative_to(sys.prefix)
    by_script = script(tmp_path, f'exec {sys.executable} "$@"')

    commands = [sys.executable, "python3", by_folder, by_script]

    assert [worker(command).difference() for command in commands] == [None] * 4


def test_python_of_another_environment_is_another_though_the_file_is_the_same(other_python: Path) -> None:
    assert other_python.resolve() == Path(sys.executable).resolve()

    version = "{}.{}".format(*sys.version_info)
    assert worker(other_python).difference() == f"the Python {version} of {other_python.parent.parent}"
    assert worker("python3", str(other_python.parent)).difference() is not None


def test_python_of_another_version_is_another_though_the_folder_is_the_same(tmp_path: Path) -> None:
    older = script(tmp_path, f"echo {sys.prefix}; echo 3.8")

    assert worker(older).difference() == f"the Python 3.8 of {sys.prefix}"


@pytest.mark.parametrize("text", ["echo jupyter", "exit 2"], ids=["says something else", "fails"])
def test_program_that_is_no_python_is_reported(tmp_path: Path, text: str) -> None:
    assert worker(script(tmp_path, text)).difference() == "which does not run as a Python"


def test_python_that_is_not_found_is_reported_unless_it_may_be_elsewhere() -> None:
    assert worker("./environment/bin/python").difference() == "which is not found"
    assert worker("./environment/bin/python", runs_here=False).difference() is None


def test_warning_comes_once_and_names_both_pythons_and_the_variable(other_python: Path) -> None:
    with pytest.warns(UserWarning, match="Spark's Python workers run") as caught:
        warn_of_another_python([worker("python3"), worker(other_python), worker("nowhere")], stack_level=1)

    (warning,) = caught
    said = str(warning.message)
    assert f"workers run {other_python}, the Python" in said
    assert f"this program runs {sys.executable}. " in said
    assert f"Set the environment variable PYSPARK_PYTHON={sys.executable} before the first session" in said
    assert warning.filename == __file__


def test_nothing_is_warned_of_when_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_another_python([worker("python3"), worker(sys.executable)], stack_level=1)


def test_workers_run_this_python_where_nothing_says_which() -> None:
    environment = {"PATH": "/usr/bin"}

    choose_this_python(environment, has_started=False)

    assert environment == {"PATH": "/usr/bin", "PYSPARK_PYTHON": sys.executable}


@pytest.mark.parametrize(
    ("environment", "has_started"),
    [
        pytest.param({"PYSPARK_PYTHON": "python3.12"}, False, id="the user says which"),
        pytest.param({"PYSPARK_DRIVER_PYTHON": "jupyter"}, False, id="the user says which for the driver"),
        pytest.param({"PYSPARK_GATEWAY_PORT": "4711"}, False, id="spark-submit has started the JVM"),
        pytest.param({"PYTHON_WORKER_FACTORY_SECRET": "x"}, False, id="in a worker"),
        pytest.param({}, True, id="the JVM runs"),
    ],
)
def test_workers_python_is_left_alone_where_it_is_settled(environment: dict[str, str], has_started: bool) -> None:
    before = dict(environment)

    choose_this_python(environment, has_started=has_started)

    assert environment == before


@pytest.mark.spark
def test_source_is_found_in_an_environment_that_is_not_activated(other_python: Path) -> None:
    unset = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment = unset | {"PATH": f"{other_python.parent}{os.pathsep}{os.environ['PATH']}"}

    with Application("tests.kraft_spark.importing_application", environment=environment) as application:
        assert application.line() == "offset"
        assert application.wait() == 0


@pytest.mark.spark
def test_service_warns_where_the_source_will_not_be_found(tmp_path: Path, other_python: Path) -> None:
    unset = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment = unset | {"PATH": f"{other_python.parent}{os.pathsep}{os.environ['PATH']}"}

    with Application("tests.kraft_spark.warned_application", tmp_path, environment=environment) as application:
        said = [application.line() for _ in range(3)]
        assert application.wait() == 0, application.errors
    place, warning, nothing_more = said
    assert re.search(r"warned_application\.py:\d+$", place)
    assert f"workers run python3, the Python {sys.version_info.major}." in warning
    assert f"of {other_python.parent.parent}; this program runs {sys.executable}. " in warning
    assert nothing_more == "[DATA_SOURCE_NOT_FOUND]"
