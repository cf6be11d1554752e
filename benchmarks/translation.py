"""How fast a trained Transformer translates: jumok beside its peers, all with the same weights.

    python benchmarks/translation.py --data MULTI30K [--run RUN]

The run is exported first (and proved: jumok export); the val sentences, cut into tokens once, go to every engine. Sentences
per second; `batch` hands over all of them at once, `single` one after another. Beside it BLEU, and how many answers are those
of jumok in fp32, token for token.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contest import OURS, Contestant, Record, add_options, build_peers, find_data, hold, save, told, warn_if_busy
from trained import run_for

from jumok import api
from jumok.errors import JumokError
from jumok.evaluation.text import mean_scores
from jumok.predictors.translator import Translator

PEERS = {"CTranslate2": "ctranslate2", "transformers": "transformers", "OpenNMT-py": "opennmt"}
INT8 = f"{OURS} --int8"  # no peer: asked for by name
ENGINES = {OURS: "jumok", **PEERS, INT8: "jumok-int8"}
KINDS = ("fp32", "bf16", "int8")
MORE = {OURS: ("fp32", "bf16"), "CTranslate2": ("fp32", "int8"), INT8: ("int8",)}  # the rest has fp32
SINGLE = 200  # sentences that are translated one by one


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speed of translation: jumok beside its peers, same weights.")
    parser.add_argument("--run", type=Path, help="a run of a Transformer; without one, a tiny one is trained first")
    parser.add_argument(
        "--data", required=True, type=Path, help="the folder of its data, or the one that holds multi30k"
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--ways", nargs="+", choices=("batch", "single"), default=["batch", "single"])
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=[OURS, *PEERS])
    add_options(parser, "translation", precisions=KINDS)
    given = parser.parse_args()
    if OURS not in given.engines or "fp32" not in given.precisions:
        parser.error(f"ratios need {OURS} among --engines, and fp32 among --precisions")
    given.data = find_data(given.data, "multi30k")
    given.run = given.run or run_for(given.data)
    return given


def main() -> None:
    """Hold the contest."""
    given = arguments()
    build_peers()
    warn_if_busy()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        translator = api.load_for(Translator, given.run)  # type: ignore[type-abstract]
        job = prepare(translator, given, folder)
        contestants = [
            Contestant(
                f"beam {beam}, {way}",
                engine,
                "translate.py",
                {
                    "how": how,
                    "beam": beam,
                    "single": way == "single",
                    "sentences": SINGLE if way == "single" else 10**9,
                },
                apart=engine in PEERS,
                precision=precision,
            )
            for beam in given.beams
            for way in given.ways
            for engine, how in ENGINES.items()
            if engine in given.engines
            for precision in MORE.get(engine, ("fp32",))
            if precision in given.precisions
        ]
        records: list[Record] = []
        for record in hold(contestants, rounds=given.rounds, threads=given.threads, job=job, folder=folder):
            records.append(record)
            print(told(record, rounds=given.rounds, unit="sentences/s"), flush=True)
        quality = compare(translator, contestants, folder, count=len(given.threads))
    settings = {"run": given.run.name, "data": given.data.name, "rounds": given.rounds, "threads": given.threads}
    print(
        save(
            given.out,
            title="Translation with the same weights",
            event="search",
            settings=settings,
            records=records,
            unit="sentences/s",
            does="translates",
            notes=[told_quality(row) for row in quality],
            more={"quality": quality},
        )
    )
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")


def compare(
    translator: Translator, contestants: Sequence[Contestant], folder: Path, *, count: int
) -> list[dict[str, Any]]:
    """Return BLEU of each contestant's answers, and how many are those of jumok in fp32; each ran count times a round."""
    store = next(iter(translator.task.open_split("val").values()))
    references = [store.text(number)[1] for number in range(len(store))]
    rows, ours = [], dict[str, list[list[int]]]()
    for place, contestant in enumerate(contestants):
        path = folder / f"0-{place * count}" / "answers.json"
        answers = json.loads(path.read_text(encoding="utf-8"))
        if (contestant.toolkit, contestant.precision) == (OURS, "fp32"):
            ours[contestant.event] = answers
        texts = [translator.task.target_tokenizer.decode(ids) for ids in answers]
        rows.append(
            {
                "event": contestant.event,
                "toolkit": contestant.toolkit,
                "precision": contestant.precision,
                "sentences": len(answers),
                "bleu": mean_scores(texts, references[: len(texts)])["bleu"],
                "alike": sum(a == b for a, b in zip(ours[contestant.event], answers, strict=True)),
            }
        )
    return rows


def told_quality(row: dict[str, Any]) -> str:
    """Return a row of compare in words."""
    alike = f"; {row['alike']:,} of {row['sentences']:,} answers are jumok's in fp32"
    ours = (row["toolkit"], row["precision"]) == (OURS, "fp32")
    return f"{row['event']}: {row['toolkit']} in {row['precision']}, BLEU {row['bleu']:.2f}{'' if ours else alike}"


def prepare(translator: Translator, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Export the run, and write its val sentences as ids; return what every driver must know."""
    for kind in ("ctranslate2", "huggingface"):
        print(f"{kind}: {api.export_model(given.run, folder / kind, to=kind, data=given.data)}", flush=True)
    translator.task.corpora.folders = [given.data, given.data.parent, *translator.task.corpora.folders]
    store = next(iter(translator.task.open_split("val").values()))
    sources = [store.source[number].tolist() for number in range(len(store))]
    (folder / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
    return {
        "run": str(given.run.absolute()),
        "sources": str(folder / "sources.json"),
        "ctranslate2": str(folder / "ctranslate2"),
        "huggingface": str(folder / "huggingface"),
    }


if __name__ == "__main__":
    try:
        main()
    except JumokError as error:
        raise SystemExit(f"jumok: {error}") from None
