# SPDX-License-Identifier: GPL-2.0-only
"""Reads device trees as text: preprocessor, /include/, labels, overrides by &label, deleted nodes. An error names file, line and reason."""

import re
import subprocess
from bisect import bisect_right
from pathlib import Path

SKIPPED = re.compile(r'(?:\s+|//[^\n]*|/\*.*?\*/|^# \d+ "[^"\n]*"[^\n]*)*', re.S | re.M)
MARKER = re.compile(r'^# (\d+) "([^"\n]*)"[^\n]*\n', re.M)
LABEL = re.compile(r"([A-Za-z_]\w*)\s*:")
REFERENCE = re.compile(r"&(?:([A-Za-z_]\w*)|\{([^}]*)\})")
DIRECTIVE = re.compile(r"/([a-z][a-z0-9-]*)/")
NAME = re.compile(r"[A-Za-z0-9,._+*#?@-]+")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"', re.S)
CELL = re.compile(r"&\{[^}]*\}|&?\w+|'.'")
OPERATORS = re.compile(r"0[xX][0-9a-fA-F]+|\d+|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:()]")


class Malformed(Exception):
    """An input that cannot be used: file, line and reason. `fault`: a group of reasons, for counts."""

    def __init__(self, place, reason, fault="is malformed"):
        super().__init__(f"{place[0]}:{place[1]}: {reason}")
        self.fault = fault


class Property:
    """The values of a property, each a string, a list of cells, or a reference; cells are numbers as text or references."""

    def __init__(self, values, place):
        self.values = values
        self.place = place

    def cells(self):
        return [cell for value in self.values if isinstance(value, list) for cell in value]

    def strings(self):
        return [value for value in self.values if isinstance(value, str)]


class Node:
    def __init__(self, name, parent, place):
        self.name = name
        self.parent = parent
        self.place = place
        self.properties = {}
        self.children = {}

    def path(self):
        return "/" if self.parent is None else self.parent.path().rstrip("/") + "/" + self.name

    def is_disabled(self):
        return self.text("status") in ("disabled", "fail")

    def error(self, reason, fault, key=None):
        """An error at a property of the node, or at the node if it has no such property."""
        place = self.properties[key].place if key in self.properties else self.place
        return Malformed(place, f"{self.path()}: {reason}", fault)

    def text(self, key):
        """Returns the first string of a property, or None."""
        found = self.properties.get(key)
        return found.strings()[0] if found and found.strings() else None

    def numbers(self, key):
        """Returns the cells of a property as numbers; none if there is no such property."""
        found = self.properties.get(key)
        if found is None:
            return []
        try:
            return [evaluate(cell) for cell in found.cells()]
        except (ValueError, ZeroDivisionError):
            raise self.error(f"{key} is not a list of numbers", "is malformed", key) from None

    def number(self, key):
        """Returns the first number of a property, or None."""
        numbers = self.numbers(key)
        if key in self.properties and not numbers:
            raise self.error(f"{key} has no number", "is malformed", key)
        return numbers[0] if numbers else None


class Tree:
    def __init__(self):
        self.root = None
        self.labels = {}
        self.open_files = []

    def find(self, path):
        """Returns the node at an absolute path, or None."""
        node = self.root
        for name in filter(None, path.split("/")):
            node = node and node.children.get(name)
        return node

    def referenced(self, cell):
        """Returns the node that a cell or value like &label or &{/path} names, or None."""
        match = REFERENCE.fullmatch(cell)
        if not match:
            return None
        return self.labels.get(match[1]) if match[1] else self.find(match[2])

    def references(self, node, key):
        """Returns the nodes that a property of a node refers to. Other cells are arguments of the references."""
        found = node.properties.get(key)
        nodes = []
        for cell in [cell for cell in found.cells() if cell.startswith("&")] if found else []:
            if self.referenced(cell) is None:
                raise node.error(f"{key} refers to {cell}, which is not in the tree", "refers to what is not in it", key)
            nodes.append(self.referenced(cell))
        return nodes


def evaluate(text):
    """Returns the value of a cell: a number of C, or an expression in parentheses."""
    tokens = OPERATORS.findall(re.sub(r"(?<=[0-9a-fA-F])[uUlL]+\b", "", text))
    if "".join(tokens) != re.sub(r"\s|(?<=[0-9a-fA-F])[uUlL]+\b", "", text):
        raise ValueError(text)
    value = choice(tokens)
    if tokens:
        raise ValueError(text)
    return value


PRECEDENCE = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]
APPLY = {
    "||": lambda a, b: int(bool(a or b)), "&&": lambda a, b: int(bool(a and b)), "|": int.__or__, "^": int.__xor__, "&": int.__and__,
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b), "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b), "<<": int.__lshift__, ">>": int.__rshift__,
    "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__, "%": int.__mod__,
}


def choice(tokens):
    condition = binary(tokens, 0)
    if tokens[:1] != ["?"]:
        return condition
    tokens.pop(0)
    chosen = choice(tokens)
    if tokens[:1] != [":"]:
        raise ValueError("? without :")
    tokens.pop(0)
    other = choice(tokens)
    return chosen if condition else other


def binary(tokens, level):
    if level == len(PRECEDENCE):
        return unary(tokens)
    value = binary(tokens, level + 1)
    while tokens and tokens[0] in PRECEDENCE[level]:
        value = APPLY[tokens.pop(0)](value, binary(tokens, level + 1))
    return value


def unary(tokens):
    if not tokens:
        raise ValueError("an operand is missing")
    token = tokens.pop(0)
    if token == "(":
        value = choice(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("( without )")
        return value
    if token in "-~!+":
        value = unary(tokens)
        return {"-": -value, "~": ~value, "!": int(not value), "+": value}[token]
    return int(token, 16 if token[:2] in ("0x", "0X") else 8 if token[0] == "0" else 10)


class Parser:
    """Reads one preprocessed text into a tree. Places come from the line markers of the preprocessor."""

    def __init__(self, text, file, tree, named):
        self.text = text
        self.at = 0
        self.tree = tree
        self.named = named
        markers = [(match.end(), named(match[2]), int(match[1])) for match in MARKER.finditer(text)]
        self.markers = [(0, named(file), 1)] + markers
        self.starts = [start for start, _, _ in self.markers]

    def place(self, at=None):
        at = self.at if at is None else at
        start, file, line = self.markers[bisect_right(self.starts, at) - 1]
        return file, line + self.text.count("\n", start, at)

    def fail(self, expected):
        found = self.text[self.at:self.at + 20].split("\n")[0] or "the end of the file"
        raise Malformed(self.place(), f"expected {expected}, found '{found}'")

    def skip(self):
        self.at = SKIPPED.match(self.text, self.at).end()

    def take(self, pattern):
        """Returns the match of a pattern at this place and moves behind it, or returns None."""
        self.skip()
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def has(self, mark):
        self.skip()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def expect(self, mark):
        if not self.has(mark):
            self.fail(f"'{mark}'")

    def top(self):
        while True:
            self.skip()
            if self.at == len(self.text):
                return
            place, labels = self.place(), self.labels()
            directive = self.take(DIRECTIVE)
            if directive:
                self.top_directive(directive[1])
            elif (reference := self.take(REFERENCE)):
                node = self.tree.referenced(reference[0])
                if node is None:
                    raise Malformed(place, f"{reference[0]} is not in the tree", "refers to what is not in it")
                self.body(node, labels)
            elif self.has("/"):
                self.tree.root = self.tree.root or Node("", None, place)
                self.body(self.tree.root, labels)
            else:
                self.fail("a node")

    def top_directive(self, name):
        if name == "include":
            included = Path(self.markers[bisect_right(self.starts, self.at) - 1][1])
            string = self.take(STRING) or self.fail("a file name in quotes")
            file = (self.named.folder / included).parent / string[1]
            if not file.is_file():
                raise Malformed(self.place(string.start()), f"no file {string[1]}")
            read_into(self.tree, file, self.named)
        elif name == "delete-node":
            reference = self.take(REFERENCE) or self.fail("&label")
            delete(self.tree, self.tree.referenced(reference[0]))
            self.expect(";")
        elif name == "plugin":
            raise Malformed(self.place(), "an overlay is no tree", "is an overlay")
        elif name != "omit-if-no-ref":
            self.take(re.compile(r"[^;]*;")) or self.fail("';'")

    def labels(self):
        labels = []
        while (label := self.take(LABEL)):
            labels.append(label[1])
        return labels

    def body(self, node, labels):
        for label in labels:
            self.tree.labels[label] = node
        self.expect("{")
        while not self.has("}"):
            self.statement(node)
        self.expect(";")

    def statement(self, node):
        labels = self.labels()
        place = self.place()
        directive = self.take(DIRECTIVE)
        if directive and directive[1] in ("delete-node", "delete-property"):
            name = (self.take(REFERENCE) or self.take(NAME) or self.fail("a name"))[0]
            if directive[1] == "delete-property":
                node.properties.pop(name, None)
            else:
                delete(self.tree, self.tree.referenced(name) if name.startswith("&") else node.children.get(name))
            return self.expect(";")
        if directive and directive[1] != "omit-if-no-ref":
            self.at -= len(directive[0])
            self.fail("a property or a node")
        labels += self.labels()
        name = (self.take(NAME) or self.fail("a property or a node"))[0]
        self.skip()
        if self.text.startswith("{", self.at):
            child = node.children.setdefault(name, Node(name, node, place))
            return self.body(child, labels)
        node.properties[name] = Property(self.values() if self.has("=") else [], place)
        return self.expect(";")

    def values(self):
        values = [self.value()]
        while self.has(","):
            values.append(self.value())
        return values

    def value(self):
        self.labels()
        if (directive := self.take(DIRECTIVE)):
            self.take(re.compile(r"\d+" if directive[1] == "bits" else r"\([^)]*\)")) or self.fail("an argument")
            if directive[1] != "bits":
                return None
        if (string := self.take(STRING)):
            return string[1]
        if (reference := self.take(REFERENCE)):
            return [reference[0]]
        if self.take(re.compile(r"\[[^\]]*\]")):
            return None
        self.expect("<")
        return self.list_of_cells()

    def list_of_cells(self):
        cells = []
        while not self.has(">"):
            self.labels()
            self.skip()
            if self.text.startswith("(", self.at):
                cells.append(self.expression())
            elif (cell := self.take(CELL)):
                cells.append(cell[0])
            else:
                self.fail("a cell or '>'")
        return cells

    def expression(self):
        start, depth = self.at, 0
        for match in re.compile(r"[()]|;").finditer(self.text, start):
            if match[0] == ";":
                break
            depth += 1 if match[0] == "(" else -1
            if depth == 0:
                self.at = match.end()
                return MARKER.sub("", self.text[start:self.at])
        return self.fail("an expression that ends with ')'")


def delete(tree, node):
    """Removes a node, all nodes in it and their labels."""
    if node is None or node.parent is None:
        return
    node.parent.children.pop(node.name, None)
    tree.labels = {label: other for label, other in tree.labels.items() if not is_within(other, node)}


def is_within(node, ancestor):
    while node is not None and node is not ancestor:
        node = node.parent
    return node is ancestor


class Named:
    """Names files as the source package does: relative to its folder."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()

    def __call__(self, file):
        path = (self.folder / file).resolve()
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(file)


def preprocess(file, named):
    """Returns the text of a file after the C preprocessor, as the kernel calls it for device trees."""
    command = ["cc", "-E", "-nostdinc", "-undef", "-D__DTS__", "-x", "assembler-with-cpp"]
    done = subprocess.run(
        [*command, "-I", str(named.folder / "scripts/dtc/include-prefixes"), str(file)], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return done.stdout
    error = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip())
    match = re.match(r"(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)", error)
    place = (named(match[1]), match[2]) if match else (named(file), 1)
    raise Malformed(place, match[3] if match else error, "is refused by the preprocessor")


def read_into(tree, file, named):
    if file.resolve() in tree.open_files:
        raise Malformed((named(file), 1), "the file includes itself")
    tree.open_files.append(file.resolve())
    Parser(preprocess(file, named), str(file), tree, named).top()
    tree.open_files.pop()


def read(file, folder):
    """Returns the tree of a file in the folder of a source package."""
    tree, named = Tree(), Named(folder)
    read_into(tree, Path(file), named)
    if tree.root is None:
        raise Malformed((named(file), 1), "no node /", "has no node /")
    return tree
