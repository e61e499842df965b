"""What a node does, without threads, sockets and clocks: the engine, the order of disk jobs, the request handlers.

It uses everything else through five interfaces, so that it runs unchanged in a node and in the simulator:

    interface     in a node                     in the simulator
    Scheduler     the asyncio event loop        an event loop in virtual time
    DiskWorkers   a disk and a flush thread     the same jobs on a disk in memory that loses unflushed data
    Network       connections to other nodes    the post office, which delays, loses and repeats messages
    Worker        one thread                    an event loop in virtual time
    Relay         one connection to the leader  the post office
"""
