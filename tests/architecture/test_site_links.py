"""Links of the documents become links of the site, and blocks are written as mkdocs understands them."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from scripts.docs_site.blocks import with_blocks_of_the_site, with_breaks
from scripts.docs_site.links import all_linked, folder_page, place, with_links_of_the_site


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("docs/source.md", "source.md", id="document"),
        pytest.param("docs/decisions/README.md", "decisions/README.md", id="document of a folder"),
        pytest.param("docs/metrics.png", "metrics.png", id="picture"),
        pytest.param("README.md", "index.md", id="the first page"),
        pytest.param("ARCHITECTURE.md", "architecture.md", id="document at the top"),
        pytest.param("tests/simulation/README.md", "files/tests/simulation/README.md", id="document elsewhere"),
        pytest.param("conf/node.properties", "files/conf/node.properties.txt", id="file"),
        pytest.param("benchmarks/results/peers.svg", "files/benchmarks/results/peers.svg", id="picture elsewhere"),
        pytest.param("examples", "files/examples/index.md", id="folder"),
    ],
)
def test_file_has_its_place_in_the_site(path: str, expected: str) -> None:
    assert place(PurePosixPath(path)) == PurePosixPath(expected)


@pytest.mark.parametrize(
    ("document", "link", "expected"),
    [
        pytest.param("docs/source.md", "sink.md#columns", "sink.md#columns", id="beside it"),
        pytest.param("docs/internals/log.md", "../roles.md", "../roles.md", id="above it"),
        pytest.param("docs/internals/README.md", "../../ARCHITECTURE.md", "../architecture.md", id="to the top"),
        pytest.param("README.md", "docs/source.md", "source.md", id="from the first page"),
        pytest.param("docs/operations.md", "../conf/node.properties", "files/conf/node.properties.txt", id="a file"),
        pytest.param("docs/internals/log.md", "../../README.md#not-yet", "../index.md#not-yet", id="a part"),
        pytest.param("docs/faults.md", "https://jepsen.io/a", "https://jepsen.io/a", id="another server"),
        pytest.param("docs/halts.md", "#a-lost-quorum-state", "#a-lost-quorum-state", id="the same page"),
    ],
)
def test_link_leads_to_the_same_file_in_the_site(document: str, link: str, expected: str) -> None:
    changed = with_links_of_the_site(PurePosixPath(document), f"See [there]({link}).")

    assert changed == f"See [there]({expected})."


def test_links_in_blocks_of_code_stay_as_they_are() -> None:
    text = "```python\nrows[0](README.md)\n```\n[first](../README.md)"

    changed = with_links_of_the_site(PurePosixPath("docs/python.md"), text)

    assert changed == "```python\nrows[0](README.md)\n```\n[first](index.md)"


def test_linked_files_are_in_the_site() -> None:
    linked = all_linked()

    assert {PurePosixPath("README.md"), PurePosixPath("conf/node.properties"), PurePosixPath("examples")} <= linked
    assert not [path for path in linked if path.is_relative_to("docs")]


def test_page_of_a_folder_lists_its_programs() -> None:
    assert "- [first_stream.py](first_stream.py)" in folder_page(PurePosixPath("examples"))


def test_hosts_of_a_block_become_its_title() -> None:
    assert with_blocks_of_the_site("```bash node1 node2\nls\n```") == '```bash title="node1 node2"\nls\n```'
    assert with_blocks_of_the_site("```python\nx\n```") == "```python\nx\n```"


def test_names_in_tables_may_be_broken_after_a_dot() -> None:
    html = "<td><code>kraft.ssl.endpoint</code></td><p><code>a.b</code></p>"

    assert with_breaks(html) == "<td><code>kraft.<wbr>ssl.<wbr>endpoint</code></td><p><code>a.b</code></p>"


def test_state_diagram_becomes_a_table() -> None:
    diagram = "```mermaid\nstateDiagram-v2\n    [*] --> Follower: begins\n    Follower --> Leader: wins\n```"

    table = with_blocks_of_the_site(diagram)

    assert (
        table == "| from | to | triggers |\n|---|---|---|\n| start | Follower | begins |\n| Follower | Leader | wins |"
    )
