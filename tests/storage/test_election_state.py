import json

import pytest

from raft.errors import StorageError
from raft.storage.election_state import ElectionStateFile
from raft.storage.files import Files
from raft.types import ElectionState, Epoch, NodeId, ReplicaKey, Uuid
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import crash_at_every_call

DIRECTORY_ID = Uuid("9cQOuJBsTJyRnYbBrvXlXg")
VOTERS = (NodeId(1), NodeId(2), NodeId(3))


def state(
    epoch: int, leader: int | None = None, voted: int | None = None, directory: Uuid | None = None
) -> ElectionState:
    return ElectionState(
        epoch=Epoch(epoch),
        leader_id=None if leader is None else NodeId(leader),
        voted_key=None if voted is None else ReplicaKey(NodeId(voted), directory),
    )


def state_file(files: Files) -> ElectionStateFile:
    return ElectionStateFile(files, "quorum-state", voters=VOTERS)


def stored(text: str | bytes) -> ElectionStateFile:
    files = MemoryFiles()
    files.put("quorum-state", text if isinstance(text, bytes) else text.encode())
    return state_file(files)


STATES = [
    pytest.param(state(0), id="nothing"),
    pytest.param(state(5), id="epoch only"),
    pytest.param(state(5, leader=2), id="leader"),
    pytest.param(state(5, voted=3), id="vote"),
    pytest.param(state(5, leader=2, voted=3), id="leader and vote"),
    pytest.param(state(2**31 - 1, leader=2**31 - 1, voted=0), id="edges"),
]


@pytest.mark.parametrize("written", STATES)
@pytest.mark.parametrize("kraft_version", [0, 1])
@pytest.mark.rule("STATE-1", "STATE-3")
def test_state_is_unchanged_when_written_and_read(files: Files, written: ElectionState, kraft_version: int) -> None:
    state_file(files).write(written, kraft_version=kraft_version)

    assert state_file(files).read() == written


@pytest.mark.rule("STATE-1", "STATE-2")
def test_version_0_is_byte_for_byte_what_kafka_writes() -> None:
    # The line was captured from Kafka 4.3.1.
    files = MemoryFiles()

    state_file(files).write(state(3, leader=2))

    assert files.read("quorum-state") == (
        b'{"clusterId":"","leaderId":2,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}'
    )


@pytest.mark.rule("STATE-1")
def test_version_1_keeps_the_directory_of_the_vote_when_kraft_version_is_1() -> None:
    files = MemoryFiles()
    written = state(7, leader=1, voted=2, directory=DIRECTORY_ID)

    state_file(files).write(written, kraft_version=1)

    assert json.loads(files.read("quorum-state")) == {
        "leaderId": 1,
        "leaderEpoch": 7,
        "votedId": 2,
        "votedDirectoryId": DIRECTORY_ID,
        "data_version": 1,
    }
    assert state_file(files).read() == written


def test_version_0_has_no_room_for_the_directory_of_the_vote() -> None:
    files = MemoryFiles()

    state_file(files).write(state(7, voted=2, directory=DIRECTORY_ID))

    assert state_file(files).read() == state(7, voted=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '{"clusterId":"","leaderId":-1,"leaderEpoch":4,"votedId":2,"appliedOffset":0,"currentVoters":[],'
            '"data_version":0}',
            state(4, voted=2),
            id="older Kafka: vote without leader",
        ),
        pytest.param(
            '{"clusterId":"abc","leaderId":1,"leaderEpoch":4,"votedId":-1,"appliedOffset":9,"currentVoters":null,'
            '"data_version":0}',
            state(4, leader=1),
            id="older Kafka: leader without vote",
        ),
        pytest.param(
            '{"leaderId":1,"leaderEpoch":4,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}\n',
            state(4, leader=1, voted=2),
            id="zero directory id means none",
        ),
    ],
)
@pytest.mark.rule("STATE-1", "STATE-3")
def test_state_of_kafka_is_read(text: str, expected: ElectionState) -> None:
    assert stored(text).read() == expected


@pytest.mark.rule("STATE-7")
def test_state_is_empty_when_there_is_no_file(files: Files) -> None:
    assert state_file(files).read() == ElectionState(epoch=Epoch(0), leader_id=None, voted_key=None)


GOOD = '{"leaderId":1,"leaderEpoch":4,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "not one JSON object", id="empty"),
        pytest.param(b"\xff\xfe\x00", "not one JSON object", id="no text"),
        pytest.param(GOOD[:-10], "not one JSON object", id="incomplete"),
        pytest.param("[" * 100_000, "not one JSON object", id="brackets without end"),
        pytest.param("[1]", "not one JSON object", id="a list"),
        pytest.param("{}", "data_version is None", id="no data version"),
        pytest.param(GOOD.replace('data_version":1', 'data_version":2'), "data_version is 2", id="newer"),
        pytest.param(GOOD.replace('data_version":1', 'data_version":-1'), "data_version is -1", id="negative version"),
        pytest.param(GOOD.replace('data_version":1', 'data_version":true'), "data_version is True", id="true"),
        pytest.param(GOOD.replace('data_version":1', 'data_version":"1"'), "data_version is '1'", id="string"),
        pytest.param(GOOD.replace('leaderEpoch":4', 'leaderEpoch":-1'), "leaderEpoch is -1", id="negative epoch"),
        pytest.param(GOOD.replace('leaderEpoch":4', 'leaderEpoch":4.5'), "leaderEpoch is 4.5", id="fraction"),
        pytest.param(GOOD.replace('"leaderEpoch":4,', ""), "leaderEpoch is None", id="no epoch"),
        pytest.param(GOOD.replace('leaderId":1', 'leaderId":-2'), "leaderId is -2", id="leader -2"),
        pytest.param(GOOD.replace('votedId":2', 'votedId":2147483648'), "votedId is 2147483648", id="too large"),
        pytest.param(GOOD.replace('"AAAAAAAAAAAAAAAAAAAAAA"', "7"), "votedDirectoryId is 7", id="directory id 7"),
        pytest.param(GOOD.replace("AAAAAAAAAAAAAAAAAAAAAA", "a disk"), "votedDirectoryId is 'a disk'", id="no uuid"),
        pytest.param(
            GOOD.replace("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAB"),
            "votedDirectoryId is 'AAAAAAAAAAAAAAAAAAAAAB'",
            id="uuid with bits beyond its sixteen bytes",
        ),
        pytest.param(GOOD.replace(":1}", ":1.0}"), "data_version is 1.0, expected one of", id="version 1.0"),
    ],
)
@pytest.mark.rule("STATE-8")
def test_node_refuses_to_start_when_the_file_is_unreadable(text: str | bytes, reason: str) -> None:
    with pytest.raises(StorageError, match=f"cannot start from memory:/quorum-state: .*{reason}"):
        stored(text).read()


@pytest.mark.rule("STATE-8")
def test_node_refuses_to_start_when_the_file_is_truncated_at_any_byte() -> None:
    for length in range(len(GOOD)):
        with pytest.raises(StorageError):
            stored(GOOD[:length]).read()


@pytest.mark.rule("STATE-4")
def test_node_finds_old_or_new_state_when_the_power_fails_at_any_call() -> None:
    old, new = state(4, voted=1), state(5, leader=2)
    found = set()

    for case, files in crash_at_every_call(
        lambda files: state_file(files).write(old), lambda files: state_file(files).write(new)
    ):
        read = state_file(files).read()
        assert read in (old, new), case
        if "finished" in case:
            assert read == new, case
        found.add(read)

    assert found == {old, new}
