"""Hands the credentials of a quorum to the connector of the same application, in a file.

The file is written where the Python workers of the driver look for files of Spark: a folder of the application, which
is removed at its end. If there are other processes, Spark brings it to each executor. The name of the file has a digest
of its content: Spark refuses another content under the same name. A second file there tells when a quorum was stopped.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pyspark import SparkFiles

from datasource.spark_files import handed_name, handed_properties, stopped_name, stopped_properties
from kraft_spark.spark_application import SparkApplication
from raft.errors import StorageError
from raft.properties import format_properties
from raft.storage.atomic_file import replace_file
from raft.storage.disk import PRIVATE_FILE, DiskFiles

_DIGEST_CHARACTERS = 32


def hand_over(application: SparkApplication, security: Mapping[str, str], *, bootstrap_servers: str) -> Path:
    """Hand the credentials of a quorum over; return the folder of the application's files.

    Args:
        application: gets them.
        security: the properties of a client.
        bootstrap_servers: of the quorum.

    Raises:
        StorageError: the disk returned an error.
    """
    properties = handed_properties(security, bootstrap_servers=bootstrap_servers, created_ms=_now_ms())
    content = format_properties(properties).encode()
    name = handed_name(_digest(content))
    # The folder lasts as long as the application: Spark brings the file to executors that start later, too, and would
    # fail all their tasks without it.
    folder = Path(SparkFiles.getRootDirectory())
    replace_file(DiskFiles(folder), name, content)
    if application.is_one_process:
        # Not by `addFile`: Spark may serve the file to everyone who connects to the driver and knows its name.
        return folder
    if not application.authenticates:
        warnings.warn(
            "executors get the credentials of this quorum from the driver, which does not ask who they are: set "
            "spark.authenticate=true, or let a firewall admit only executors to the driver",
            stacklevel=5,
        )
    application.add_file(folder / name)
    (folder / name).chmod(PRIVATE_FILE)  # Spark has made it executable for all.
    return folder


def tell_of_stop(folder: Path, data_dir: Path, *, bootstrap_servers: str) -> None:
    """Tell the connector on this machine that a quorum was stopped, for its errors.

    Args:
        folder: of the application's files; nothing is told if the application has ended and it is gone.
        data_dir: of the quorum.
        bootstrap_servers: of the quorum.
    """
    properties = stopped_properties(str(data_dir), bootstrap_servers=bootstrap_servers, stopped_ms=_now_ms())
    content = format_properties(properties).encode(errors="surrogateescape")
    with suppress(StorageError):
        if folder.is_dir():
            replace_file(DiskFiles(folder), stopped_name(_digest(content)), content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGEST_CHARACTERS]


def _now_ms() -> int:
    return int(time.time() * 1000)
