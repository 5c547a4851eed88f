# SPDX-License-Identifier: Apache-2.0
"""Checks of style that ruff has no rule for; `make check` runs them.

    python tools/lints.py [--list RULE] [PATH ...]

Rules, each with its limit in pyproject.toml, [tool.lints]:

nested       comprehensions inside a comprehension, or with two `for`
positional   calls with six or more positional arguments
classes      public class names that an earlier class has, but for Settings of plug-ins
long         statements of more than 30 tokens, per 1,000 statements
prose        constructions of PROSE in docstrings and comments, per 10,000 words
pages        the same in the pages of docs/, the README and the CHANGELOG
links        names of pages of docs/ in those pages that are no links

TESTS (tests and benchmarks) have their own table, [tool.lints.tests].

A limit only falls: where a figure is well below its limit, the limit is to be lowered.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PRODUCT = ("rig", "drivers", "sut_backends", "scenarios", "gui")
TESTS = ("tests", "benchmarks", "lab", "tools")
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs")
RULES = ("nested", "positional", "classes", "long", "prose", "pages", "links")
#: The name of a page, alone in a code span or with its folder; neither the text nor the
#: target of a link.
_PAGE_NAME = re.compile(
    r"`(?P<span>[\w./-]+\.md)`(?!\]\()"
    r"|(?<![\w(`/.\[-])(?<!\]: )(?P<path>docs/[\w./-]+\.md)(?!\]\()"
)
#: Each plug-in has a class of this name.
SHARED_CLASS = "Settings"
LONG_TOKENS = 30
POSITIONAL_MAX = 5
#: Constructions that no documentation of the field uses, each with the usual form.
PROSE = {
    r"\b(?:nobody|somebody|whoever|nowhere)\b": "name who: the user, the host, the DUT",
    r"\b(?:nothing|whatever|wherever)\b": "say what is absent, or: any, each, no X",
    r"\b(?:told|said)\b": "reported, stated, printed; or the present tense",
    r"\b(?:anew|elsewhere)\b": "again; in another module, folder, page",
    r"\b(?:behind|besides)\b": "after; beside that, also",
    r"\bworth\b": "name the value",
    r"\bmeant\b": "intended; or say what it is for",
    r"\b(?:of which|of whose|of what|to which|by which|in which)\b": "two sentences",
    r"\bthan what\b": "name the thing",
    r"\bwhat (?:is|was|has|it|they|a|the|comes|came|becomes|goes|made)\b": "name it",
}
_PROSE = {re.compile(pattern): advice for pattern, advice in PROSE.items()}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


@dataclass
class Tally:
    """Places where each rule is broken, and the totals for the figures."""

    places: dict[str, list[str]] = field(
        default_factory=lambda: {rule: [] for rule in RULES}
    )
    statements: int = 0
    words: int = 0
    page_words: int = 0
    class_names: set[str] = field(default_factory=set)

    def figure(self, rule: str) -> float:
        """Return the number that the rule's limit is compared with."""
        count = len(self.places[rule])
        if rule == "long":
            return 1000 * count / max(1, self.statements)
        if rule == "prose":
            return 10_000 * count / max(1, self.words)
        if rule == "pages":
            return 10_000 * count / max(1, self.page_words)
        return count


def python_file(path: Path, tally: Tally) -> None:
    """Add the places of one Python file to the tally."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                first = node.body[0]
                docstrings |= set(range(first.lineno, (first.end_lineno or 0) + 1))
                tally.words += _prose(path, first.lineno, docstring, "prose", tally)
        elif isinstance(node, _COMPREHENSIONS) and _is_nested(node):
            tally.places["nested"].append(f"{path}:{node.lineno}")
        elif isinstance(node, ast.Call) and _positional(node) > POSITIONAL_MAX:
            tally.places["positional"].append(f"{path}:{node.lineno}")
        if isinstance(node, ast.ClassDef):
            _class_name(path, node, tally)
    _tokens(path, source, docstrings, tally)


def _class_name(path: Path, node: ast.ClassDef, tally: Tally) -> None:
    if node.name.startswith("_") or node.name == SHARED_CLASS:
        return
    if node.name in tally.class_names:
        tally.places["classes"].append(f"{path}:{node.lineno}: {node.name}")
    tally.class_names.add(node.name)


def _is_nested(node: ast.AST) -> bool:
    inner = (each for each in ast.walk(node) if each is not node)
    two_loops = len(getattr(node, "generators", ())) > 1
    return two_loops or any(isinstance(each, _COMPREHENSIONS) for each in inner)


def _positional(call: ast.Call) -> int:
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return 0 if starred else len(call.args)


def _tokens(path: Path, source: str, docstrings: set[int], tally: Tally) -> None:
    size = 0
    first_line = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            tally.words += _prose(path, line, token.string, "prose", tally)
        if token.type == tokenize.NEWLINE and size:
            tally.statements += 1
            if size > LONG_TOKENS:
                tally.places["long"].append(f"{path}:{first_line}: {size} tokens")
            size = 0
        if token.type in _LAYOUT or line in docstrings:
            continue
        if not size:
            first_line = line
        size += 1


def _prose(path: Path, line: int, text: str, rule: str, tally: Tally) -> int:
    lowered = text.lower()
    for pattern, advice in _PROSE.items():
        for match in pattern.finditer(lowered):
            at = line + lowered.count("\n", 0, match.start())
            tally.places[rule].append(f"{path}:{at}: {match.group()}: {advice}")
    return len(re.findall("[a-z']+", lowered))


def page(path: Path, tally: Tally) -> None:
    """Add the places of one page of documentation to the tally; code is left out."""
    text = path.read_text(encoding="utf-8")
    without_code = re.sub(r"```.*?```", _blank, text, flags=re.DOTALL)
    tally.places["links"] += _unlinked(path, without_code)
    without_code = re.sub(r"`[^`\n]*`", _blank, without_code)
    tally.page_words += _prose(path, 1, without_code, "pages", tally)


def _unlinked(path: Path, text: str) -> Iterator[str]:
    """Yield the places where a text names another page without a link to it."""
    root = Path(__file__).parents[1]
    for match in _PAGE_NAME.finditer(text):
        name = match["span"] or match["path"]
        for page_named in (root / name, path.parent / name):
            is_in_docs = root / "docs" in page_named.parents
            if is_in_docs and page_named.is_file() and page_named != path:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {name}: [text]({name})"
                break


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def measured(root: Path, names: tuple[str, ...] = PRODUCT + PAGES) -> Tally:
    """Return the tally of all Python files and pages below the given paths."""
    tally = Tally()
    for path in _files(root, names):
        if path.suffix == ".py":
            python_file(path, tally)
        else:
            page(path, tally)
    return tally


def _files(root: Path, names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        start = root / name
        if start.is_file():
            yield start
            continue
        yield from sorted(start.rglob("*.py"))
        yield from sorted(start.rglob("*.md"))


def failures(tally: Tally, limits: dict[str, float], names: str = "") -> list[str]:
    """Return a sentence for each limit that is exceeded; `names` for --list."""
    sentences = []
    for rule, limit in limits.items():
        figure = tally.figure(rule)
        if figure > limit:
            sentences.append(
                f"{rule}: {figure:.4g}, limit {limit:g} (pyproject.toml, [tool.lints]);"
                f" python tools/lints.py --list {rule}{names} prints the places"
            )
    return sentences


def main() -> int:
    """Print the figures, or the places of one rule; return 1 where a limit fails."""
    parser = argparse.ArgumentParser(description="style that ruff has no rule for")
    parser.add_argument("paths", nargs="*", help="files or folders; default: all")
    parser.add_argument("--list", choices=RULES, help="print each place of a rule")
    arguments = parser.parse_args()
    root = Path(__file__).parents[1]
    names = tuple(arguments.paths) or PRODUCT + PAGES
    tally = measured(root, names)
    if arguments.list:
        print("\n".join(tally.places[arguments.list]))
        return 0
    _print_figures(tally)
    if arguments.paths:
        return 0
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    limits = settings["tool"]["lints"]
    limits_of_tests = limits.pop("tests")
    of_tests = measured(root, TESTS)
    _print_figures(of_tests)
    sentences = failures(tally, limits)
    sentences += failures(of_tests, limits_of_tests, f" {' '.join(TESTS)}")
    print("\n".join(sentences), file=sys.stderr)
    return 1 if sentences else 0


def _print_figures(tally: Tally) -> None:
    print(", ".join(f"{rule} {tally.figure(rule):.4g}" for rule in RULES))


if __name__ == "__main__":
    sys.exit(main())
