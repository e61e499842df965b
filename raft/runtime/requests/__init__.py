"""The request handlers: how a node responds to each API."""
