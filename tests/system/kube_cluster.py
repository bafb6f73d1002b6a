"""A control plane of Kubernetes: its API server and etcd as processes, with accounts and rights; no container runs.

`make kubernetes-install` builds both with Go of this machine: `make setup` does not bring them.
"""

import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.faults.process import ProcessTree, wait_until
from tests.system.servers import free_ports, start_server

INSTALL: Final = "make kubernetes-install"
NAMESPACE: Final = "jobs"
_ROOT: Final = Path(__file__).parents[2]
_BUILD: Final = _ROOT / "build" / "kubernetes"
_PROGRAMS: Final = ("apiserver", "etcd")
_ADMIN: Final = "admin"
# The accounts of tests, and what each may do in the namespace.
_RIGHTS: Final[dict[str, tuple[dict[str, list[str]], ...]]] = {
    "submitter": (
        {
            "apiGroups": ["", "networking.k8s.io"],
            "resources": ["pods", "services", "configmaps", "networkpolicies"],
            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
        },
    ),
    "airflow": ({"resources": ["pods"], "verbs": ["get", "list", "delete"]},),
    "nobody": (),
}
# What the driver of Spark does with its executors.
_OF_DRIVER: Final = {
    "resources": ["pods", "services", "configmaps", "persistentvolumeclaims"],
    "verbs": ["get", "list", "watch", "create", "patch", "delete", "deletecollection"],
}
DRIVER: Final = "spark"


def missing() -> str | None:
    """Why it cannot run here, or None."""
    lacking = [name for name in _PROGRAMS if not (_BUILD / name).exists()]
    return f"not in {_BUILD}: {', '.join(lacking)}. Build them by `{INSTALL}`" if lacking else None


class KubeCluster:
    """A running control plane; use it as a context manager.

    `url` is the address of its API server, on `port`. `kubeconfig(account)` is a file by which programs reach it.
    """

    def __init__(self, folder: Path) -> None:
        self.port, self._etcd_port, self._peer_port = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self.certificate = folder / "certificates" / "apiserver.crt"
        self._folder = folder
        self._etcd: ProcessTree | None = None
        self._server: ProcessTree | None = None
        self.tokens = {name: f"token-of-{name}" for name in (_ADMIN, *_RIGHTS)}
        groups = {_ADMIN: ',"system:masters"'}
        lines = [f"{token},{name},{name}{groups.get(name, '')}\n" for name, token in self.tokens.items()]
        (folder / "tokens.csv").write_text("".join(lines))
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        (folder / "accounts.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )

    def __enter__(self) -> Self:
        etcd, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        command: list[str | Path] = [
            _BUILD / "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            f"--initial-cluster=default={peer}",
        ]
        command += [f"--{name}-client-urls={etcd}" for name in ("listen", "advertise")]
        command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", "--unsafe-no-fsync"]
        try:
            self._etcd = start_server(command, self._folder / "etcd.log", dict(os.environ), self._folder)
            self.start_server()
            self._make_accounts()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def start_server(self) -> None:
        """Start the API server, with what an earlier one has stored, and wait until it answers."""
        keys = self._folder / "accounts.key"
        command: list[str | Path] = [
            _BUILD / "apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            f"--cert-dir={self._folder / 'certificates'}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={keys}",
            f"--service-account-signing-key-file={keys}",
            "--service-cluster-ip-range=10.0.0.0/24",
        ]
        server = start_server(command, self._folder / "apiserver.log", dict(os.environ), self._folder)
        self._server = server
        wait_until(self._is_ready, server.said, 120, every=0.2)

    def kill_server(self) -> None:
        """Kill the API server; what it has stored lives on."""
        assert self._server is not None
        self._server.kill()

    def kubeconfig(self, account: str, token: str | None = None) -> Path:
        """A file of programs for Kubernetes, by which they are an account, or have a token of another kind."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "tests", "cluster": {"server": self.url, "certificate-authority": str(self.certificate)}}
            ],
            "users": [{"name": account, "user": {"token": token or self.tokens[account]}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": account}}],
            "current-context": "tests",
        }
        path = self._folder / f"{account}.kubeconfig"
        path.write_text(json.dumps(content))
        return path

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Ask the API as an administrator; None: it knows no such thing."""
        headers = {"authorization": f"Bearer {self.tokens[_ADMIN]}", "content-type": kind}
        trusted = ssl.create_default_context(cafile=self.certificate)
        with httpx.Client(verify=trusted, timeout=30) as client:
            content = None if body is None else json.dumps(body)
            answer = client.request(method, f"{self.url}{path}", headers=headers, content=content)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.is_error:
            raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    def pods(self, role: str = "driver") -> list[dict[str, Any]]:
        """All pods of Spark's drivers, or executors, oldest first."""
        found = self.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=spark-role%3D{role}")
        return sorted(found["items"], key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["uid"]))

    def make(self, kind: str, name: str, **content: Any) -> None:
        """Make a thing of the core API in the namespace, such as one of the `secrets`."""
        self.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/{kind}", {"metadata": {"name": name}, **content})

    def end(self) -> None:
        """Kill both processes."""
        for server in filter(None, (self._server, self._etcd)):
            server.kill()

    def _is_ready(self) -> bool:
        try:
            return self.certificate.exists() and self.ask("GET", "/api/v1/namespaces/default") is not None
        except (httpx.TransportError, AssertionError):
            return False

    def _make_accounts(self) -> None:
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for name in ("default", DRIVER):
            self.make("serviceaccounts", name)
        for name, rules in _RIGHTS.items():
            self._allow({"kind": "User", "name": name}, name, rules)
        self._allow({"kind": "ServiceAccount", "name": DRIVER, "namespace": NAMESPACE}, DRIVER, (_OF_DRIVER,))

    def _allow(self, subject: dict[str, str], name: str, rules: tuple[dict[str, list[str]], ...]) -> None:
        path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
        about = {"metadata": {"name": name}}
        self.ask("POST", f"{path}/roles", {**about, "rules": [{"apiGroups": [""], **rule} for rule in rules]})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        self.ask("POST", f"{path}/rolebindings", {**about, "subjects": [subject], "roleRef": role})


def install() -> None:
    """Build what is not there yet."""
    if shutil.which("go") is None:
        sys.exit(f"not on this machine: go. Install Go 1.26, and run `{INSTALL}` again")
    _BUILD.mkdir(parents=True, exist_ok=True)
    for name in _PROGRAMS:
        if not (_BUILD / name).exists():
            sources = _ROOT / "tests" / "go" / "kubernetes"
            # Neither the tables of symbols nor traces are needed, and the rest of the machine has the time it needs.
            options: list[str | Path] = ["-C", sources, "-p", "2", "-trimpath", "-ldflags", "-s -w", "-buildvcs=false"]
            command = ["nice", "-n", "19", "go", "build", *options, "-o", _BUILD / name, f"./{name}"]
            subprocess.run(command, check=True)
    print(f"The API server of Kubernetes and etcd are in {_BUILD}")


if __name__ == "__main__":
    install()
