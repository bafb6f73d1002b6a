"""One registry client for each registry in a process, kept from task to task, with the encodings that it has seen."""

import os
from typing import Final

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig

_registries: Final[dict[tuple[int, RegistryConfig], SchemaRegistry]] = {}


def registry_of(config: RegistryConfig) -> SchemaRegistry:
    """The client of this configuration, and of this process: a fork cannot continue with connections of its parent."""
    key = os.getpid(), config
    if key not in _registries:
        _registries[key] = SchemaRegistry(config)
    return _registries[key]
