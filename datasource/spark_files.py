"""The files that Spark brings to each process of an application (`spark.files`, `SparkContext.addFile`).

Certificates and secrets come in such files. A location in an option that is relative is looked for here first. A quorum
beside the driver hands its credentials over in a file that is found by the quorum's addresses, so that a query needs no
options for it. When the application stops that quorum, another file says so, for the errors of reads that come later.
"""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from datasource.spark_internals.process import files_folder
from raft.client import ClientSettings
from raft.config import read_properties
from raft.config.endpoints import addresses
from raft.config.paths import file_path
from raft.config.security import ClientSecurity, client_security
from raft.types import Endpoint

HANDED_PREFIX = "kraft-quorum-"
_HANDED_SUFFIX = ".properties"
_SERVERS = "bootstrap.servers"
_CREATED = "created.ms"
_STOPPED_PREFIX = "kraft-stopped-"
_DATA_DIR = "data.dir"
_STOPPED = "stopped.ms"


def handed_name(digest: str) -> str:
    """Return the name of a file that hands the credentials of a quorum over.

    Args:
        digest: of its content. Spark refuses another content under the same name.
    """
    return f"{HANDED_PREFIX}{digest}{_HANDED_SUFFIX}"


def handed_properties(security: Mapping[str, str], *, bootstrap_servers: str, created_ms: int) -> dict[str, str]:
    """Return the content of such a file.

    Args:
        security: the keys of Kafka's clients for it.
        bootstrap_servers: of the quorum.
        created_ms: of two quorums with the same addresses, the later one counts.
    """
    return {**security, _SERVERS: bootstrap_servers, _CREATED: str(created_ms)}


def stopped_name(digest: str) -> str:
    """Return the name of a file about a quorum that was stopped.

    Args:
        digest: of its content.
    """
    return f"{_STOPPED_PREFIX}{digest}{_HANDED_SUFFIX}"


def stopped_properties(data_dir: str, *, bootstrap_servers: str, stopped_ms: int) -> dict[str, str]:
    """Return the content of such a file.

    Args:
        data_dir: of the quorum.
        bootstrap_servers: of the quorum.
        stopped_ms: a quorum that is started later with one of these addresses is another one.
    """
    return {_SERVERS: bootstrap_servers, _DATA_DIR: data_dir, _STOPPED: str(stopped_ms)}


def stopped_quorum(message: str) -> str | None:
    """Return the data directory of the quorum that an error is about, if this application has stopped it.

    Args:
        message: of the error, with the addresses of the nodes.
    """
    named = {each.rstrip(":") for each in re.split(r"[\s;,]+", message)}
    handed = [_handed(file)[:2] for file in _files(HANDED_PREFIX)]
    found: list[tuple[int, str]] = []
    for servers, stopped_ms, data_dir in map(_stopped, _files(_STOPPED_PREFIX)):
        is_named = not named.isdisjoint(f"{host}:{port}" for host, port in servers)
        if is_named and not any(at_ms >= stopped_ms and servers & others for others, at_ms in handed):
            found.append((stopped_ms, data_dir))
    return max(found)[1] if found else None


def locate(location: str) -> Path:
    """Return the path of a file that an option names.

    Raises:
        OSError: this process finds no such file, or may not look for it.
    """
    path = file_path(location)
    places = (path,) if path.is_absolute() else (*(root / path for root in _roots()), path)
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(
        errno.ENOENT,
        f"no such file on host {socket.gethostname()}; it may be a relative location of a file that Spark brings to "
        "each process (spark.files, SparkContext.addFile)",
    )


def with_handed_security(settings: ClientSettings) -> ClientSettings:
    """Return the settings with the credentials that a quorum of this application has handed over.

    Args:
        settings: of the user. Those that say how connections are secured are not changed. All servers must be those of
            the quorum: the others get no credentials of it.
    """
    if settings.security is not None:
        return settings
    found = [
        (created_ms, security)
        for servers, created_ms, security in map(_handed, _files(HANDED_PREFIX))
        if servers.issuperset(_places(settings.bootstrap_servers))
    ]
    return replace(settings, security=max(found, key=lambda each: each[0])[1]) if found else settings


def _roots() -> tuple[Path, ...]:
    """Return the folders with the files; none in a process that is no part of an application.

    A session of a streaming query has a folder of its own inside that of the application, which need not exist.
    """
    folder = files_folder()
    return () if folder is None else (folder, folder.parent)


def _files(prefix: str) -> Iterator[Path]:
    return (file for root in _roots() for file in root.glob(f"{prefix}*{_HANDED_SUFFIX}"))


@lru_cache(maxsize=100)
def _handed(path: Path) -> tuple[frozenset[tuple[str, int]], int, ClientSecurity]:
    """Read a file; its name has the digest of its content, so it does not change."""
    properties = read_properties(path)
    servers = addresses(_SERVERS, properties.pop(_SERVERS))
    created_ms = int(properties.pop(_CREATED))
    return frozenset(_places(servers)), created_ms, client_security(properties)


@lru_cache(maxsize=100)
def _stopped(path: Path) -> tuple[frozenset[tuple[str, int]], int, str]:
    """Read a file about a quorum that was stopped; it does not change either."""
    properties = read_properties(path)
    servers = frozenset(_places(addresses(_SERVERS, properties[_SERVERS])))
    return servers, int(properties[_STOPPED]), properties[_DATA_DIR]


def _places(servers: Iterable[Endpoint]) -> set[tuple[str, int]]:
    return {(server.host, server.port) for server in servers}
