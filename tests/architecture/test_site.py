"""The documentation site is built without a warning, fits into the window of a phone, and its search finds a term.

`make docs` makes the tools, scripts/ensure_chromium.sh installs a browser. The pictures of the pages stay in
.cache/docs/pictures, so that one can look at them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / ".cache" / "docs"
PYTHON = DOCS / "venv" / "bin" / "python"
PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
FIRST = "# First\n\nThe alert is called KraftDiskFull.\n"
WIDE = '<div style="width: 2000px">a wide part</div>\n'
FOREIGN = '<img src="http://127.0.0.9:9/picture.png">\n'


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [str(PYTHON), "-m", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def require(is_there: bool, what: str) -> None:
    if not is_there:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


def look(site: Path, pictures: Path) -> Mapping[str, Any]:
    require(any(map(shutil.which, PROGRAMS)), "no Chromium: bash scripts/ensure_chromium.sh")
    looked = run("scripts.docs_site.look", str(site), str(pictures))
    assert looked.returncode == 0, looked.stderr
    report: Mapping[str, Any] = json.loads(looked.stdout)
    return report


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require(PYTHON.exists(), "the tools of the site are missing: make docs")
    folder = tmp_path_factory.mktemp("documents") / "site"
    built = run("mkdocs", "build", "--site-dir", str(folder))
    assert built.returncode == 0, built.stderr
    return folder


def planted(folder: Path, page: str) -> subprocess.CompletedProcess[str]:
    """Build a site of a first page and this one, with the settings of the real site."""
    require(PYTHON.exists(), "the tools of the site are missing: make docs")
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(FIRST)
    (folder / "docs" / "page.md").write_text(f"# A page\n\n{page}\n")
    settings = [
        f"INHERIT: {ROOT / 'mkdocs.yml'}",
        "docs_dir: docs",
        "hooks: []",
        "nav: [index.md, page.md]",
        "extra_css: []",
    ]
    (folder / "mkdocs.yml").write_text("\n".join(settings))
    return run("mkdocs", "build", "--config-file", str(folder / "mkdocs.yml"))


def test_site_has_every_document(site: Path) -> None:
    documents = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    expected = [path.with_name("index.html") if path.name == "README.html" else path for path in documents]

    assert not [path for path in [*expected, Path("architecture.html")] if not (site / path).exists()]


def test_pages_fit_into_their_window_and_the_search_finds_a_term(site: Path) -> None:
    report = look(site, DOCS / "pictures")

    assert len(report["pages"]) > 40
    assert report["wide"] == []
    assert report["foreign"] == [], "nothing is loaded from another server"
    assert report["errors"] == []
    assert any(link.startswith("operations.html") for link in report["found"])


def test_look_finds_what_is_too_wide_and_what_comes_from_another_server(tmp_path: Path) -> None:
    built = planted(tmp_path, WIDE + FOREIGN)
    assert built.returncode == 0, built.stderr

    report = look(tmp_path / "site", tmp_path / "pictures")

    assert {each.partition(":")[0] for each in report["wide"]} == {"page.html at 1280", "page.html at 390"}
    assert set(report["foreign"]) == {"http://127.0.0.9:9/picture.png"}
    assert [link.partition("?")[0] for link in report["found"]] == ["index.html"]


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("[a page](missing.md)", id="page"),
        pytest.param("[a part](#missing)", id="anchor"),
        pytest.param("[a file](../conf/missing.properties)", id="file"),
        pytest.param("[from the root](/missing.md)", id="absolute"),
    ],
)
def test_link_that_leads_nowhere_is_an_error(tmp_path: Path, link: str) -> None:
    built = planted(tmp_path, link)

    assert built.returncode != 0
    assert "missing" in built.stderr
