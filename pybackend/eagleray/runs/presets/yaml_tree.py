"""A reader for the YAML of configuration files: which keys there are, on which lines, with which plain values.

It reads the subset that configurations use (block and flow collections, anchors, merge keys, block scalars).  A line
that it can't read is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import define, field

_DEEPEST = 50
_MOST_NODES = 50_000
_PROPERTY = re.compile(r"(?:&(?P<anchor>[^\s,{}\[\]]+)|!\S*)(?:\s+|$)")


@define
class YamlNode:
    """A value: a scalar, or with `children` a mapping or, by their positions, a list."""

    line: int
    value: str = ""
    children: dict[str, YamlNode] | None = None
    is_list: bool = False

    def child(self, key: str) -> YamlNode | None:
        return self.children.get(key) if self.children is not None else None

    def at(self, key: str) -> YamlNode | None:
        """The value at a key whose names are joined by dots."""
        node: YamlNode | None = self
        for name in key.split("."):
            node = node.child(name) if node else None
        return node

    def items(self) -> list[YamlNode]:
        """The elements of a list; a scalar counts as a list of itself."""
        if self.children is None:
            return [self] if self.value else []
        return list(self.children.values()) if self.is_list else []


def read_yaml(text: str) -> YamlNode:
    """The first document of `text`; its root is a mapping or list, an empty mapping for anything else."""
    reader = _YamlReader(text.splitlines())
    return reader.block(-1, 0) or YamlNode(1, children={})


@define
class _YamlReader:
    lines: list[str]
    at: int = 0
    anchors: dict[str, YamlNode] = field(factory=dict)
    nodes: int = 0

    def block(self, above: int, depth: int) -> YamlNode | None:
        """The collection that is indented deeper than `above`, None if there is none."""
        first = self._peek()
        if first is None or first <= above or depth > _DEEPEST:
            return None
        node = YamlNode(self.at + 1, children={}, is_list=self._is_item(first))
        assert node.children is not None
        while (indent := self._peek()) is not None and indent > above:
            before = self.at
            if indent != first or self.nodes > _MOST_NODES:
                self.at += 1
            elif self._is_item(indent):
                if not node.is_list:
                    break
                node.children[str(len(node.children))] = self._item(indent, depth)
            else:
                if node.is_list:
                    break
                self._entry(node, indent, depth)
            self.at = max(self.at, before + 1)
        return node

    def _peek(self) -> int | None:
        """The indentation of the next line that holds something; the end of the document is None."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            bare = line.lstrip(" ")
            if bare.startswith(("---", "...")) and bare == line:
                if self.nodes:
                    return None
            elif bare and not bare.startswith(("#", "%")) and not bare.isspace():
                return len(line) - len(bare)
            self.at += 1
        return None

    def _is_item(self, indent: int) -> bool:
        rest = self.lines[self.at][indent:].rstrip()
        return rest == "-" or rest.startswith("- ")

    def _item(self, indent: int, depth: int) -> YamlNode:
        self.nodes += 1
        line = self.lines[self.at]
        rest = line[indent + 1 :].lstrip(" ")
        column = len(line) - len(rest)
        if _key_end(rest) or rest.startswith("- "):
            # The rest of the line begins a collection, which continues in its column.
            self.lines[self.at] = " " * column + rest
            return self.block(indent, depth + 1) or YamlNode(self.at + 1)
        return self._value(rest, indent, depth)

    def _entry(self, node: YamlNode, indent: int, depth: int) -> None:
        line = self.lines[self.at][indent:]
        end = _key_end(line)
        if not end:
            return
        self.nodes += 1
        key, number = unquoted(line[: end - 1].rstrip()), self.at + 1
        value = self._value(line[end:].strip(), indent, depth)
        value = YamlNode(number, value.value, value.children, value.is_list)
        assert node.children is not None
        if key == "<<":
            merged = value.items() if value.is_list else [value]
            for mapping in merged:
                node.children = {**(mapping.children or {}), **node.children}
        else:
            node.children[key] = value

    def _value(self, rest: str, indent: int, depth: int) -> YamlNode:
        """The value that begins with `rest` on the current line, whose key is at `indent`."""
        number = self.at + 1
        anchors: list[str] = []
        while match := _PROPERTY.match(rest):
            anchors += [match["anchor"]] if match["anchor"] else []
            rest = rest[match.end() :]
        if rest.startswith(("{", "[")):
            node = self._flow(rest, depth)
        elif rest.startswith("*"):
            node = self.anchors.get(_without_comment(rest)[1:].strip(), YamlNode(number))
            self.at += 1
        elif not rest or rest.startswith("#"):
            self.at += 1
            node = self._nested(number, indent, depth)
        else:
            node = YamlNode(number, self._scalar(rest, indent))
        self.anchors |= dict.fromkeys(anchors, node)
        return node

    def _nested(self, number: int, indent: int, depth: int) -> YamlNode:
        following = self._peek()
        if following is not None and following > indent:
            rest = self.lines[self.at].strip()
            if rest.startswith(("{", "[")):
                return self._flow(rest, depth)
            if not _key_end(rest) and not self._is_item(following):
                return YamlNode(number, self._scalar(rest, indent))
        same = following == indent and self._is_item(indent)
        return self.block(indent - 1 if same else indent, depth + 1) or YamlNode(number)

    def _scalar(self, rest: str, indent: int) -> str:
        """A scalar, which may continue on lines that are indented deeper."""
        is_block = rest.startswith(("|", ">"))
        parts = [] if is_block else [_without_comment(rest)]
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            deep = len(line) - len(line.lstrip(" "))
            if line.strip() and deep <= indent:
                break
            if line.strip() and (is_block or not line.lstrip().startswith("#")):
                parts.append(line.strip())
            self.at += 1
        return unquoted(" ".join(parts))

    def _flow(self, rest: str, depth: int) -> YamlNode:
        """A collection in braces or brackets, which may go over several lines."""
        number, tokens = self.at + 1, list(_tokens(rest, self.at + 1))
        self.at += 1
        while _open(tokens) > 0 and self.at < len(self.lines):
            tokens += _tokens(self.lines[self.at], self.at + 1)
            self.at += 1
        self.nodes += len(tokens)
        return _Flow(tokens).value(depth) if self.nodes <= _MOST_NODES else YamlNode(number)


@define
class _Flow:
    """Reads the tokens of a flow collection."""

    tokens: Sequence[tuple[str, int]]
    at: int = 0

    def value(self, depth: int) -> YamlNode:
        text, line = self._take()
        if text not in ("{", "[") or depth > _DEEPEST:
            return YamlNode(line, unquoted(text))
        close = "}" if text == "{" else "]"
        node = YamlNode(line, children={}, is_list=text == "[")
        assert node.children is not None
        while self.at < len(self.tokens) and self.tokens[self.at][0] != close:
            if self.tokens[self.at][0] == ",":
                self.at += 1
            elif node.is_list:
                node.children[str(len(node.children))] = self._element(depth + 1)
            else:
                key, at = self._take()
                node.children[unquoted(key)] = self._after_colon(at, depth)
        self.at += 1
        return node

    def _element(self, depth: int) -> YamlNode:
        """An element of a list, which may be a single `key: value`."""
        element = self.value(depth)
        if self.at < len(self.tokens) and self.tokens[self.at][0] == ":":
            return YamlNode(
                element.line, children={element.value: self._after_colon(element.line, depth)}
            )
        return element

    def _after_colon(self, line: int, depth: int) -> YamlNode:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == ":":
            self.at += 1
            if self.at < len(self.tokens) and self.tokens[self.at][0] not in (",", "}", "]"):
                value = self.value(depth + 1)
                return YamlNode(line, value.value, value.children, value.is_list)
        return YamlNode(line)

    def _take(self) -> tuple[str, int]:
        if self.at >= len(self.tokens):
            return "", self.tokens[-1][1] if self.tokens else 1
        self.at += 1
        return self.tokens[self.at - 1]


_TOKEN = re.compile(
    r"\s*(?:(?P<comment>(?:(?<=\s)|^)#.*)|(?P<quoted>\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')|(?P<sign>[{}\[\],])"
    r"|(?P<colon>:(?=[\s,{}\[\]]|$))|(?P<plain>(?:\$\{[^}]*\}|[^\s,{}\[\]:#]|:(?![\s,{}\[\]]|$)|(?<=\S)#"
    r"|[ \t]+(?=[^\s,{}\[\]:#]))+))"
)


def _tokens(text: str, line: int) -> Iterator[tuple[str, int]]:
    at = 0
    while match := _TOKEN.match(text, at):
        at = match.end()
        if not match["comment"]:
            yield match[0].strip(), line


def _open(tokens: Sequence[tuple[str, int]]) -> int:
    return sum((text in ("{", "[")) - (text in ("}", "]")) for text, _ in tokens)


def _key_end(text: str) -> int:
    """The position behind the colon of `key: value`, 0 if the text isn't one."""
    if text.startswith(("{", "[", "#", "&", "*", "|", ">", "? ")):
        return 0
    start = 0
    if text[:1] in ('"', "'"):
        start = text.find(text[0], 1) + 1
        if not start:
            return 0
    colon = re.compile(r":(?=\s|$)").search(text, start)
    if not colon or " #" in text[: colon.start()]:
        return 0
    return colon.end() if not start or not text[start : colon.start()].strip() else 0


def _without_comment(text: str) -> str:
    if text[:1] in ('"', "'"):
        end = text.find(text[0], 1)
        return text[: end + 1] if end > 0 else text
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def unquoted(text: str) -> str:
    """A scalar without its quotes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
