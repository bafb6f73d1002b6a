"""`from aiopravega.emulator import PravegaEmulator`, where the distribution `pravega-emulator` is installed.

The server is in the package `pravega_emulator`. This module offers one name of it and imports it when that name is
asked for. No other module of the client knows the emulator, and no extra of it installs it.
"""

from typing import TYPE_CHECKING

from aiopravega.errors import EmulatorError

if TYPE_CHECKING:
    from pravega_emulator import PravegaEmulator

__all__ = ["PravegaEmulator"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import pravega_emulator
    except ModuleNotFoundError as error:
        raise EmulatorError(f"{name} is in a distribution of its own: pip install pravega-emulator") from error
    return pravega_emulator.PravegaEmulator
