"""The command `kraft`."""
