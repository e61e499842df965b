"""Example programs, which use only the public API: `python -m examples.first_stream`, and so on."""
