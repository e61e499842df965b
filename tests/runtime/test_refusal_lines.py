"""The log line about a refused request stays short, whatever the request names."""

from __future__ import annotations

import pytest

from tests.runtime.guarded_node import GuardedNode
from tests.runtime.requests_of_replicas import vote_request


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param([7], "node 7", id="one"),
        pytest.param([9, 7, 8], "node 7, 8, 9", id="three"),
        pytest.param([9, 7, 8, 6], "node 6, 7, 8 and 1 more", id="four"),
        pytest.param(range(400), "node 0, 1, 2 and 397 more", id="hundreds"),
    ],
)
@pytest.mark.rule("ACL-6")
def test_line_about_a_request_in_many_names_has_the_first_three(
    names: list[int], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    node = GuardedNode("")

    node.ask("User:neighbour", vote_request(names, 1), 1)

    (line,) = caplog.messages
    what = f"node 1: refused VoteRequest in the name of {text}"
    assert line == f"{what}: User:neighbour is not allowed to peer; address=192.0.2.1"
