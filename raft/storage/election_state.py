"""The file `quorum-state`: the epoch, its leader if known, and this node's vote in it; one JSON object on one line.

    data_version 0 (kraft.version 0)   clusterId "", leaderId, leaderEpoch, votedId, appliedOffset 0, currentVoters
    data_version 1 (kraft.version 1)   leaderId, leaderEpoch, votedId, votedDirectoryId

-1 stands for no leader and for no vote. A node without its vote could vote twice in one epoch, so a node exits if it
cannot read the file; only a directory without the file is new (STATE-7, STATE-8).

A node that cannot store its vote takes no part in elections, and handles no events until it can. So the file
`quorum-state.spare` keeps room for one more state: it is removed when there is no other room, and made again later.

Source: rules STATE-1 to STATE-8, LOG-27; Kafka FileQuorumStateStore, QuorumStateData.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from raft.errors import DiskFullError, StorageError
from raft.storage.atomic_file import replace_file
from raft.storage.files import Files, folder_of
from raft.types import ZERO_UUID, ElectionState, Epoch, NodeId, ReplicaKey, Uuid
from raft.uuids import parse_uuid

ELECTION_STATE_NAME = "quorum-state"

SPARE_SUFFIX = ".spare"
_SPARE_BYTES = 4096
"""The block of a file system, which is more than an election state takes."""

_KNOWN_VERSIONS = (0, 1)
_NO_NODE = -1
_INT32_MAX = (1 << 31) - 1


class ElectionStateFile:
    """The election state of one node, on the disk.

    Args:
        files: where the file is.
        name: the file.
        voters: ids of the static voters; version 0 has them for information only (STATE-9).
    """

    def __init__(self, files: Files, name: str, *, voters: Sequence[NodeId] = ()) -> None:
        self._files = files
        self._name = name
        self._spare_name = name + SPARE_SUFFIX
        self._voters = tuple(voters)

    @property
    def exists(self) -> bool:
        """Whether the file is there: a new directory has none, and neither has one that lost it."""
        return self._files.exists(self._name)

    def read(self) -> ElectionState:
        """Return the state on the disk; epoch 0 without leader and vote if there is no file.

        Raises:
            StorageError: the file is empty, malformed, or of an unknown version.
        """
        if not self.exists:
            return ElectionState(epoch=Epoch(0))
        data = self._read_object()
        version = data.get("data_version")
        if version not in _KNOWN_VERSIONS or type(version) is not int:
            raise self._refusal(f"data_version is {version!r}, expected one of {_KNOWN_VERSIONS}")
        leader_id = self._number(data, "leaderId", lowest=_NO_NODE)
        voted_id = self._number(data, "votedId", lowest=_NO_NODE)
        return ElectionState(
            epoch=Epoch(self._number(data, "leaderEpoch", lowest=0)),
            leader_id=None if leader_id == _NO_NODE else NodeId(leader_id),
            voted_key=None if voted_id == _NO_NODE else ReplicaKey(NodeId(voted_id), self._directory_id(data)),
        )

    def names_voter(self, node_id: NodeId) -> bool:
        """Whether the file has a node among its voters, as a voter has stored it that counted itself as one of them."""
        if not self.exists:
            return False
        voters = self._read_object().get("currentVoters")
        return isinstance(voters, list) and {"voterId": node_id} in voters

    def write(self, state: ElectionState, *, kraft_version: int = 0) -> None:
        """Replace the state, and return when the new one is on the disk; a crash before leaves the old one (STATE-4).

        Args:
            state: the new state. Version 0 has no field for the directory id of the vote.
            kraft_version: finalized kraft.version, 0 or 1; it decides the version of the file (STATE-1).

        Raises:
            DiskFullError: the disk has no room, and there was no spare file; the call may be repeated.
            StorageError: the disk returned an error.
        """
        assert kraft_version in _KNOWN_VERSIONS, f"kraft.version {kraft_version}"
        voted_key = state.voted_key
        election = {
            "leaderId": _NO_NODE if state.leader_id is None else state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": _NO_NODE if voted_key is None else voted_key.node_id,
        }
        if kraft_version == 0:
            voters = [{"voterId": voter} for voter in self._voters]
            data = {"clusterId": "", **election, "appliedOffset": 0, "currentVoters": voters, "data_version": 0}
        else:
            directory_id = (voted_key and voted_key.directory_id) or ZERO_UUID
            data = {**election, "votedDirectoryId": directory_id, "data_version": 1}
        content = json.dumps(data, separators=(",", ":")).encode()
        try:
            replace_file(self._files, self._name, content)
        except DiskFullError:
            if not self._files.exists(self._spare_name):
                raise
            self._files.remove(self._spare_name)
            # Some file systems free the room of a file only when its name is gone from the disk.
            self._files.sync_directory(folder_of(self._name))
            replace_file(self._files, self._name, content)

    def keep_spare(self) -> None:
        """Keep room on the disk for one election state in a spare file, if there is room for that now (LOG-27)."""
        name = self._spare_name
        if self._files.exists(name):
            return
        try:
            file = self._files.create(name)
            try:
                file.append(bytes(_SPARE_BYTES))
                file.flush()
            finally:
                file.close()
        except DiskFullError:
            self._files.remove(name)

    def _read_object(self) -> dict[str, Any]:
        content = self._files.read(self._name)
        try:
            data = json.loads(content)
        # Bytes that are not UTF-8, and very deep brackets, raise other errors than JSONDecodeError.
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
            "Without the stored vote this node could vote twice in one epoch, so it does not start with an empty state"
        )
