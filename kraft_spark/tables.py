"""Tables as plain text for a terminal, and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_Row = Sequence[object]


def text_table(header: Sequence[str], rows: Iterable[_Row]) -> str:
    """Return a table with a line for each row, in columns that are as wide as their longest cell.

    Args:
        header: names of the columns.
        rows: cells, as many in each row as there are columns.
    """
    lines = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def html_table(caption: str, facts: Iterable[tuple[str, object]], header: Sequence[str], rows: Iterable[_Row]) -> str:
    """Return HTML of names with values, and of a table below them; all text is escaped.

    Args:
        caption: one line.
        facts: names and their values.
        header: names of the columns.
        rows: cells, as many in each row as there are columns.
    """
    listed = "<br/>".join(f"{_escaped(name)}: <code>{_escaped(value)}</code>" for name, value in facts)
    return (
        f"<div><p><strong>{_escaped(caption)}</strong><br/>{listed}</p>"
        f"<table><thead>{_html_row('th', header)}</thead>"
        f"<tbody>{''.join(_html_row('td', row) for row in rows)}</tbody></table></div>"
    )


def _html_row(tag: str, cells: Iterable[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_escaped(cell)}</{tag}>' for cell in cells)}</tr>"


def _escaped(value: object) -> str:
    return html.escape(str(value))
