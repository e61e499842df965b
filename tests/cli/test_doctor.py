"""`kraft doctor`: what it finds on a machine, and what it says to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from raft.cli import doctor_checks
from raft.cli.doctor_checks import REQUIREMENTS, Finding, Requirement
from raft.local import ports
from raft.version import __version__
from tests.cli.in_process import KraftInProcess
from tests.processes.commands import ROOT, child_environment
from tests.processes.finished import run_to_end

PYTHON = "{}.{}".format(*sys.version_info)
HERE = str(Path(sys.executable).parent)


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has nothing installed."""
    folder = tmp_path_factory.mktemp("environment").resolve()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python3"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without the packages of this checkout, which a Python would import from there."""
    monkeypatch.chdir(tmp_path)


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def workers(**environment: str) -> list[Finding]:
    return list(doctor_checks.workers({"PATH": HERE} | environment))


def test_machine_without_problems_has_exit_code_0(here: KraftInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    done = here("doctor")

    lines = done.output.splitlines()
    assert (done.exit_code, done.errors) == (0, "")
    assert {line.split()[0] for line in lines} == {"ok"}
    expected = ["kraft-spark", *(each.name for each in REQUIREMENTS), "workers", "java", "port"]
    assert [line.split()[1] for line in lines] == expected


def test_machine_with_a_problem_has_exit_code_1(
    here: KraftInProcess, monkeypatch: pytest.MonkeyPatch, bare_python: Path
) -> None:
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare_python))
    monkeypatch.delenv("PYTHONPATH", raising=False)

    done = here("doctor")

    (problem,) = [line for line in done.output.splitlines() if not line.startswith("ok ")]
    assert (done.exit_code, done.errors) == (1, "")
    assert problem == (
        f"problem workers     PYSPARK_PYTHON={bare_python} cannot import kraft_spark (ModuleNotFoundError: No module "
        f"named 'kraft_spark'); set PYSPARK_PYTHON={sys.executable} before Spark starts, or install "
        f"kraft-spark=={__version__} there"
    )


def test_workers_run_python3_of_the_path_without_the_variable(bare_python: Path) -> None:
    (finding,) = workers(PATH=str(bare_python.parent))

    assert finding.found.startswith(f"python3 of the PATH (PYSPARK_PYTHON is not set): {bare_python} cannot import ")
    assert finding.remedy == (
        f"set PYSPARK_PYTHON={sys.executable} before Spark starts, or import kraft_spark before the first session"
    )


def test_python_that_plans_may_be_another_one_than_that_of_functions(bare_python: Path) -> None:
    planning, of_functions = workers(
        PYSPARK_DRIVER_PYTHON=sys.executable, PYSPARK_PYTHON=str(bare_python), PYTHONPATH=str(ROOT)
    )

    assert planning.found == f"PYSPARK_DRIVER_PYTHON={sys.executable} has kraft-spark {__version__}"
    assert of_functions.found.startswith(f"PYSPARK_PYTHON={bare_python} ")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            f"""echo '{{"python": "{PYTHON}", "version": "0.0.1"}}'""",
            f"has kraft-spark 0.0.1, and this Python has {__version__}",
            id="another version",
        ),
        pytest.param(
            f"""echo '{{"python": "3.8", "version": "{__version__}"}}'""",
            f"is Python 3.8, and this is {PYTHON}",
            id="another Python",
        ),
        pytest.param("exit 1", "does not run as a Python", id="an error"),
        pytest.param("echo hello", "does not run as a Python", id="no Python"),
        pytest.param("true", "does not run as a Python", id="nothing"),
    ],
)
def test_workers_of_another_kind_are_a_problem(tmp_path: Path, text: str, found: str) -> None:
    path = program(tmp_path / "bin", "other", text)

    (finding,) = workers(PYSPARK_PYTHON=str(path))

    assert finding.found == f"PYSPARK_PYTHON={path} {found}"
    assert finding.is_problem


def test_python_that_is_not_found_is_a_problem() -> None:
    (finding,) = workers(PYSPARK_PYTHON="/no/python")

    assert (finding.found, finding.is_problem) == ("PYSPARK_PYTHON=/no/python is not found", True)


def test_requirements_are_those_of_the_project() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def as_written(each: Requirement) -> str:
        return f"{each.name}>={each.least}" + (f",<{each.below}" if each.below else "")

    for extra in ("spark", "pandas"):
        assert {as_written(each) for each in REQUIREMENTS if each.extra == extra} == {*extras[extra]}


@pytest.mark.parametrize(
    ("version", "is_problem"),
    [
        ("4.3", False),
        ("4.3.0", False),
        ("4.10.1", False),
        ("4.2.9", True),
        ("4", True),
        ("5", True),
        ("5.0.0.dev1", True),
    ],
)
def test_version_of_a_package_is_compared_by_its_numbers(
    monkeypatch: pytest.MonkeyPatch, version: str, is_problem: bool
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _name: version)

    finding = doctor_checks.package(Requirement(name="pyspark", least="4.3", below="5"))

    assert (finding.found, finding.is_problem) == (version, is_problem)
    if is_problem:
        assert finding.remedy == "expected pyspark 4.3 or newer, below 5: pip install 'kraft-spark[spark]'"


def test_missing_package_is_a_problem_unless_it_is_optional() -> None:
    needed = doctor_checks.package(Requirement(name="no-such-package", least="1"))
    optional = doctor_checks.package(Requirement(name="no-such-package", least="1", extra="pandas", is_optional=True))

    assert (needed.found, needed.remedy) == ("not installed", "pip install 'kraft-spark[spark]'")
    assert not optional.is_problem
    assert optional.found.endswith("pip install 'kraft-spark[pandas]'")


@pytest.mark.parametrize(
    ("text", "found", "is_problem"),
    [
        pytest.param("""echo 'openjdk version "17.0.15" 2025' >&2""", "17.0.15 ({path})", False, id="17"),
        pytest.param("""echo 'openjdk version "21" 2023' >&2""", "21 ({path})", False, id="21"),
        pytest.param("""echo 'java version "1.8.0_392"' >&2""", "1.8.0_392 ({path})", True, id="8"),
        pytest.param("echo hello", "java of the PATH does not say its version: {path}", True, id="no version"),
        pytest.param("exit 1", "java of the PATH does not run: {path}", True, id="an error"),
    ],
)
def test_java_has_the_version_that_spark_needs(tmp_path: Path, text: str, found: str, is_problem: bool) -> None:
    path = program(tmp_path / "bin", "java", text)

    finding = doctor_checks.java({"PATH": f"{path.parent}:{os.defpath}"})

    assert (finding.found, finding.is_problem) == (found.format(path=path), is_problem)


def test_java_is_that_of_java_home_first(tmp_path: Path) -> None:
    program(tmp_path / "bin", "java", """echo 'openjdk version "17.0.15"' >&2""")

    finding = doctor_checks.java({"PATH": str(tmp_path / "bin"), "JAVA_HOME": "/no/java"})

    assert finding.found == "JAVA_HOME=/no/java is not found"
    assert finding.remedy is not None
    assert "install Java 17 or newer" in finding.remedy


def test_machine_on_which_no_node_can_listen_has_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_ATTEMPTS", 0)

    finding = doctor_checks.port()

    assert finding.is_problem
    assert finding.found.startswith("fewer than 1 free ports on 127.0.0.1 ")


def test_quorum_is_asked_for_its_leader(here: KraftInProcess, server: str) -> None:
    sound = here("doctor", "--bootstrap-server", server).output.splitlines()[-1]
    down = here("doctor", "--bootstrap-server", "127.0.0.1:1", "--timeout-ms", "100")

    assert re.fullmatch(r"ok +quorum +\S+, leader 1 of epoch \d+", sound)
    assert re.match(
        r"problem +quorum +no leader found within 100 ms: .*; check that the nodes run", down.output.splitlines()[-1]
    )
    assert down.exit_code == 1


def test_module_is_the_same_command_without_the_choice_of_an_import(bare_python: Path) -> None:
    environment = child_environment(PATH=f"{bare_python.parent}:{os.environ['PATH']}")
    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        environment.pop(variable, None)

    done = run_to_end("python -m kraft_spark", [sys.executable, "-m", "kraft_spark"], environment=environment)

    assert done.exit_code == 1
    assert f"problem workers     python3 of the PATH (PYSPARK_PYTHON is not set): {bare_python} " in done.output
