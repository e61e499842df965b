"""The cluster that a streaming query writes to, kept in its checkpoint: another cluster is refused.

    <checkpointLocation>/kraft-sink.json      {"version": 1, "clusterId": "..."}

Spark's checkpoint says which micro-batches of the input are written, and not where to. A query that is started again
with the address of another quorum would go on there, and both logs would hold a part of the rows.

The driver writes the file before the first append of a query, and compares it before each later one. A checkpoint
without the file, as of an earlier version of this project, takes the cluster that is written to next.
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
"""Spark writes the query's id into it before the first micro-batch."""

_CONF = "spark.sql.streaming.checkpointLocation"

_logger = logging.getLogger(__name__)
_known: dict[tuple[str, str], str | None] = {}
"""Cluster id by checkpoint and query, None where the checkpoint cannot be used: a process commits many batches."""


def checkpoint_location(given: str | None, query_name: str | None, properties: Mapping[str, str]) -> str | None:
    """Where a query keeps its checkpoint, as far as a task can tell; None if nothing says it.

    Args:
        given: the option `checkpointLocation` of the sink.
        query_name: the option `queryName`.
        properties: of the task; Spark hands the settings of the session to its tasks this way.

    Returns:
        The option; without it, the query's folder in the setting's. A query without a name gets a new folder there at
        each start, so it never goes on from an earlier one.

    Source: Spark's ResolveWriteToStream.resolveCheckpointLocation.
    """
    if given:
        return given
    root = properties.get(_CONF)
    return f"{root.rstrip('/')}/{query_name}" if root and query_name else None


def check_cluster(location: str, query_id: str, cluster_id: str) -> None:
    """Return when the checkpoint says that this query writes to this cluster; call it before an append.

    Where the checkpoint cannot be read or written from here, a warning says so, once, and the query goes on.

    Args:
        location: of the checkpoint.
        query_id: of the query.
        cluster_id: of the quorum that is about to be written to.

    Raises:
        ConfigError: the query has written to another cluster; or the file is not one of ours.
    """
    key = (location, query_id)
    if key not in _known:
        try:
            _known[key] = _fence(open_folder(location), query_id, cluster_id)
        except OSError as error:
            _known[key] = None
            _logger.warning(
                "cannot keep the cluster id of query %s in its checkpoint %s: %s; should the query be started with "
                "another quorum, nothing would stop it: set the option kraft.cluster.id=%s",
                query_id,
                location,
                error,
                cluster_id,
            )
    fenced = _known[key]
    if fenced not in (None, cluster_id):
        raise ConfigError(
            f"query {query_id} with checkpoint {location} has written to cluster {fenced}; the quorum at "
            f"kraft.bootstrap.servers is cluster {cluster_id}. Give the servers of cluster {fenced}, or start a new "
            "query with a new checkpoint. Nothing was written"
        )


def _fence(folder: CheckpointFolder, query_id: str, cluster_id: str) -> str:
    """The cluster that the checkpoint names; the one given where it names none yet, which is stored."""
    of_spark = folder.read(_SPARKS_FILE)
    if of_spark is None or query_id not in of_spark.decode(errors="replace"):
        # As where Spark resolves a path without a scheme in a distributed file system.
        raise FileNotFoundError(f"it is not the checkpoint of this query as seen from here: {_SPARKS_FILE}")
    content = folder.read(FILE)
    if content is not None:
        return read_fence(content)
    folder.write(FILE, json.dumps({"version": VERSION, "clusterId": cluster_id}).encode())
    return cluster_id


def read_fence(content: bytes) -> str:
    """Return the cluster id in the file.

    Raises:
        ConfigError: it is of a later version, or not a file of ours.
    """
    try:
        text = json.loads(content)
        version, cluster_id = text["version"], text["clusterId"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{FILE} in the checkpoint is damaged: {content[:100]!r}. Remove it if the query writes to the right quorum"
        ) from error
    if version != VERSION or not isinstance(cluster_id, str):
        raise ConfigError(f"{FILE} in the checkpoint has version {version}; this kraft-spark reads version {VERSION}")
    return cluster_id
