"""References that lead back to where they stand without a step into the value: such a schema has no end.

What it would mean is undefined, and validators run until their stack is full. A list whose items are such lists again
is fine: with every step the value gets smaller.
"""

from collections.abc import Iterator

from aiopravega.schema.json.document import Node

_SEVERAL = ("allOf", "anyOf", "oneOf")
_ONE = ("not", "if", "then", "else")
_NAMED = ("dependentSchemas", "dependencies")


def endless(root: Node) -> str | None:
    """A reference of such a loop; None if there is none."""
    done: set[int] = set()
    for reference, start in _references(root):
        # Each entry: what is left to follow after a schema, and the schema.
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
    """The schemas that a schema asks of the same value."""
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
    """All schemas that refer to others, wherever they stand in the document."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node.schema, dict) and isinstance(node.schema.get("$ref"), str):
            yield node.schema["$ref"], node
        parts = node.schema.values() if isinstance(node.schema, dict) else node.schema
        waiting += [node.at(part) for part in parts if isinstance(part, dict | list)]
