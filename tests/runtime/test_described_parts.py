"""DescribeTransactions finds an open part of a multipart write by the name under which it is listed."""

from __future__ import annotations

import pytest

from raft.errors import ErrorCode
from raft.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from tests.runtime.guarded_node import GuardedNode


@pytest.mark.parametrize(
    "number", ["", "5", "-5", " 5", "x", "\u0665", "9" * 19, "9" * 20, "9" * 5_000], ids=lambda text: f"{text[:9]!a}"
)
def test_name_of_no_open_part_is_not_found(number: str) -> None:
    """Python refuses to read a number of thousands of digits, by an error."""
    request = DescribeTransactionsRequest(transactional_ids=(f"kraft-part:{number}",))
    node = GuardedNode(None)

    response = node.ask(node.caller(), request, 0)

    assert isinstance(response, DescribeTransactionsResponse)
    assert [each.error_code for each in response.transaction_states] == [ErrorCode.TRANSACTIONAL_ID_NOT_FOUND]
