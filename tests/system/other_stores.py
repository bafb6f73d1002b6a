"""Object stores beside moto, as processes: SeaweedFS, which has S3, and Azurite, which plays the blobs of Azure.

`make stores-install` makes them, with Go and Node of this machine: `make setup` does not bring them.
"""

import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.faults.process import ProcessTree, wait_until
from tests.system.s3_server import BUCKET
from tests.system.servers import free_ports, start_server

INSTALL: Final = "make stores-install"
_BUILD: Final = Path(__file__).parents[2] / "build" / "stores"
_SEAWEED: Final = "github.com/seaweedfs/seaweedfs@v0.0.0-20261109003541-7506e5f91cd6"
_AZURITE: Final = "azurite@3.37.0"
_ACCOUNT: Final = "devstoreaccount1"
# Azurite publishes the key of its only account.
_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class OtherStore(ABC):
    """A running store with one bucket or container; use it as a context manager.

    Args:
        folder: an empty folder, for what it stores and says.
    """

    # The file that its installation makes.
    program: ClassVar[Path]
    # The address of the bucket or container.
    address: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: ProcessTree

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot run here, or None."""
        if cls.program.exists():
            return None
        return f"not on this machine: {cls.program}. Install it with `{INSTALL}`"

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """The variables by which libraries find it."""

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """The command that starts it."""

    @abstractmethod
    def _makes_the_bucket(self) -> bool:
        """True once it has the bucket."""

    def __enter__(self) -> Self:
        self._server = start_server(self._command(), self._folder / "said.log", dict(os.environ), self._folder)
        wait_until(self._makes_the_bucket, self._server.said, every=0.2)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.process.kill()
        self._server.process.wait()


class SeaweedFS(OtherStore):
    """SeaweedFS: its master, a volume, its filer and its S3 in one process."""

    program = _BUILD / "weed"
    address = f"s3://{BUCKET}"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        parts = ("master", "volume", "filer", "s3")
        names = [f"-{part}.{kind}" for part in parts for kind in ("port", "port.grpc")]
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))
        self._url = f"http://127.0.0.1:{self._ports['-s3.port']}"

    def environment(self) -> dict[str, str]:
        """The variables by which libraries find it."""
        return {
            "AWS_ENDPOINT_URL": self._url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "not a secret",
            "AWS_REGION": "us-east-1",
        }

    def _command(self) -> Sequence[str | Path]:
        own = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={self._folder}", "-s3", "-volume.max=0"]
        ports = [f"{name}={port}" for name, port in self._ports.items()]
        # Requests are signed, and without users the signature is not asked for.
        return [self.program, "server", *own, *ports, "-s3.port.iceberg=0", "-s3.port.lance=0"]

    def _makes_the_bucket(self) -> bool:
        try:
            with urlopen(Request(f"{self._url}/{BUCKET}", method="PUT")) as answer:
                return bool(answer.status == 200)
        except (URLError, ConnectionError):
            return False


class Azurite(OtherStore):
    """Azurite, the blobs of Azure as Microsoft plays them."""

    program = _BUILD / "azurite" / "node_modules" / ".bin" / "azurite-blob"
    address = f"abfss://{BUCKET}@{_ACCOUNT}.dfs.core.windows.net"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        [self._port] = free_ports(1)
        self._url = f"http://127.0.0.1:{self._port}/{_ACCOUNT}"

    def environment(self) -> dict[str, str]:
        """The variables by which libraries find it."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": _ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": _KEY,
            "AZURE_STORAGE_ENDPOINT": self._url,
            "AZURE_ALLOW_HTTP": "true",
            "AZURE_STORAGE_CONNECTION_STRING": (
                f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};AccountKey={_KEY};BlobEndpoint={self._url};"
            ),
        }

    def _command(self) -> Sequence[str | Path]:
        about = ["--blobHost=127.0.0.1", f"--blobPort={self._port}", f"--location={self._folder}"]
        return [self.program, *about, "--silent", "--skipApiVersionCheck", "--disableTelemetry"]

    def _makes_the_bucket(self) -> bool:
        # Not everywhere where other servers are used.
        from azure.core.exceptions import AzureError
        from azure.storage.blob import BlobServiceClient

        try:
            with BlobServiceClient(self._url, credential=_KEY, retry_total=0) as client:
                client.create_container(BUCKET)
        except AzureError:
            return False
        return True


def install() -> None:
    """Make what is not there yet."""
    lacking = [each for each in ("go", "npm") if shutil.which(each) is None]
    if lacking:
        sys.exit(f"not on this machine: {', '.join(lacking)}. Install Go 1.26 and Node 22, and run `{INSTALL}` again")
    _BUILD.mkdir(parents=True, exist_ok=True)
    if not SeaweedFS.program.exists():
        # `go install` refuses modules that replace others, as this one does.
        found = subprocess.run(["go", "mod", "download", "-json", _SEAWEED], check=True, capture_output=True, text=True)
        source = json.loads(found.stdout)["Dir"]
        subprocess.run(["go", "build", "-C", source, "-buildvcs=false", "-o", SeaweedFS.program, "./weed"], check=True)
    if not Azurite.program.exists():
        folder = Azurite.program.parents[2]
        subprocess.run(["npm", "install", "--prefix", folder, "--no-fund", "--no-audit", _AZURITE], check=True)
    print(f"SeaweedFS and Azurite are in {_BUILD}")


if __name__ == "__main__":
    install()
