"""Programs to read and to run: `python -m examples.first_stream`, and so on. Each uses the public API only."""
