"""The hook of mkdocs: adds what is linked outside of docs/, and changes links to those of the site."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from scripts.docs_site.blocks import with_blocks_of_the_site, with_breaks
from scripts.docs_site.links import DOCS, FILES, ROOT, all_linked, folder_page, place, with_links_of_the_site

_STYLE = Path(__file__).with_name("site.css")

_paths: dict[str, PurePosixPath] = {}
"""The path in the repository of each page that is added."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents at the top of the repository, and all other files that are linked."""
    for path in sorted(all_linked()):
        to = str(place(path))
        _paths[to] = path
        source = ROOT / path
        inclusion = InclusionLevel.NOT_IN_NAV if to.startswith(f"{FILES}/") else InclusionLevel.UNDEFINED
        if source.is_dir():
            files.append(File.generated(config, to, content=folder_page(path), inclusion=inclusion))
        else:
            files.append(File.generated(config, to, abs_src_path=str(source), inclusion=inclusion))
    files.append(File.generated(config, "files/site.css", abs_src_path=str(_STYLE)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page with links of the site, and blocks that mkdocs understands."""
    del config, files
    path = _paths.get(page.file.src_uri, DOCS / page.file.src_uri)
    if (ROOT / path).is_dir():
        path = path / "README.md"
    return with_blocks_of_the_site(with_links_of_the_site(path, markdown))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page whose tables need not be as wide as the longest name."""
    del page, config, files
    return with_breaks(html)
