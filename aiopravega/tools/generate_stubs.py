"""Make the Python messages of `control/proto/controller.proto`: run it after a change there, and commit the result.

Generated code works with the protobuf release that made it and with later ones, up to the next major version but
one; so an old compiler is used, in a throw-away environment, and the messages run on every protobuf that
`pyproject.toml` allows. Calls are made by name (`control/rpc.py`), so no gRPC stubs are generated.
"""

import subprocess
import tempfile
import venv
from pathlib import Path

# Its protoc is that of protobuf 5.26, the oldest runtime that the package allows.
COMPILER = "grpcio-tools==1.64.3"
# Its wheels need a part of setuptools that was removed in version 81.
SETUPTOOLS = "setuptools<81"
SOURCES = Path(__file__).resolve().parents[1] / "src"
PROTO = SOURCES / "aiopravega/control/proto/controller.proto"


def main() -> None:
    """Generate `controller_pb2.py` and `controller_pb2.pyi` beside the proto file."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", COMPILER, SETUPTOOLS], check=True)
        # The path below the include folder becomes the file's name in protobuf's registry: it must be unique.
        outputs = [f"--python_out={SOURCES}", f"--pyi_out={SOURCES}"]
        subprocess.run(
            [python, "-m", "grpc_tools.protoc", f"-I{SOURCES}", *outputs, PROTO.relative_to(SOURCES)], check=True
        )
    typed = PROTO.with_name("controller_pb2.pyi")
    typed.write_text(f"# mypy: ignore-errors\n{typed.read_text()}")


if __name__ == "__main__":
    main()
