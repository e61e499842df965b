"""A node of the quorum on asyncio, threads and sockets: implements the interfaces of `raft.runtime`."""
