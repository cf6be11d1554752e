"""The texts that people read, found in the code: those without Korean, and Korean that nothing uses.

python tools/texts.py            what is missing, ready to be pasted into jumok/texts/ko/*.po, with file and line
python tools/texts.py --unused   entries whose English stands nowhere in the code

Every literal of two words or more counts, wherever it stands, and single words where they are shown (HEADINGS, WORDS);
what nobody sees is excluded by rule (docstrings, assertions, annotations, errors of ours) or by name (NOT_SHOWN).
An f-string becomes a template: "there is no {0} '{1}'"; a choice between literals becomes one template for each.
"""

import ast
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jumok"
SLOT = "\0"  # a value, while a template is put together
MOST_VARIANTS = 12  # of one f-string with choices inside

# Calls whose literals are shown whatever their length: (name, first argument that is shown).
HEADINGS = {"MissingExtraError": 2, "Table": 0, "ScoreTable": 0, "bar": 1, "progress": 0, "say": 0, "localized_word": 0}
WORDS = {
    "unit",
    "counted",
    "what",
    "noun",
    "classified",
    "COLUMNS",
    "inventory",
}  # names whose values are shown as words
OUR_ERRORS = {
    "AttributeError",
    "TypeError",
    "AssertionError",
    "NotImplementedError",
    "KeyError",
    "IndexError",
    "RuntimeError",
}
NO_TEXTS = {"compile", "sub", "search", "cast", "getattr", "counted"}  # calls whose literals are no texts by themselves
NOT_SHOWN = {  # files, and what in them nobody reads; None: all of it
    "workflows/ship.py": None,  # makes the shipped models: not a command
    "workflows/shipments.py": None,
    "workflows/small_runs.py": None,
    "workflows/schema.py": None,
    "lens/html.py": r"import|export|const|iframe|Module|jumok$",
    "lens/figure.py": r"Sans|Gothic",
    "config/recipe.py": r"^# the end|^value = ",
    "data/images/augment.py": r"^(shear|shift|stretch|even out)",
    "workflows/compare_figure.py": r"outside right",
    "data/fetch.py": r"^bytes \{0\}-",
    "data/files.py": r"iconv -f \{",  # a command to be typed
    "data/builtin/dates.py": r"^dates \{0\}",
    "data/builtin/examples.py": None,  # sentences
    "data/builtin/korean/english_forms.py": None,
    **{
        f"data/builtin/korean/frames/{name}.py": None
        for name in ("actions", "choosing", "contrasts", "drawing", "identities", "links", "places", "qualities")
    },
    "data/builtin/korean/numbers.py": None,
    "data/builtin/korean/english_side.py": None,
    "data/builtin/korean/korean_side.py": None,
    "data/builtin/korean/conjugation.py": None,
    "data/builtin/korean/corpus.py": r"^korean ",  # a seed
    "data/builtin/korean/lexicon.py": r"^(ko|en) ",  # keys
    "data/builtin/shapes.py": r"^shapes",
    "data/builtin/relations.py": None,  # what models learn to say
    "data/images/image_corpora.py": r"^shapes",
    "data/text/labelled.py": r"file = …",
    "data/images/caption_corpora.py": r"^\{ file = ",
    "cli/main.py": r"^jumok:? \{0\}$",
    "cli/ending.py": r"^jumok: \{0\}$",
    "workflows/new/__init__.py": r"^jumok (check|train|\{0\})",  # commands to be typed
    "workflows/new/plan.py": r"^task = ",  # a line of a recipe
    "training/notebook.py": r"^<",
    "api.py": r"\{kind\}",  # not from the command line
    "lens/forecast_figure.py": r"outside upper",
    "lens/forecast_svg.py": None,
    "predictors/forecast.py": r"^(Forecast\(|<div>)",  # a repr, and HTML
    "predictors/drawn.py": r"^(Drawn\(|<figure|\{0\}<div)",  # a repr, and HTML
    "predictors/explanation.py": r"Explanation\(",  # a repr
    "predictors/drawing_explanation.py": r"Explanation\(",
    "predictors/image_explanation.py": r"Explanation\(",
    "predictors/recoded_image.py": r"^RecodedImage\(",
    "predictors/forecast_explanation.py": r"Explanation\(",
}


@dataclass(frozen=True)
class Text:
    """A text that people read, and where it stands."""

    english: str
    file: str
    line: int
    help: bool = field(default=False, compare=False)  # stands in the command line's help


def texts_of_the_code() -> list[Text]:
    """Return every text that people read, once each, in the order of files."""
    found: dict[str, Text] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in texts_of_a_file(path):
            found.setdefault(text.english, text)
    for text in itertools.chain(recipe_heads(), outside()):
        found.setdefault(text.english, text)
    return list(found.values())


def texts_of_a_file(path: Path) -> Iterator[Text]:
    """Yield the texts of one file of Python."""
    name = str(path.relative_to(PACKAGE))
    hidden = NOT_SHOWN.get(name, "")
    if hidden is None:
        return
    reader = Reader(ast.parse(path.read_text(encoding="utf-8")), command_line=name.startswith("cli/"))
    for english, line, helps in reader.texts():
        if not (hidden and re.search(hidden, english)):
            yield Text(english, f"jumok/{name}", line, help=helps)


class Reader:
    """Find the texts of a module."""

    def __init__(self, tree: ast.Module, *, command_line: bool) -> None:
        self.tree, self.command_line = tree, command_line
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.annotations = {id(inner) for node in ast.walk(tree) for inner in _annotations(node)}

    def texts(self) -> Iterator[tuple[str, int, bool]]:
        """Yield each text with its line, and whether it is help."""
        for node in ast.walk(self.tree):
            if (self.command_line and _is_command(node)) or _is_section(node):
                for paragraph in paragraphs(ast.get_docstring(node) or ""):
                    yield paragraph, node.lineno, True
            if isinstance(node, ast.Call) and _called(node) == "counted":  # errors.counted: 1 word, 2 words
                for template in self._counted(node):
                    yield template, node.lineno, False
            if not self._is_text(node):
                continue
            shown, helps = self._shown_as_it_is(node), self._is_help(node)
            for template in self.templates(node):
                for english in paragraphs(template) if helps else [template.strip()]:
                    if has_words(english, least=1 if shown else 2):
                        yield english, getattr(node, "lineno", 0), helps

    def _counted(self, call: ast.Call) -> Iterator[str]:
        """Yield a number with its noun, in the singular and in the plural."""
        _, noun, *plural = call.args
        for one in self._variants(noun):
            several = self._variants(plural[0])[0] if plural else f"{one}s"
            yield from (_numbered(f"{SLOT} {word}") for word in (one, several) if has_words(word, least=1))

    def _is_text(self, node: ast.AST) -> bool:
        """Return whether a node is a whole text: no docstring, annotation or part of a larger text."""
        if not _is_string(node) or id(node) in self.annotations:
            return False
        parent = self.parents[node]
        if isinstance(parent, ast.Expr | ast.JoinedStr | ast.Compare):  # docstrings, parts, comparisons
            return False
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add) and _is_string(parent):
            return False
        if self._is_expanded(node):
            return False
        for above in self._above(node):
            if isinstance(above, ast.Assert):
                return False
            if isinstance(above, ast.Raise) and isinstance(above.exc, ast.Call):
                return _called(above.exc) not in OUR_ERRORS
            if isinstance(above, ast.Call) and _called(above) in NO_TEXTS:
                return False
            if isinstance(above, ast.stmt):
                return True
        return True

    def _is_expanded(self, node: ast.AST) -> bool:
        """Return whether a literal is a choice inside a larger text, whose templates hold it."""
        parent = self.parents[node]
        while isinstance(parent, ast.IfExp) and _is_choice(parent):
            node, parent = parent, self.parents[parent]
        if isinstance(parent, ast.Assign) and isinstance(node, ast.IfExp):
            used = [one for one in ast.walk(self._function(parent)) if isinstance(one, ast.Name) and _is_read(one)]
            places = [self.parents[one] for one in used if one.id in map(_name, parent.targets)]
            return bool(places) and all(isinstance(place, ast.FormattedValue) for place in places)
        return isinstance(parent, ast.FormattedValue) or (isinstance(node, ast.IfExp) and _is_string(parent))

    def _shown_as_it_is(self, node: ast.AST) -> bool:
        """Return whether a text is shown even if it is one word."""
        inner = node
        for above in self._above(node):
            if isinstance(above, ast.Call):
                first = HEADINGS.get(_called(above))
                if first is not None and inner in above.args[first:]:
                    return True
                if isinstance(inner, ast.keyword) and inner.arg in (
                    WORDS | {"title", "help", "purpose", "rich_help_panel"}
                ):
                    return True
            if isinstance(above, ast.Assign | ast.AnnAssign):
                targets = above.targets if isinstance(above, ast.Assign) else [above.target]
                return any(_name(target) in WORDS for target in targets)
            if isinstance(above, ast.Return):
                return getattr(self._function(above), "name", "") in WORDS
            if isinstance(above, ast.stmt):
                return False
            inner = above
        return False

    def _is_help(self, node: ast.AST) -> bool:
        inner = node
        for above in self._above(node):
            if isinstance(inner, ast.keyword) and inner.arg in ("help", "rich_help_panel", "description"):
                return True
            inner = above
        return False

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (node := self.parents.get(node)) is not None:  # type: ignore[assignment]
            yield node

    def templates(self, node: ast.AST) -> list[str]:
        """Return the templates of a text, one for each choice inside it, their slots numbered."""
        return list(dict.fromkeys(_numbered(variant) for variant in self._variants(node)))

    def _variants(self, node: ast.AST) -> list[str]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, ast.IfExp) and _is_choice(node):
            return self._variants(node.body) + self._variants(node.orelse)
        if isinstance(node, ast.Call) and _called(node) == "are":  # errors.are
            return ["is", "are"]
        if isinstance(node, ast.FormattedValue):
            plain = node.format_spec is None and node.conversion == -1
            return self._variants(self._resolved(node.value)) if plain else [SLOT]
        if isinstance(node, ast.JoinedStr):
            parts = [self._variants(part) for part in node.values]
        elif isinstance(node, ast.BinOp) and _is_string(node):
            parts = [self._variants(node.left), self._variants(node.right)]
        else:
            return [SLOT]
        if len(list(itertools.islice(itertools.product(*parts), MOST_VARIANTS + 1))) > MOST_VARIANTS:
            parts = [[SLOT] if len(choices) > 1 else choices for choices in parts]
        return ["".join(choice) for choice in itertools.product(*parts)]

    def _resolved(self, node: ast.expr) -> ast.expr:
        """Return the text that a name of the same function stands for, where it is given one there."""
        if not isinstance(node, ast.Name):
            return node
        given = self._assigned(self._function(node)).get(node.id, [])
        if len(given) != 1 or not (_is_choice(given[0]) or _is_string(given[0])):
            return node
        is_above = (given[0].end_lineno or 0) < node.lineno  # so that no text is looked for in itself
        return given[0] if is_above else node

    @cache  # noqa: B019 - a reader lives as long as its module is read
    def _assigned(self, function: ast.AST) -> dict[str, list[ast.expr]]:
        """Return what each name of a function is given."""
        found: dict[str, list[ast.expr]] = {}
        for one in ast.walk(function):
            for target in one.targets if isinstance(one, ast.Assign) else ():
                found.setdefault(_name(target), []).append(one.value)
        return found

    def _function(self, node: ast.AST) -> ast.AST:
        """Return the function that a node stands in, or the module."""
        return next((one for one in self._above(node) if isinstance(one, ast.FunctionDef)), self.tree)


def recipe_heads() -> Iterator[Text]:
    """Yield the first line of each shipped recipe, which `jumok list` shows."""
    for path in sorted((PACKAGE / "recipes").glob("*.toml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.startswith("#"):
                yield Text(line.lstrip("# "), str(path.relative_to(ROOT)), number)
                break


def outside() -> Iterator[Text]:
    """Yield the texts that reach our users and stand in no literal of ours: of libraries, of the system, names."""
    from typer import rich_utils

    for name, value in vars(rich_utils).items():
        if (
            name.endswith(("_STRING", "_TITLE", "_TEXT", "_HELP"))
            and isinstance(value, str)
            and re.search("[a-z]{3}", value)
        ):
            yield Text(value, "typer/rich_utils.py", 0, help=True)
    for line in (Path(__file__).parent / "other-texts.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            yield Text(line.replace("\\n", "\n"), "tools/other-texts.txt", 0)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of help, each on one line, with examples of code as slots."""
    found = (" ".join(part.split()) for part in text.split("\n\n"))
    return [_numbered(re.sub(r"\{\d+\}|\[bold\].*?\[/bold\]", SLOT, part)) for part in found if part]


def _numbered(text: str) -> str:
    """Return a template with its slots numbered; slots side by side are one."""
    numbers = itertools.count()
    return re.sub(f"{SLOT}+", lambda _: f"{{{next(numbers)}}}", text)


def has_words(text: str, *, least: int) -> bool:
    """Return whether a text has words of English, so many with slots and other signs counted."""
    bare = re.sub(r"\{\d+\}|--[\w-]+", "", text)  # options are no words
    if not re.search(r"[A-Za-z]{2,}", bare):
        return False
    pieces = text.split()
    return len(pieces) >= least and (
        least == 1 or re.search(r"(^|[^\w.\[<-])[a-z]{2,}(?![\w=(\[]|\.\w)", bare) is not None
    )


def _is_string(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and (_is_string(node.left) or _is_string(node.right))
    return isinstance(node, ast.JoinedStr)


def _is_choice(node: ast.AST) -> bool:
    """Return whether a node chooses between texts: 'a' if x else 'b'."""
    if not isinstance(node, ast.IfExp):
        return False
    return all(_is_string(branch) or _is_choice(branch) for branch in (node.body, node.orelse))


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _is_section(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    """Return whether a class is a section of a recipe, whose docstring stands in the schema."""
    if not isinstance(node, ast.ClassDef):
        return False
    fields = [one.value for one in node.body if isinstance(one, ast.AnnAssign)]
    return any(isinstance(one, ast.Call) and _called(one) == "Field" for one in fields)


def _is_command(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """Return whether a function is a command: its parameters are typer's, or its docstring has an example."""
    if not isinstance(node, ast.FunctionDef):
        return False
    typed = any("typer." in ast.unparse(one) for one in node.args.defaults)
    return not node.decorator_list and (typed or "Example: " in (ast.get_docstring(node) or ""))


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        if isinstance(held := getattr(node, name, None), ast.AST):
            yield from ast.walk(held)


def _called(call: ast.Call) -> str:
    return _name(call.func)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def escaped(text: str) -> str:
    """Return a text as .po files quote it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def main() -> int:
    """Print what is missing or unused."""
    sys.path.insert(0, str(ROOT))
    from jumok.texts import CATALOGUES, catalogue

    entries = {name: catalogue("ko", name) for name in CATALOGUES}
    texts = texts_of_the_code()
    if "--unused" in sys.argv:
        known = {text.english for text in texts}
        unused = [english for name in ("help", "messages") for english in entries[name] if english not in known]
        print("\n".join(map(escaped, unused)))
        return bool(unused)
    missing = [text for text in texts if not any(text.english in each for each in entries.values())]
    for text in missing:
        print(f"# {'help' if text.help else 'messages'}.po · {text.file}:{text.line}")
        print(f'msgid {escaped(text.english)}\nmsgstr ""\n')
    print(f"# {len(texts) - len(missing)} of {len(texts)} texts have Korean")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
