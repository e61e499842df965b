"""Where the files of the repository are in the site, and how the documents' links become links of the site.

docs/source.md         source.md                      a page
README.md              index.md                       a page, as the other documents at the top
tests/README.md        files/tests/README.md          a page
conf/node.properties   files/conf/node.properties.txt the file, which a browser shows as text
docs/metrics.png       metrics.png                    a picture
examples               files/examples/index.md        a page that lists the folder
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parents[2]
DOCS = PurePosixPath("docs")
FILES = PurePosixPath("files")

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"^ *(```|~~~)")
_PICTURES = (".png", ".svg")


def place(path: PurePosixPath) -> PurePosixPath:
    """Return where a file or folder of the repository is in the site, for mkdocs: a page still ends with `.md`."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    if path == PurePosixPath("README.md"):
        return PurePosixPath("index.md")
    if path.suffix == ".md" and len(path.parts) == 1:
        return PurePosixPath(path.name.lower())
    if (ROOT / path).is_dir():
        return FILES / path / "index.md"
    if path.suffix == ".md" or path.suffix in _PICTURES:
        return FILES / path
    return FILES / f"{path}.txt"


def linked(document: PurePosixPath, text: str) -> Iterator[PurePosixPath]:
    """Yield the files and folders of the repository that a document links."""
    for line in _lines_outside_of_fences(text):
        for target, _ in _LINK.findall(line):
            yield _target(document, target)


def with_links_of_the_site(document: PurePosixPath, text: str) -> str:
    """Return the text of a document with its links changed to those of the site.

    Args:
        document: its path in the repository.
        text: as in the repository.
    """
    page = place(document)

    def link(found: re.Match[str]) -> str:
        target = _target(document, found[1])
        to = place(target)
        anchor = (found[2] or "") if to.suffix == ".md" else ""
        return relpath(to, page.parent) + anchor

    return "\n".join(line if is_fenced else _LINK.sub(link, line) for line, is_fenced in _with_fences(text.split("\n")))


def documents() -> list[PurePosixPath]:
    """Return the documents in docs/ and at the top of the repository."""
    found = [*ROOT.glob("*.md"), *(ROOT / DOCS).rglob("*.md")]
    return sorted(PurePosixPath(path.relative_to(ROOT).as_posix()) for path in found)


def all_linked() -> set[PurePosixPath]:
    """Return what the documents link outside of docs/, and what the documents link that these are."""
    found = set(documents())
    waiting = list(found)
    while waiting:
        document = waiting.pop()
        new = set(linked(document, (ROOT / document).read_text())) - found
        new |= {each for folder in new if (ROOT / folder).is_dir() for each in listed(folder)} - found
        found |= new
        waiting += [each for each in new if each.suffix == ".md"]
    return {path for path in found if not path.is_relative_to(DOCS) and (ROOT / path).exists()}


def listed(folder: PurePosixPath) -> list[PurePosixPath]:
    """Return the programs and documents in a folder."""
    names = sorted(path.name for path in (ROOT / folder).iterdir() if path.suffix in (".py", ".md"))
    return [folder / name for name in names if name != "__init__.py"]


def folder_page(folder: PurePosixPath) -> str:
    """Return the page of a folder, with links of the repository."""
    return "\n".join([f"# {folder}", "", *(f"- [{each.name}]({each.name})" for each in listed(folder)), ""])


def _target(document: PurePosixPath, target: str) -> PurePosixPath:
    return PurePosixPath(normpath(document.parent / target))


def _lines_outside_of_fences(text: str) -> Iterator[str]:
    return (line for line, is_fenced in _with_fences(text.split("\n")) if not is_fenced)


def _with_fences(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, with whether it is in a block of code."""
    is_fenced = False
    for line in lines:
        is_fence = _FENCE.match(line) is not None
        yield line, is_fenced or is_fence
        is_fenced ^= is_fence
