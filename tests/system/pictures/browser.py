"""Headless Chromium, by ChromeDriver: opens pages, waits for what they show, clicks, and takes pictures.

ChromeDriver takes plain requests (W3C WebDriver), of which five are enough here.
"""

import base64
import json
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
from tests.faults.process import wait_until
from tests.system.servers import free_ports, start_server

SIZE: Final = (1300, 800)
PATIENCE: Final = 300.0
_MOST_SHOTS: Final = 12
# The key of an element in answers, which the standard has chosen.
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
_FLAGS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--lang=en-US"),
)


def find(program: str) -> str:
    """The path of a program.

    Raises:
        SystemExit: it is not on the path.
    """
    found = shutil.which(program)
    if found is None:
        raise SystemExit(f"there is no {program} on the path: install the packages chromium and chromium-driver")
    return found


class Browser:
    """A window of Chromium of a size in pixels, its frame counted; use it as a context manager."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self._size = size
        self._folder = tempfile.TemporaryDirectory()
        [port] = free_ports(1)
        log = Path(self._folder.name) / "driver.log"
        self._driver = start_server(
            [find("chromedriver"), f"--port={port}"], log, os.environ | {"HOME": self._folder.name}
        )
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)

    def __enter__(self) -> Self:
        try:
            wait_until(self._is_ready, self._driver.said, PATIENCE)
            options = {
                "binary": find("chromium"),
                "args": [
                    *_FLAGS,
                    f"--user-data-dir={self._folder.name}/profile",
                    "--window-size={},{}".format(*self._size),
                ],
            }
            wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
            self._session = self._ask("POST", "/session", wanted)["sessionId"]
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._http.close()
        self._driver.kill()
        self._folder.cleanup()

    def _is_ready(self) -> bool:
        try:
            return bool(self._ask("GET", "/status")["ready"])
        except httpx.TransportError:
            return False

    def _ask(self, method: str, path: str, content: Any = None) -> Any:
        answer = self._http.request(method, path, json=content)
        assert answer.is_success, f"{method} {path}: {answer.text[:500]}"
        return answer.json()["value"]

    def _of_session(self, path: str, content: Any = None) -> Any:
        return self._ask("GET" if content is None else "POST", f"/session/{self._session}{path}", content)

    def open(self, url: str) -> None:
        """Open a page."""
        self._of_session("/url", {"url": url})

    def see(self, xpath: str) -> None:
        """Wait until the page has an element."""

        def shown() -> bool:
            return bool(self._of_session("/elements", {"using": "xpath", "value": xpath}))

        wait_until(shown, lambda: f"the page shows {xpath}: {self.text()}", PATIENCE, every=0.5)

    def click(self, xpath: str) -> None:
        """Click on the first such element, once there is one."""
        self.see(xpath)
        found = self._of_session("/element", {"using": "xpath", "value": xpath})
        self._of_session(f"/element/{found[_ELEMENT]}/click", {})

    def run(self, script: str) -> Any:
        """The value of a script."""
        return self._of_session("/execute/sync", {"script": script, "args": []})

    def text(self) -> str:
        """What the page says."""
        return json.dumps(self.run("return document.body.innerText"))[:2000]

    def settle(self) -> None:
        """Wait until the page has not changed for a moment: what it draws moves at first, and some signs always do."""
        seen: list[str] = []

        def still() -> bool:
            seen.append(self._of_session("/screenshot"))
            return len(seen) == _MOST_SHOTS or (len(seen) > 1 and seen[-1] == seen[-2])

        wait_until(still, lambda: "the page stands still", PATIENCE, every=1.0)

    def picture(self, file: Path) -> None:
        """Store what the window shows, once it stands still."""
        self.settle()
        file.write_bytes(base64.b64decode(self._of_session("/screenshot")))
        print(file, flush=True)
