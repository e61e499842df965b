"""What a node does, apart from threads, sockets and clocks: the engine, the order of its disk's work, its requests.

The engine reaches the outside world through four ports, so that it runs unchanged in a node and in the simulator:

    port          in a node                     in the simulator
    Scheduler     the asyncio event loop        the timeline of virtual time
    Disk          a disk and a flush thread     the same jobs on a lossy disk in memory
    Network       connections to other nodes    the post office, which delays, loses and repeats messages
    Worker        a thread pool                 the timeline
"""
