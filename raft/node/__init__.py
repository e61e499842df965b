"""A node of the quorum on asyncio, threads and sockets: what the ports of `raft.runtime` are in a running process."""
