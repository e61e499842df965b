"""The documentation site: mkdocs builds it from docs/ and from what the documents link (`make docs`)."""
