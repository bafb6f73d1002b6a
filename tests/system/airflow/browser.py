"""A headless Chromium that opens pages, clicks, and takes pictures; it is spoken to by a pipe, in its own protocol."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.faults.process import wait_until

PATIENCE: Final = 300.0
_END: Final = b"\0"
_WIDTH, _HEIGHT = 1440, 900
# What is visible of an element with such a text; the last one is the innermost.
_FIND: Final = """
(() => [...document.querySelectorAll({css})].filter(
    element => element.checkVisibility() && (element.innerText || element.placeholder || "").includes({text})
).pop())()
"""


class Browser:
    """One page of a browser; use it as a context manager."""

    def __enter__(self) -> Self:
        chromium = shutil.which("chromium")
        assert chromium is not None, "the pictures need Chromium: install it, on Debian by `apt-get install chromium`"
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        words = f"--headless --no-sandbox --remote-debugging-pipe --user-data-dir={self._profile} about:blank"
        self._process = subprocess.Popen(
            ["bash", "-c", f"exec {chromium} {words} 3<&{theirs_in} 4>&{theirs_out}"],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._answers, self._requests = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb", buffering=0)
        self._number = 0
        self._session: dict[str, str] = {}
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        size = {"width": _WIDTH, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", **size)
        return self

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters, **self._session}
        self._requests.write(json.dumps(request).encode() + _END)
        while True:
            message = bytearray()
            while (byte := self._answers.read(1)) != _END:
                assert byte, "the browser has ended"
                message += byte
            answer = json.loads(message)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def run(self, script: str) -> Any:
        """The value of an expression in the page, plain JSON."""
        return self._ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def open(self, address: str) -> None:
        """Open a page; what it shows comes later."""
        self._ask("Page.navigate", url=address)

    def wait_for(self, text: str, css: str = "*") -> None:
        """Wait until the page shows a text."""
        found = f"!!{_FIND.format(css=json.dumps(css), text=json.dumps(text))}"
        wait_until(lambda: self.run(found), lambda: f"{text!r} in {self.run('document.body.innerText')}", PATIENCE, 0.3)

    def click(self, text: str, css: str = "button, a, [role=option], [role=combobox]") -> None:
        """Click on what has a text, once it is there."""
        self.wait_for(text, css)
        self.run(f"{_FIND.format(css=json.dumps(css), text=json.dumps(text))}.click()")

    def picture(self, file: Path) -> None:
        """Store what the page shows."""
        file.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot", format="png")["data"]))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._answers.close()
        self._requests.close()
        shutil.rmtree(self._profile, ignore_errors=True)
