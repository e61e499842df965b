"""What a node stores: its log, its election state and its identity. All file calls of raft are in this package."""
