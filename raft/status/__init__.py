"""The state of one node on this machine, for its operator.

directory     what the files of the node say; they are read only, and the lock is not taken
responses     what the node says on its listener
node_status   both together, as one report

A damaged file or a node that does not respond is a problem in the report. The rest is reported nevertheless.
"""

from raft.status.node_status import NodeStatus, node_status

__all__ = ["NodeStatus", "node_status"]
