"""One node of the quorum as a running process: an event loop around the core, its disk and its sockets."""
