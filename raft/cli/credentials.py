"""`kraft credentials`: the file with the users that may authenticate by SCRAM (`raft.scram.credentials.file`).

Nodes that run read the file again when it has changed. It has no passwords, but who gets it may try passwords without
asking a node: a new file is readable for its owner only. A file that exists keeps its owner and its group, and the
right of the group to read it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from raft.errors import ConfigError, StorageError
from raft.printable import printable
from raft.security.credentials import (
    DEFAULT_ITERATIONS,
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    PEPPER_BYTES,
    SALT_BYTES,
    SCRAM_MECHANISMS,
    Credentials,
    ScramCredential,
    check_user_name,
)
from raft.storage.atomic_file import replace_file
from raft.storage.disk import PRIVATE_FILE, DiskFiles

credentials = typer.Typer(help="The users that may authenticate by SCRAM.", no_args_is_help=True)

_READ_BY_GROUP = stat.S_IRGRP

File = Annotated[Path, typer.Argument(metavar="FILE", help="The value of raft.scram.credentials.file.")]
User = Annotated[str, typer.Argument(metavar="USER", help="The name of the user, without User:.")]


@credentials.callback()
def group() -> None:
    """The users that may authenticate by SCRAM."""


@credentials.command()
def add(
    file: File,
    user: User,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(help="SCRAM-SHA-256 or SCRAM-SHA-512; may be given twice. By default both."),
    ] = None,
    iterations: Annotated[
        int, typer.Option(min=LEAST_ITERATIONS, max=MOST_ITERATIONS, help="How often the password is hashed.")
    ] = DEFAULT_ITERATIONS,
) -> None:
    """Add a user, or change its password. The password is the first line of standard input."""
    check_user_name(user)
    mechanisms = tuple(dict.fromkeys(mechanism or SCRAM_MECHANISMS))
    for each in mechanisms:
        if each not in SCRAM_MECHANISMS:
            raise typer.BadParameter(f"--mechanism {each}: expected {' or '.join(SCRAM_MECHANISMS)}")
    password = _read_password()
    made = {
        each: ScramCredential.of_password(password, each, salt=secrets.token_bytes(SALT_BYTES), iterations=iterations)
        for each in mechanisms
    }
    with _locked(file):
        known = _read(file) if file.exists() else Credentials()
        is_known = user in known.by_user
        for each, credential in made.items():
            known = known.with_user(user, each, credential)
        _write(file, known)
    typer.echo(f"{'changed' if is_known else 'added'} user {user} for {', '.join(mechanisms)}")


@credentials.command()
def remove(file: File, user: User) -> None:
    """Remove a user. Its connections stay open until they have to authenticate again (connections.max.reauth.ms)."""
    with _locked(file):
        known = _read(file)
        if user not in known.by_user:
            raise ConfigError(
                f"{file} has no user {user}: expected one of {', '.join(sorted(known.by_user)) or 'none'}"
            )
        _write(file, known.without_user(user))
    typer.echo(f"removed user {user}")


@credentials.command("list")
def list_users(file: File) -> None:
    """Print the users, and the mechanisms of each."""
    for user, mechanisms in sorted(_read(file).by_user.items()):
        shown = ", ".join(f"{name} ({each.iterations} iterations)" for name, each in sorted(mechanisms.items()))
        typer.echo(printable(f"{user}: {shown}"))


def _read_password() -> str:
    if sys.stdin is None:
        raise ConfigError("standard input is closed: expected the password there")
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    try:
        password = sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"standard input is no text in {error.encoding}: expected the password") from error
    if not password:
        raise ConfigError("standard input is empty: expected the password in its first line")
    return password


def _read(file: Path) -> Credentials:
    try:
        return Credentials.parse(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "the file is no text"
        raise ConfigError(f"cannot read {file}: {reason}") from error
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def _write(file: Path, content: Credentials) -> None:
    peppered = content.with_pepper(secrets.token_bytes(PEPPER_BYTES))

    def keep_owner(new: str) -> None:
        try:
            known = file.stat()
        except FileNotFoundError:
            return
        try:
            # A node that runs as another user could not read a file of the user who runs this command.
            os.chown(new, known.st_uid, known.st_gid)
            Path(new).chmod(PRIVATE_FILE | (known.st_mode & _READ_BY_GROUP))
        except OSError as error:
            raise StorageError(
                f"{file} has user id {known.st_uid} and group id {known.st_gid}, which this user cannot give to the "
                f"new file ({error.strerror}): run the command as that user, or as root"
            ) from error

    replace_file(DiskFiles(file.parent), file.name, peppered.to_text().encode(), keep_owner)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Keep other commands from changing the file meanwhile."""
    try:
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StorageError(f"cannot open the directory of {file}: {error.strerror}") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
