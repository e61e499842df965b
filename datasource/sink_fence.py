"""Stores the cluster that a streaming query writes to in its checkpoint, so that another cluster is refused.

    <checkpointLocation>/kraft-sink.json      {"version": 1, "clusterId": "..."}

Spark's checkpoint has the micro-batches that were written, but not the quorum. If a query were started again with the
address of another quorum, it would go on there, and each log would have a part of the rows.

The driver writes the file before the first append of a query, and reads it before each later append.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from datasource.checkpoint_folder import CheckpointFolder, open_folder
from raft.errors import ConfigError

FILE = "kraft-sink.json"
VERSION = 1

_SPARKS_FILE = "metadata"
"""Spark writes the id of the query into it before the first micro-batch."""

_CONF = "spark.sql.streaming.checkpointLocation"

_logger = logging.getLogger(__name__)
_known: dict[tuple[str, str], str | None] = {}
"""Cluster id by checkpoint and query, because a process commits many batches; None if the checkpoint cannot be used."""


def checkpoint_location(given: str | None, query_name: str | None, properties: Mapping[str, str]) -> str | None:
    """Return the checkpoint of a query, as far as a task knows it, or None.

    Args:
        given: the option `checkpointLocation` of the sink.
        query_name: the option `queryName`.
        properties: of the task; Spark passes the settings of the session to its tasks in them.

    Returns:
        The option; without it, the folder of the query in the folder of the setting. A query without a name gets a new
        folder there at each start, so it never continues.

    Source: Spark's ResolveWriteToStream.resolveCheckpointLocation.
    """
    if given:
        return given
    root = properties.get(_CONF)
    return f"{root.rstrip('/')}/{query_name}" if root and query_name else None


def check_cluster(location: str, query_id: str, cluster_id: str) -> None:
    """Check, before an append, that a query writes to the cluster in its checkpoint; the first append stores it.

    If this process cannot read or write the checkpoint, it logs a warning once, and the query goes on.

    Args:
        location: of the checkpoint.
        query_id: of the query.
        cluster_id: of the quorum of the append.

    Raises:
        ConfigError: the query has written to another cluster; or the file is malformed.
    """
    key = (location, query_id)
    if key not in _known:
        try:
            _known[key] = _fence(open_folder(location), query_id, cluster_id)
        except OSError as error:
            _known[key] = None
            _logger.warning(
                "cannot store the cluster id in the checkpoint: %s. To refuse another quorum when the query is started "
                "again, set the option kraft.cluster.id=%s; query_id=%s checkpoint=%s",
                error,
                cluster_id,
                query_id,
                location,
            )
    fenced = _known[key]
    if fenced not in (None, cluster_id):
        raise ConfigError(
            f"the quorum at kraft.bootstrap.servers has cluster id {cluster_id}, expected {fenced}, to which query "
            f"{query_id} with checkpoint {location} has written. Give the servers of cluster {fenced}, or start a new "
            "query with a new checkpoint. Nothing was written"
        )


def _fence(folder: CheckpointFolder, query_id: str, cluster_id: str) -> str:
    """Return the cluster in the checkpoint; if there is none, store this one.

    Raises:
        ConfigError: the file is malformed.
        OSError: the checkpoint cannot be used from this process.
    """
    of_spark = folder.read(_SPARKS_FILE)
    if of_spark is None or query_id not in of_spark.decode(errors="replace"):
        # Spark may resolve a path without a scheme in a distributed file system.
        raise FileNotFoundError(f"this process finds no {_SPARKS_FILE} of this query there")
    content = folder.read(FILE)
    if content is not None:
        return read_fence(content)
    folder.write(FILE, json.dumps({"version": VERSION, "clusterId": cluster_id}).encode())
    return cluster_id


def read_fence(content: bytes) -> str:
    """Return the cluster id in the file.

    Raises:
        ConfigError: it has a later version, or is malformed.
    """
    try:
        text = json.loads(content)
        version, cluster_id = text["version"], text["clusterId"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{FILE} in the checkpoint is malformed: {content[:100]!r}. Remove it if the query writes to the right "
            "quorum"
        ) from error
    if version != VERSION or not isinstance(cluster_id, str):
        raise ConfigError(f"{FILE} in the checkpoint has version {version}, expected {VERSION}: upgrade kraft-spark")
    return cluster_id
