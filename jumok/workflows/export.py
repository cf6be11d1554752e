"""What `jumok export` does: a run's model in another engine's files, used only if it answers as the run does.

Translator → files in DIR.new → opened again → the same held-out sentences through both → parity → renamed DIR

A folder for CTranslate2 is a run of its own: it has recipe and tokenizers, and `jumok translate DIR` needs nothing else.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from jumok.cache import cache_key, cached_folder
from jumok.config import DecodingConfig
from jumok.data.files import content_hash, read_lines
from jumok.errors import ConfigError, RunError, did_you_mean
from jumok.export.ctranslate2 import write_ctranslate2
from jumok.export.onnx import write_greedily, write_onnx
from jumok.export.parity import Parity, compare
from jumok.export.to_huggingface import answer_with_transformers, write_huggingface
from jumok.predictors.base import AnyPredictor, Predictor
from jumok.predictors.translator import Translator
from jumok.runs.loading import LoadOptions, add_data_folder, load_run
from jumok.runs.run import Run
from jumok.writing import ANOTHER_FOLDER, explained, whole_folder

SENTENCES = 200  # held out, that both must answer alike
BROUGHT = "sentences.tsv"  # of a shipped model, which comes without its data: language and text
Advance = Callable[[int], None]  # how many more sentences are done
Answers = Callable[[Sequence[str], Sequence[str], DecodingConfig, Advance], list[tuple[str, float]]]  # texts, languages


def export_model(
    run: str | Path,
    folder: str | Path,
    *,
    to: str = "ctranslate2",
    source: str | Path | None = None,
    data: str | Path | None = None,
    checkpoint: str = "best",
    progress: Advance = lambda done: None,
) -> Parity:
    """Write a translator into folder for another engine, and return how alike the two answer held-out sentences."""
    predictor = load_run(Predictor, run, LoadOptions(checkpoint=checkpoint, precision="fp32"))
    add_data_folder(predictor, data)
    texts = [line for line in read_lines(Path(source)) if line.strip()] if source else []
    return export_run(predictor, Path(folder), kind=to, texts=texts, progress=progress)


def export_run(
    predictor: AnyPredictor,
    folder: Path,
    *,
    kind: str,
    texts: Sequence[str] = (),
    progress: Advance = lambda done: None,
) -> Parity:
    """Write a translator into folder for another engine; return how alike the two answer, or refuse it."""
    if kind not in KINDS:
        raise ConfigError(f"--to {kind}: {did_you_mean(kind, KINDS)}")
    if not isinstance(predictor, Translator) or not predictor.engine.has_model:
        raise ConfigError(f"{predictor.run.folder} is no run of a translator; jumok exports those to {kind}")
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} is there already; choose another folder, or remove it")
    given = [(text, predictor.language()) for text in texts] or held_out(predictor)
    sentences, languages = [text for text, _ in given], [language for _, language in given]
    kept = {key: getattr(predictor.options, key) for key in ("beam", "length_penalty")}
    options = DecodingConfig(**kept) if kind != "onnx" else DecodingConfig(beam=1)  # its graphs come without a search
    with whole_folder(folder) as fresh:
        theirs = KINDS[kind](predictor, fresh)
        found = predictor.answers(sentences, to=languages, options=options, progress=progress)
        ours = [(best.text, best.score) for best, *_ in found]
        parity = compare(sentences, ours, theirs(sentences, languages, options, progress))
        if not parity.holds:
            raise RunError(f"the export of {predictor.run.folder} to {kind} is wrong and was not kept: {parity}")
        parity.save(fresh / "parity.json")
    return parity


def to_ctranslate2(predictor: Translator, folder: Path) -> Answers:
    """Write for CTranslate2; return how the export answers."""
    write_ctranslate2(predictor.model, folder)
    facts = {
        "data_folders": [str(path) for path in predictor.run.data_folders],
        "engine": "ctranslate2",
        "exported": str(predictor.run.folder.absolute()),
        "limit": predictor.model.limit,
        "parameters": predictor.model.parameter_count,
    }
    made = Run.create(folder, predictor.run.recipe, tokenizers=predictor.task.tokenizers, facts=facts)

    def answers(
        texts: Sequence[str], languages: Sequence[str], options: DecodingConfig, progress: Advance
    ) -> list[tuple[str, float]]:
        exported = Translator.with_export(made, predictor.task, int8=False)
        found = exported.answers(texts, to=languages, options=options, progress=progress)
        return [(best.text, best.score) for best, *_ in found]

    return answers


def to_huggingface(predictor: Translator, folder: Path) -> Answers:
    """Write in Hugging Face's layout; return how its library answers."""
    if predictor.task.languages:
        raise ConfigError(
            f"{predictor.run.folder} is told its target language ({', '.join(predictor.task.languages)}) by a tag, which "
            "Hugging Face's tokenizers cannot put before a text; export it to ctranslate2 or onnx"
        )
    write_huggingface(
        predictor.model,
        folder,
        tokenizers=predictor.task.tokenizers,
        options=predictor.options,
        longest=predictor.longest_source,
    )
    return lambda texts, languages, options, progress: answer_with_transformers(
        folder, texts, options=options, progress=progress
    )


def to_onnx(predictor: Translator, folder: Path) -> Answers:
    """Write as two ONNX graphs; return what they write greedily."""
    write_onnx(predictor.model, folder)
    for name, tokenizer in predictor.task.tokenizers.items():
        tokenizer.save(folder / f"{name}.json")

    def answers(
        texts: Sequence[str], languages: Sequence[str], options: DecodingConfig, progress: Advance
    ) -> list[tuple[str, float]]:
        sources = predictor.read(texts, to=languages)
        limit = predictor.model.limit
        limits = [min(n, limit) if limit else n for n in (2 * (len(ids) + 1) + 10 for ids in sources)]
        found = write_greedily(folder, [ids.tolist() for ids in sources], limits)
        progress(len(found))
        return [(predictor.task.target_tokenizer.decode(ids), score) for ids, score in found]

    return answers


KINDS: dict[str, Callable[[Translator, Path], Answers]] = {
    "ctranslate2": to_ctranslate2,
    "huggingface": to_huggingface,
    "onnx": to_onnx,
}


def held_out(predictor: Translator) -> list[tuple[str, str]]:
    """Return sentences of the run's val data, and the target language of each; a shipped model has brought some along."""
    brought = predictor.run.folder / BROUGHT
    if brought.is_file():
        return [(text, language) for language, _, text in (line.partition("\t") for line in read_lines(brought))]
    found = [
        (store.text(number)[0], language)
        for store in predictor.task.open_split("val").values()
        for number, language in enumerate(predictor.task.languages_of(store))
    ]
    return found[:: max(len(found) // SENTENCES, 1)][:SENTENCES]


def own_export(run: Run, checkpoint: Path) -> Path:
    """Return the folder of a run's own export of a checkpoint for CTranslate2, made if there is none."""

    def make(folder: Path) -> None:
        loaded = load_run(Predictor, run.folder, LoadOptions(checkpoint=checkpoint.name, precision="fp32"))
        export_run(loaded, folder, kind="ctranslate2")

    folder = run.folder / "ctranslate2" / checkpoint.resolve().name
    if Run.exists(folder):
        return folder
    # Nothing is written where jumok is installed, and nothing can be into somebody else's run, or one on a read-only disk.
    if run.facts.get("shipped") or not os.access(run.folder, os.W_OK):
        place = [] if run.facts.get("shipped") else [str(run.folder.absolute())]
        key = cache_key("ctranslate2", content_hash([checkpoint / "model.safetensors"]), *place)
        return cached_folder(key, lambda built: make(built / "model")) / "model"
    with explained(folder, ANOTHER_FOLDER):
        folder.parent.mkdir(exist_ok=True)
    make(folder)
    return folder
