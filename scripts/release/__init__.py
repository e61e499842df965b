"""Builds a release: `make release`. Nothing is uploaded."""
