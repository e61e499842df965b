"""`kraft check`: reads the log of a stopped node and names what is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from raft.cli.node_folder import log_directory
from raft.cli.output import until_reader_leaves
from raft.cli.printable import to_json
from raft.errors import StorageError
from raft.printable import printable
from raft.storage.directory_check import DirectoryCheck
from raft.storage.disk import DiskFiles
from raft.storage.log_check import Finding, LogFinding

_ADVICE = {
    LogFinding.STALE: "A stale file follows from the batches: --repair removes it, and the next start makes it again.",
    LogFinding.TORN: "A torn end is what an interrupted write leaves: the next start truncates it.",
    LogFinding.UNCLEAR: "A log that is damaged above the recovery point, with whole batches after it, is truncated "
    "there with --repair. Records from that offset on are lost on this node then. Do that only if no other voter has "
    "the whole log; else take the log from the others, see below.",
    LogFinding.LOST: "What was flushed is damaged or missing, and --repair does not change it. Take the log from the "
    "other nodes: if more than half of all voters have a whole log, move all files of the partition's folder away but "
    "quorum-state, which holds the node's vote, and start the node: it copies the log from the leader. If not, restore "
    "a backup.",
}


def check(
    directory: Annotated[
        Path,
        typer.Argument(
            help="The log directory of a node that is stopped (log.dirs), or the folder of a voter of a local quorum."
        ),
    ],
    repair: Annotated[
        bool, typer.Option("--repair", help="Truncate a log that is damaged above its recovery point.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Read everything in a node's directory and name what is damaged. The exit code is 1 if something is."""
    directory = log_directory(directory)
    checked = DirectoryCheck(DiskFiles(directory))
    try:
        findings = []
        with until_reader_leaves():
            for finding in checked.findings():
                findings.append(finding)
                typer.echo(_to_json(finding) if as_json else f"{finding.state.upper():8} {printable(_text(finding))}")
        if repair:
            for done in checked.repair(findings):
                typer.echo(done, err=as_json)
            findings = list(checked.findings())
    finally:
        checked.close()
    bad = [
        state
        for state in (LogFinding.LOST, LogFinding.UNCLEAR, LogFinding.STALE, LogFinding.TORN)
        if _has(findings, state)
    ]
    for state in bad:
        typer.echo(_ADVICE[state], err=True)
    if any(state is not LogFinding.TORN for state in bad):
        count = sum(
            finding.state not in {LogFinding.SOUND, LogFinding.MISSING, LogFinding.TORN} for finding in findings
        )
        raise StorageError(f"{directory} is damaged: {count} of {len(findings)} files")


def _has(findings: list[Finding], state: LogFinding) -> bool:
    return any(finding.state is state for finding in findings)


def _text(finding: Finding) -> str:
    return f"{finding.name}: {finding.detail}"


def _to_json(finding: Finding) -> str:
    row: dict[str, object] = {"file": finding.name, "state": finding.state, "detail": finding.detail}
    if finding.position is not None:
        row |= {"position": finding.position, "endOffset": finding.end_offset}
    return to_json(row)
