"""`kraft doctor`: checks what a Spark application needs, one line for each check."""

from __future__ import annotations

import os

import typer

from raft.cli import doctor_checks
from raft.cli.connection import BootstrapServer, CommandConfig, Timeout, client_for
from raft.cli.doctor_checks import Finding
from raft.printable import printable


def doctor(
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    timeout_ms: Timeout = 10_000,
) -> None:
    """Check Python, packages, Java and ports of this machine, and a quorum if it is named.

    Each line says ok or problem. The exit code is 1 if there is a problem.
    """
    has_problems = False
    for finding in doctor_checks.findings(os.environ):
        _print(finding)
        has_problems |= finding.is_problem
    if bootstrap_server is not None or command_config is not None:
        with client_for(bootstrap_server, timeout_ms, command_config) as client:
            finding = doctor_checks.quorum(client)
        _print(finding)
        has_problems |= finding.is_problem
    if has_problems:
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    state = "problem" if finding.is_problem else "ok"
    remedy = f"; {finding.remedy}" if finding.is_problem else ""
    typer.echo(f"{state:8}{finding.what:12}{printable(f'{finding.found}{remedy}')}")
