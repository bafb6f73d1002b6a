"""Fuzz one target, with the coverage of this package's code: for as long as is said, or to the first finding."""

import sys

import atheris

with atheris.instrument_imports(include=["aiopravega"]):
    from tests.fuzz.targets import TARGETS

    from aiopravega.errors import PravegaError


def main(name: str, *arguments: str) -> None:
    """Run Atheris with its arguments; an error that is none of the package ends the process with a traceback."""
    with atheris.instrument_imports(include=["aiopravega"]):  # what is imported when the first event comes
        fuzzed = TARGETS[name]()
        for seed in fuzzed.seeds:
            fuzzed.read(seed)

    def try_one(data: bytes) -> None:
        try:
            fuzzed.read(data)
        except PravegaError as error:
            assert str(error)

    atheris.Setup([sys.argv[0], *arguments], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
