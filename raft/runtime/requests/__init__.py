"""What a node answers to each API."""
