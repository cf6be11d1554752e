"""How fast a trained Transformer translates: jumok beside its peers, all with the same weights.

    python benchmarks/translation.py --data MULTI30K [--run RUN]

The run is exported first (and proved: jumok export); the val sentences, cut into tokens once, go to every engine. Sentences
per second; `batch` hands over all of them at once, `single` one after another.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from contest import HERE, OURS, Contestant, build_peers, find_data, hold, save, speed, warn_if_busy
from trained import run_for

from jumok import api
from jumok.errors import JumokError
from jumok.predictors.translator import Translator

PEERS = {"CTranslate2": "ctranslate2", "transformers": "transformers", "OpenNMT-py": "opennmt"}
# No peers: asked for by name.
FP32 = f"{OURS} --precision fp32"
INT8 = f"{OURS} --int8"
ENGINES = {OURS: "jumok", **PEERS, FP32: "jumok-fp32", INT8: "jumok-int8"}
SINGLE = 200  # sentences that are translated one by one


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Speed of translation: jumok beside its peers, same weights.")
    parser.add_argument("--run", type=Path, help="a run of a Transformer; without one, a tiny one is trained first")
    parser.add_argument(
        "--data", required=True, type=Path, help="the folder of its data, or the one that holds multi30k"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--ways", nargs="+", choices=("batch", "single"), default=["batch", "single"])
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=[OURS, *PEERS])
    parser.add_argument("--threads", type=int, nargs="+", default=[2], help="each is tried; an engine's best counts")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "translation", help="OUT.json and OUT.md")
    given = parser.parse_args()
    if OURS not in given.engines:
        parser.error(f"ratios need {OURS} among --engines")
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
        job = prepare(given, folder)
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
            )
            for beam in given.beams
            for way in given.ways
            for engine, how in ENGINES.items()
            if engine in given.engines
        ]
        records, answers = [], dict[tuple[str, str], Any]()
        for record in hold(contestants, rounds=given.rounds, threads=given.threads, job=job, folder=folder):
            records.append(record)
            print(
                f"round {record['round'] + 1}/{given.rounds} · {record['event']:<14} · {record['toolkit']:<12} · "
                f"threads {record['threads']} · {speed(record):,.0f} sentences/s",
                flush=True,
            )
        for place, contestant in enumerate(contestants * len(given.threads)):
            path = folder / f"0-{place}" / "answers.json"
            answers.setdefault((contestant.event, contestant.toolkit), json.loads(path.read_text(encoding="utf-8")))
    notes = []
    for (event, engine), found in answers.items():
        if engine != OURS:
            ours = answers[event, OURS]
            alike = sum(a == b for a, b in zip(ours, found, strict=True))
            notes.append(f"{event}: {alike:,} of {len(ours):,} answers are those of {engine}, token for token")
    settings = {"run": given.run.name, "data": given.data.name, "rounds": given.rounds, "threads": given.threads}
    print(
        save(
            given.out,
            title="Translation with the same weights (sentences a second)",
            event="search",
            settings=settings,
            records=records,
            does="translates",
            notes=notes,
        )
    )
    print(f"saved as {given.out.with_suffix('.json')} and {given.out.with_suffix('.md')}")


def prepare(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Export the run, and write its val sentences as ids; return what every driver must know."""
    translator = api.load_for(Translator, given.run)  # type: ignore[type-abstract]
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
