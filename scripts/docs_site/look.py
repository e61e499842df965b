"""Opens the pages of the built site in a headless Chromium, at the width of a desktop and of a phone.

python -m scripts.docs_site.look SITE PICTURES

Writes pictures of some pages, and prints as JSON what is wrong: parts of pages that are wider than the window, requests
to other servers, and errors of scripts; and what the search finds.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Error, sync_playwright

WIDTHS = {"desktop": 1280, "phone": 390}
HEIGHT = 900
SEARCH_MS = 20_000
PICTURED = ("index.html", "architecture.html", "operations.html", "options.html", "internals/append.html", "roles.html")
SEARCHED = "KraftDiskFull"
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")

_WIDE = """() => {
  const scrolls = element => {
    for (let each = element.parentElement; each; each = each.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
    return false;
  };
  const wide = [...document.querySelectorAll(".md-content *, .md-header *, .md-footer *")].filter(element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.right > window.innerWidth + 1 && !scrolls(element)
      && !element.closest(".md-search, .md-search__output, .md-overlay");
  });
  return wide.map(element => `${element.tagName.toLowerCase()}: ${element.textContent.trim().slice(0, 60)}`);
}"""
"""The elements of a page that are beyond the right edge of the window, and not in something that scrolls."""


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on loopback; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Look:
    """What was seen of a site.

    Args:
        browser: opens the pages.
        address: of the site.
        pictures: the folder for pictures.
    """

    def __init__(self, browser: Browser, address: str, pictures: Path) -> None:
        self._browser = browser
        self._address = address
        self._pictures = pictures
        self.wide: list[str] = []
        self.foreign: list[str] = []
        self.errors: list[str] = []

    def at(self, pages: Iterable[str], scheme: Literal["light", "dark"]) -> None:
        """Open pages at all widths, and keep pictures of some."""
        page = self._browser.new_page(color_scheme=scheme, reduced_motion="reduce")
        page.on("request", lambda request: self._on_request(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        for path in pages:
            page.goto(f"{self._address}/{path}")
            for name, width in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": HEIGHT})
                self.wide += [f"{path} at {width}: {each}" for each in page.evaluate(_WIDE)]
                if path in PICTURED:
                    picture = f"{path.removesuffix('.html').replace('/', '-')}-{name}-{scheme}.png"
                    page.screenshot(path=str(self._pictures / picture))
        page.close()

    def found(self) -> list[str]:
        """Return the pages that the search finds; none if it has found nothing in time."""
        page = self._browser.new_page(viewport={"width": WIDTHS["desktop"], "height": HEIGHT})
        # The script of the search reads keys, and only once it is loaded.
        page.goto(self._address, wait_until="networkidle")
        page.click(".md-search__input")
        page.keyboard.type(SEARCHED)
        with suppress(Error):
            page.wait_for_selector(".md-search-result__item a", timeout=SEARCH_MS)
        links = page.eval_on_selector_all(".md-search-result__item a", "links => links.map(link => link.href)")
        page.screenshot(path=str(self._pictures / "search-desktop-light.png"))
        page.close()
        return [link.removeprefix(f"{self._address}/") for link in links]

    def _on_request(self, address: str) -> None:
        if not address.startswith((self._address, "data:")):
            self.foreign.append(address)


def main() -> int:
    site, pictures = Path(sys.argv[1]), Path(sys.argv[2])
    pictures.mkdir(parents=True, exist_ok=True)
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.name != "404.html")
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with served(site) as address, sync_playwright() as playwright:
        # As root, Chromium starts only without its sandbox; it opens nothing but these pages.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        look = Look(browser, address, pictures)
        look.at(pages, "light")
        look.at([page for page in pages if page in PICTURED], "dark")
        found = look.found()
        browser.close()
    report = {"pages": pages, "wide": look.wide, "foreign": look.foreign, "errors": look.errors, "found": found}
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
