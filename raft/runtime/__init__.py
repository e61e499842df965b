"""What a node does, without threads, sockets and clocks: the engine, the order of disk jobs, the request handlers.

It uses everything else through interfaces, so that it runs unchanged in a node and in the simulator.
docs/internals/node.md has them, with the classes that implement them.
"""
