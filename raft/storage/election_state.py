"""The file `quorum-state`: the epoch, its leader if known, and this node's vote in it; one JSON object on one line.

    data_version 0 (kraft.version 0)   clusterId "", leaderId, leaderEpoch, votedId, appliedOffset 0, currentVoters
    data_version 1 (kraft.version 1)   leaderId, leaderEpoch, votedId, votedDirectoryId

-1 stands for no leader and for no vote. A node that forgot its vote could vote twice in one epoch, so a file that
cannot be read stops the node; only a directory without the file is a fresh one (STATE-7, STATE-8).

Source: rules STATE-1 to STATE-8; Kafka FileQuorumStateStore, QuorumStateData.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from raft.errors import StorageError
from raft.storage.atomic_file import replace_file
from raft.storage.files import Files
from raft.types import ZERO_UUID, ElectionState, Epoch, NodeId, ReplicaKey, Uuid
from raft.uuids import parse_uuid

ELECTION_STATE_NAME = "quorum-state"

_KNOWN_VERSIONS = (0, 1)
_NOBODY = -1
_INT32_MAX = (1 << 31) - 1


class ElectionStateFile:
    """The election state of one node, on the disk.

    Args:
        files: where the file lies.
        name: the file.
        voters: ids of the static voters; they stand in version 0 for the reader's information only (STATE-9).
    """

    def __init__(self, files: Files, name: str, *, voters: Sequence[NodeId] = ()) -> None:
        self._files = files
        self._name = name
        self._voters = tuple(voters)

    def read(self) -> ElectionState:
        """Return what is on the disk; epoch 0 without leader and vote when there is no file.

        Raises:
            StorageError: the file is empty, unreadable, or of an unknown version.
        """
        if not self._files.exists(self._name):
            return ElectionState(epoch=Epoch(0))
        data = self._read_object()
        version = data.get("data_version")
        if version not in _KNOWN_VERSIONS or type(version) is not int:
            raise self._refusal(f"data_version {version!r} is not among {_KNOWN_VERSIONS}")
        leader_id = self._number(data, "leaderId", lowest=_NOBODY)
        voted_id = self._number(data, "votedId", lowest=_NOBODY)
        return ElectionState(
            epoch=Epoch(self._number(data, "leaderEpoch", lowest=0)),
            leader_id=None if leader_id == _NOBODY else NodeId(leader_id),
            voted_key=None if voted_id == _NOBODY else ReplicaKey(NodeId(voted_id), self._directory_id(data)),
        )

    def write(self, state: ElectionState, *, kraft_version: int = 0) -> None:
        """Return when the state is on the disk; until then the old one is (STATE-4).

        Args:
            state: the new state. Version 0 has no room for the directory id of the vote.
            kraft_version: finalized kraft.version, 0 or 1; the file's version follows it (STATE-1).
        """
        assert kraft_version in _KNOWN_VERSIONS, f"kraft.version {kraft_version}"
        voted_key = state.voted_key
        election = {
            "leaderId": _NOBODY if state.leader_id is None else state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": _NOBODY if voted_key is None else voted_key.node_id,
        }
        if kraft_version == 0:
            voters = [{"voterId": voter} for voter in self._voters]
            data = {"clusterId": "", **election, "appliedOffset": 0, "currentVoters": voters, "data_version": 0}
        else:
            directory_id = (voted_key and voted_key.directory_id) or ZERO_UUID
            data = {**election, "votedDirectoryId": directory_id, "data_version": 1}
        replace_file(self._files, self._name, json.dumps(data, separators=(",", ":")).encode())

    def _read_object(self) -> dict[str, Any]:
        content = self._files.read(self._name)
        try:
            data = json.loads(content)
        # Not only JSONDecodeError: bytes that are no text and brackets without end raise others.
        except (ValueError, RecursionError) as error:
            raise self._refusal(f"it is not one JSON object: {error}") from error
        if not isinstance(data, dict):
            raise self._refusal("it is not one JSON object")
        return data

    def _number(self, data: dict[str, Any], field: str, *, lowest: int) -> int:
        value = data.get(field)
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= _INT32_MAX:
            raise self._refusal(f"{field} is {value!r}")
        return value

    def _directory_id(self, data: dict[str, Any]) -> Uuid | None:
        text = data.get("votedDirectoryId", ZERO_UUID)
        try:
            directory_id = parse_uuid(str(text))
        except ValueError as error:
            raise self._refusal(f"votedDirectoryId is {text!r}") from error
        return None if directory_id == ZERO_UUID else directory_id

    def _refusal(self, reason: str) -> StorageError:
        return StorageError(
            f"cannot start from {self._files.path_of(self._name)}: {reason}. "
            "Without it this node could vote twice in one epoch, so it is not replaced by an empty state"
        )
