"""What a node does, without threads, sockets and clocks: the engine, the order of disk jobs, the request handlers.

The engine reaches the outside world through four ports, so that it runs unchanged in a node and in the simulator:

    port          in a node                     in the simulator
    Scheduler     the asyncio event loop        the timeline of virtual time
    Disk          a disk and a flush thread     the same jobs on a disk in memory that loses unflushed data
    Network       connections to other nodes    the post office, which delays, loses and repeats messages
    Worker        a thread pool                 the timeline
"""
