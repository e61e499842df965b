"""What all commands have in common: exit codes, one line for an error, help."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft import __version__
from raft.local.ports import free_ports
from tests.cli.in_process import KraftInProcess
from tests.processes.kraft import kraft

UNUSED = f"127.0.0.1:{free_ports(1)[0]}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["append", "--bootstrap-server", UNUSED, "--timeout-ms", "200", "x"], "no leader found within 200 ms: "),
        (["read", "--bootstrap-server", UNUSED, "--timeout-ms", "200"], "no leader found within 200 ms: "),
        (
            ["quorum", "describe", "--bootstrap-server", UNUSED, "--timeout-ms", "200", "--status"],
            "no leader found within 200 ms: ",
        ),
        (["read", "--bootstrap-server", "nowhere"], "--bootstrap-server=nowhere: expected host:port with a port of"),
        (["read", "--bootstrap-server", ","], "--bootstrap-server is empty: expected host:port,..."),
        (["serve", "--config", "/nowhere/node.properties"], "cannot read /nowhere/node.properties: "),
        (["dump-log", "/nowhere/0.log"], "cannot read /nowhere/0.log: No such file or directory"),
    ],
)
def test_refusal_is_one_line_and_exit_code_1(here: KraftInProcess, arguments: list[str], words: str) -> None:
    done = here(*arguments)

    assert (done.exit_code, done.output) == (1, "")
    (line,) = done.errors.splitlines()
    assert line.startswith(f"kraft: {words}")


def test_process_that_is_refused_ends_as_the_command_does(tmp_path: Path) -> None:
    done = kraft("dump-log", str(tmp_path / "0.log"))

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors == f"kraft: cannot read {tmp_path / '0.log'}: No such file or directory\n"


def test_version_is_that_of_the_package(here: KraftInProcess) -> None:
    done = here("--version")

    assert (done.exit_code, done.output, done.errors) == (0, f"{__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["read"], "expected --bootstrap-server, or bootstrap.servers in the file of --command-config"),
        (["backup", "file"], "expected --bootstrap-server, or bootstrap.servers in the file of --command-config"),
        (["serve"], "Missing option '--config'"),
        (["dump-log"], "Missing argument 'path'"),
        (["read", "--bootstrap-server", UNUSED, "--frobnicate"], "No such option: --frobnicate"),
        (["quorum", "frobnicate"], "No such command 'frobnicate'"),
        (["dev", "--voters", "0"], "--voters"),
        (["dev", "--base-port", "70000"], "--base-port"),
    ],
)
def test_wrong_usage_is_exit_code_2(here: KraftInProcess, arguments: list[str], words: str) -> None:
    done = here(*arguments)

    assert (done.exit_code, done.output) == (2, "")
    assert words.lower() in done.errors.lower()


@pytest.mark.parametrize("arguments", [[], ["quorum"]])
def test_command_without_arguments_shows_its_help_as_wrong_usage(here: KraftInProcess, arguments: list[str]) -> None:
    done = here(*arguments)

    assert done.exit_code == 2
    assert "Usage: kraft" in done.output + done.errors


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["serve"],
        ["dev"],
        ["doctor"],
        ["append"],
        ["read"],
        ["dump-log"],
        ["backup"],
        ["restore"],
        ["quorum"],
        ["quorum", "describe"],
        ["node"],
        ["node", "status"],
    ],
)
def test_every_command_has_help(here: KraftInProcess, command: list[str]) -> None:
    done = here(*command, "--help")

    assert (done.exit_code, done.errors) == (0, "")
    assert f"Usage: {' '.join(['kraft', *command])}" in done.output
    assert "--exit-with-stdin" not in done.output, "for supervisors alone"
