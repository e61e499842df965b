"""The folder of a node: its properties file beside its log directory, as each voter of a local quorum has one."""

from __future__ import annotations

from pathlib import Path

from raft.errors import ConfigError
from raft.local.layout import LOG_FOLDER, NODE_PROPERTIES
from raft.storage.meta_properties import META_PROPERTIES_NAME


def properties_file(path: Path) -> Path:
    """Return the properties file of a node.

    Args:
        path: the file, or the folder of the node.

    Raises:
        ConfigError: it is a folder without such a file.
    """
    if not path.is_dir():
        return path
    file = path / NODE_PROPERTIES
    if not file.is_file():
        raise ConfigError(
            f"{path} has no {NODE_PROPERTIES}: expected the properties file of a node, or the folder with it"
        )
    return file


def log_directory(path: Path) -> Path:
    """Return the log directory of a node.

    Args:
        path: the directory, or the folder of the node.
    """
    inner = path / LOG_FOLDER
    is_folder = not (path / META_PROPERTIES_NAME).exists() and (path / NODE_PROPERTIES).is_file() and inner.is_dir()
    return inner if is_folder else path
