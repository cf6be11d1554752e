"""METEOR (Denkowski and Lavie 2014) by its own Java program, which the package pycocoevalcap holds.

hypotheses, references → tokenise → meteor-1.5.jar → per cent

It matches stems, synonyms and paraphrases of English, and takes some seconds to start. Without Java or the package there
is a sentence in its place.
"""

import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from jumok.errors import JumokError, MissingExtraError
from jumok.evaluation.captions import tokenise

SEPARATOR = " ||| "


def meteor(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return METEOR of one hypothesis for each image against its references, per cent."""
    java, jar = find_meteor()
    command = [java, "-jar", "-Xmx2G", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"]
    try:
        answer = _asked(command, jar.parent, hypotheses, references)
        return 100 * float(answer)
    except (ValueError, OSError) as error:  # it said something else, or died
        raise JumokError(f"METEOR's program ended without a score ({error}); run {' '.join(command)} by hand") from None


def _asked(command: Sequence[str], folder: Path, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> str:
    """Return what METEOR's program answers of all images."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(kind: str, parts: Sequence[str]) -> str:
            print(SEPARATOR.join((kind, *parts)), file=process.stdin, flush=True)
            return process.stdout.readline().strip()  # type: ignore[union-attr]

        counts = []
        for written, wanted in zip(hypotheses, references, strict=True):
            parts = [" ".join(tokenise(text)).replace("|||", " ") for text in (*wanted, written)]
            counts.append(ask("SCORE", parts))
        answer = ask("EVAL", counts)
        process.stdin.close()  # so that one that answers less than it should comes to an end
        for _ in hypotheses:  # a line for each image comes before that of the corpus
            answer = process.stdout.readline().strip()
    return answer


def can_run_meteor() -> bool:
    """Return whether Java and METEOR's program are there."""
    try:
        find_meteor()
    except JumokError:
        return False
    return True


def find_meteor() -> tuple[str, Path]:
    """Return the command java and METEOR's program, or say which is missing."""
    found = find_spec("pycocoevalcap")
    folders = list(found.submodule_search_locations or []) if found else []
    jar = next((path for folder in folders if (path := Path(folder) / "meteor" / "meteor-1.5.jar").is_file()), None)
    if jar is None:
        raise MissingExtraError("pycocoevalcap", "captions", "METEOR")
    java = shutil.which("java")
    if java is None:
        raise JumokError("METEOR needs Java, and there is no command `java`; install a Java runtime (11 or newer)")
    return java, jar
