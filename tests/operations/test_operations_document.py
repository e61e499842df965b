"""docs/operations.md: its commands run in their order, on three hosts to which happens what the sections are about."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raft.client import Client, ClientSettings
from raft.config import NodeConfig
from raft.config.endpoints import addresses
from raft.errors import QuorumUnavailableError
from raft.records.batch import build_batch
from raft.records.record import Record
from tests.node.harness.settling import settled
from tests.operations.document import Block, alerts, blocks, removable_files
from tests.operations.hosts import CONFIGURATION, Host, Hosts
from tests.processes.commands import ROOT
from tests.processes.finished import Finished
from tests.workload.committed import read_all

PARTITION = "/var/lib/kraft/log/__cluster_metadata-0"
HUGE_RESERVE = "raft.reserve.bytes=1152921504606846976\n"
# So that the few records of this test are enough for a snapshot.
SOON = "metadata.log.max.record.bytes.between.snapshots=20000\nmetadata.max.retention.bytes=30000\n"

State = dict[bytes | None, bytes | None]


class Story:
    """What has happened so far.

    Attributes:
        ended: the commands of each section and how they ended, in order.
    """

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.ended: dict[str, list[tuple[str, Finished]]] = {}
        self.state_of_backup: State = {}
        self._count = 0

    def client(self, *, api_timeout_ms: int = 30_000) -> Client:
        servers = addresses("servers", self.hosts.servers)
        settings = ClientSettings(
            bootstrap_servers=servers, api_timeout_ms=api_timeout_ms, request_timeout_ms=min(2_000, api_timeout_ms)
        )
        return Client(settings)

    def append(self, *, api_timeout_ms: int = 30_000) -> None:
        """Append 20 records over 7 keys."""
        self._count += 20
        numbers = range(self._count - 20, self._count)
        records = [Record(key=b"key %d" % (number % 7), value=b"value %d" % number) for number in numbers]
        with self.client(api_timeout_ms=api_timeout_ms) as client:
            client.append(build_batch(records))

    def state(self) -> State:
        """Return the newest value of each key."""
        with self.client() as client:
            return {record.key: record.value for record in read_all(client)}

    def settle(self) -> None:
        """Wait until all three nodes have the whole log."""
        with self.client() as client:
            settled(client, (1, 2, 3))

    def run(self, block: Block) -> None:
        """Run the commands of a block on its hosts."""
        for name in block.hosts:
            for command in block.text.replace("\\\n", "").splitlines():
                done = self.hosts.by_name[name].run(command)
                self.ended.setdefault(block.section, []).append((command, done))
                assert done.exit_code == expected_exit_code(block, command), (command, done)
                if found := re.search(r"^new cluster id: (\S+)$", done.output, re.MULTILINE):
                    for host in self.hosts.by_name.values():
                        host.variables["CLUSTER_ID"] = found[1]

    def outputs(self, section: str, command: str) -> list[str]:
        """Return what the commands of a section that begin so have printed."""
        return [done.output for given, done in self.ended[section] if given.startswith(command)]


def expected_exit_code(block: Block, command: str) -> int:
    is_damaged = block.section == "A damaged log" and command.startswith("kraft check")
    return 1 if is_damaged else 0


def host_of(story: Story, name: str) -> Host:
    return story.hosts.by_name[name]


# What happens before the commands of a section, and what is true after them.


def do_nothing(_story: Story) -> None:
    """Nothing happens."""


def use_some_time(story: Story) -> None:
    """The quorum has records, and answers."""
    story.append()
    story.settle()


def see_first_start(story: Story) -> None:
    section = "First start"
    (cluster_id,) = story.outputs(section, "python3")
    assert re.fullmatch(r"[\w-]{22}\n", cluster_id)
    (status,) = [text for text in story.outputs(section, "kraft quorum") if "LeaderId" in text and "Lag\t" not in text][
        :1
    ]
    assert "Yr2d0nKPTd2hJ8J4bHkq7w" in status
    assert "created" in story.outputs(section, "kraft read")[0]
    assert "CleanupPolicy" in story.outputs(section, "kraft node status")[0]


def see_policy(story: Story) -> None:
    for host in story.hosts.by_name.values():
        assert "compact" in host.run(f"kraft node status {CONFIGURATION}").require_success()


def see_restart(story: Story) -> None:
    assert len(story.outputs("Rolling restart", "systemctl")) == 3
    assert len(story.outputs("Rolling restart", "until curl")) == 3
    story.append()
    story.settle()


def fill_for_backup(story: Story) -> None:
    story.append()
    story.state_of_backup = story.state()


def see_restored(story: Story) -> None:
    host = host_of(story, "node1")
    assert story.state() == story.state_of_backup
    with story.client() as client:
        client.describe_quorum()
        assert client.cluster_id == host.variables["CLUSTER_ID"] != "Yr2d0nKPTd2hJ8J4bHkq7w"
    story.append()
    story.settle()


def fill_disks(story: Story) -> None:
    """The disks have less free than the reserve."""
    story.hosts.configure(HUGE_RESERVE)
    story.hosts.restart()

    def is_refused() -> bool:
        try:
            story.append(api_timeout_ms=3_000)
        except QuorumUnavailableError as error:
            return "raft.reserve.bytes" in str(error)
        return False

    while not is_refused():
        pass


def see_room_again(story: Story) -> None:
    (status,) = story.outputs("A full disk", "kraft node status")
    assert "no records are appended until there is room" in status
    for host in story.hosts.by_name.values():
        path = host.path(CONFIGURATION)
        path.write_text(path.read_text().replace(HUGE_RESERVE, ""))
    story.hosts.restart()
    story.append()
    story.settle()


def lose_host(story: Story) -> None:
    """node3 is a new machine, with a copy of the configuration of the old one."""
    host = host_of(story, "node3")
    assert host.service is not None
    host.service.kill()
    shutil.rmtree(host.path("/var/lib/kraft"))
    host.path("/var/lib/kraft").mkdir()
    story.append()


def see_all_there(story: Story) -> None:
    before = story.state()
    story.append()
    story.settle()
    assert before.keys() <= story.state().keys()


def damage_log(story: Story) -> None:
    """A flushed batch of node2 is damaged."""
    story.append()
    story.settle()
    host = host_of(story, "node2")
    host.run("systemctl stop kraft")
    (last,) = sorted(host.path(PARTITION).glob("*.log"))[-1:]
    content = bytearray(last.read_bytes())
    content[len(content) // 2] ^= 1
    last.write_bytes(content)


def see_undamaged(story: Story) -> None:
    (checked,) = story.outputs("A damaged log", "kraft check")
    assert re.search(r"^LOST +__cluster_metadata-0/\d{20}\.log", checked, re.MULTILINE)
    see_all_there(story)
    host = host_of(story, "node2")
    host.run("systemctl stop kraft")
    assert "SOUND" in host.run("kraft check /var/lib/kraft/log").require_success()
    host.restart()


def see_metrics(story: Story) -> None:
    assert "kafka_server_raft_metrics_high_watermark" in story.outputs("Metrics and alerts", "curl")[2]


Step = Callable[[Story], None]
BEFORE: dict[str, Step] = {
    "Rolling restart": use_some_time,
    "Backup and restore": fill_for_backup,
    "A full disk": fill_disks,
    "A dead host": lose_host,
    "A damaged log": damage_log,
}
AFTER: dict[str, Step] = {
    "First start": see_first_start,
    "What becomes of old records": see_policy,
    "Rolling restart": see_restart,
    "Backup and restore": see_restored,
    "A full disk": see_room_again,
    "A dead host": see_all_there,
    "A damaged log": see_undamaged,
    "Metrics and alerts": see_metrics,
}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """All commands have run."""
    with Hosts(tmp_path_factory.mktemp("hosts")) as hosts:
        story = Story(hosts)
        section = ""
        for block in blocks():
            if block.section != section:
                AFTER.get(section, do_nothing)(story)
                section = block.section
                BEFORE.get(section, do_nothing)(story)
            if block.language == "properties":
                hosts.configure(block.text)
                if section == "First start":
                    hosts.make_impatient()
                else:
                    hosts.configure(SOON)
                    hosts.restart()
            else:
                story.run(block)
        AFTER[section](story)
        yield story


def test_commands_do_what_the_document_says(story: Story) -> None:
    assert [section for section in BEFORE | AFTER if section not in {block.section for block in blocks()}] == []
    assert len(story.ended) == len({block.section for block in blocks() if block.language == "bash"})


def test_every_file_of_a_node_is_in_the_table_and_those_that_may_be_removed_can_be_missed(story: Story) -> None:
    patterns = removable_files()
    story.append()
    story.settle()
    state, removed = story.state(), set()

    for host in story.hosts.by_name.values():
        host.run("systemctl stop kraft")
        log_dir = host.path("/var/lib/kraft/log")
        for file in filter(Path.is_file, log_dir.rglob("*")):
            fitting = [pattern for pattern in patterns if re.fullmatch(pattern, file.name)]
            assert len(fitting) == 1, (file, fitting)
            if patterns[fitting[0]]:
                file.unlink()
                removed.add(file.suffix or file.name)
        host.restart()
        story.settle()

    assert {".index", ".timeindex", ".offsets", "leader-epoch-checkpoint", ".lock"} <= removed
    assert story.state() == state
    story.append()
    story.settle()


def test_every_alert_has_a_part_of_its_own() -> None:
    rules = (ROOT / "conf" / "prometheus-alerts.yml").read_text()

    assert alerts() == re.findall(r"- alert: (\w+)", rules)


def test_configuration_of_the_document_has_no_warnings() -> None:
    lines = [line for block in blocks() if block.language == "properties" for line in block.text.splitlines()]
    given = dict(line.split("=", 1) for line in lines)

    assert NodeConfig.from_properties(given).warnings == ()
