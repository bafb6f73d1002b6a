"""References that lead back to themselves without a step into the value: such a schema has no end.

Its meaning is undefined, and validators run until their stack is full. A list whose items are lists of the same schema
is allowed: with every step the value gets smaller.
"""

from collections.abc import Iterator

from aiopravega.schema.json.document import Node

_SEVERAL = ("allOf", "anyOf", "oneOf")
_ONE = ("not", "if", "then", "else")
_NAMED = ("dependentSchemas", "dependencies")


def endless(root: Node) -> str | None:
    """A reference of such a loop; None if the schema has no loop."""
    done: set[int] = set()
    for reference, start in _references(root):
        # Each entry: the schemas that are still to be followed after a schema, and the schema.
        path: list[tuple[Iterator[Node], int]] = [(_same_value(start), id(start.schema))]
        within = {id(start.schema)}
        while path:
            node = next(path[-1][0], None)
            if node is None:
                _, left = path.pop()
                within.discard(left)
                done.add(left)
            elif id(node.schema) in within:
                return reference
            elif id(node.schema) not in done:
                within.add(id(node.schema))
                path.append((_same_value(node), id(node.schema)))
    return None


def _same_value(node: Node) -> Iterator[Node]:
    """The schemas that a schema applies to the same value."""
    keywords = node.keywords
    if isinstance(keywords.get("$ref"), str):
        target = node.target(keywords["$ref"])
        if target is not None and isinstance(target.schema, dict):
            yield target
    parts = [part for keyword in _SEVERAL for part in keywords.get(keyword, ())]
    parts += [keywords[keyword] for keyword in _ONE if keyword in keywords]
    parts += [part for keyword in _NAMED for part in keywords.get(keyword, {}).values()]
    yield from (node.at(part) for part in parts if isinstance(part, dict))


def _references(root: Node) -> Iterator[tuple[str, Node]]:
    """All schemas of the document that refer to others."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node.schema, dict) and isinstance(node.schema.get("$ref"), str):
            yield node.schema["$ref"], node
        parts = node.schema.values() if isinstance(node.schema, dict) else node.schema
        waiting += [node.at(part) for part in parts if isinstance(part, dict | list)]
