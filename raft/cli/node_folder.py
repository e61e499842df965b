"""The folder of a node: its properties file beside its log directory, as each voter of a local quorum has one."""

from __future__ import annotations

from pathlib import Path

from raft.errors import ConfigError

_PROPERTIES = "node.properties"
_LOG = "log"
_MARK = "meta.properties"
"""The file by which a log directory is recognized."""


def properties_file(path: Path) -> Path:
    """Return the properties file of a node.

    Args:
        path: the file, or the folder of the node.

    Raises:
        ConfigError: it is a folder without such a file.
    """
    if not path.is_dir():
        return path
    file = path / _PROPERTIES
    if not file.is_file():
        raise ConfigError(f"{path} has no {_PROPERTIES}: expected the properties file of a node, or the folder with it")
    return file


def log_directory(path: Path) -> Path:
    """Return the log directory of a node.

    Args:
        path: the directory, or the folder of the node.
    """
    inner = path / _LOG
    is_folder = not (path / _MARK).exists() and (path / _PROPERTIES).is_file() and inner.is_dir()
    return inner if is_folder else path
