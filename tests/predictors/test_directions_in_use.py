"""A trained model of several directions: it obeys the tag, asks for one where it must, and is scored by language."""

import numpy as np
import pytest
from cli.conftest import KOREAN, WORDS, copy_run, digit_pairs, directions_run, jumok, refusal  # noqa: F401 - fixtures

import jumok as library
from jumok.config import DecodingConfig
from jumok.errors import ConfigError

DIGITS = [digits for digits, _ in digit_pairs(20, first=2000)]


@pytest.fixture(scope="module")
def translator(directions_run):  # noqa: F811
    return library.load(directions_run)


def test_the_tag_decides_what_is_written(translator):
    english, korean = (translator.translate(DIGITS, to=to) for to in ("en", "ko"))
    assert {word for text in english for word in text.split()} <= set(WORDS)
    assert {word for text in korean for word in text.split()} <= set(KOREAN)
    back = translator.translate(["four zero seven", "one two"], to="digits")
    assert all(word.isdigit() for text in back for word in text.split())


def test_a_language_for_each_text(translator):
    mixed = translator.translate([DIGITS[0], "", DIGITS[0]], to=["en", "en", "ko"])
    assert mixed == [*translator.translate([DIGITS[0], ""], to="en"), translator.translate(DIGITS[0], to="ko")]
    assert mixed[1] == ""


def test_without_a_language_the_error_lists_them(translator, directions_run):  # noqa: F811
    for use in (translator.translate, translator.explain, lambda text: list(translator.stream(text))):
        with pytest.raises(ConfigError, match=r"translates to digits, en, ko: say which, for example --to digits"):
            use("4 0 7")
    with pytest.raises(ConfigError, match=r"--to fr: .* translates to digits, en, ko"):
        translator.translate("4 0 7", to="fr")
    with pytest.raises(ConfigError, match=r"--to fr: .* translates to digits, en, ko"):
        library.load(directions_run, to="fr")


def test_a_run_of_one_direction_takes_no_language(copy_run):  # noqa: F811
    with pytest.raises(ConfigError, match="translates in one direction only; leave out --to ko"):
        library.load(copy_run, to="ko")
    assert library.load(copy_run).translate("a b") == "a b"


def test_loaded_for_a_language_it_needs_no_more_telling(translator, directions_run):  # noqa: F811
    own = library.load(directions_run, to="ko")
    assert own.translate(DIGITS) == translator.translate(DIGITS, to="ko")
    assert own.translate(DIGITS, to="en") == translator.translate(DIGITS, to="en")


def test_streams_and_explanations_are_of_the_same_answer(translator):
    for to in ("en", "ko"):
        greedy = translator.translate(DIGITS[:3], to=to, beam=1)
        assert ["".join(translator.stream(text, to=to)) for text in DIGITS[:3]] == greedy
        found = translator.explain(DIGITS[0], to=to, options=DecodingConfig(beam=1))
        assert found.answer.text == greedy[0]
        assert found.source[0] == f"[→{to}]"
        assert found.in_words().source == [f"[→{to}]", *DIGITS[0].split()]
        assert translator.importance(DIGITS[0], to=to)[1]


def test_a_text_that_looks_like_a_tag_is_text(translator):
    plain = translator.read(["[→ko] 4 0 7"], to="en")[0]
    tags = translator.task.source_tokenizer.tags
    assert plain[0] == tags["en"]
    assert tags["ko"] not in plain[1:]


def test_a_long_text_keeps_its_tag(translator):
    warnings = []
    ids = translator.read(["4 0 7 " * 20], to="ko", warn=warnings.append)[0]
    assert len(ids) + 1 <= translator.longest_source
    assert ids[0] == translator.task.source_tokenizer.tags["ko"]
    assert [notice.line for notice in warnings] == [1]


def test_scores_are_by_label_and_korean_is_cut_into_characters(translator, directions_run):  # noqa: F811
    scores = library.evaluate(translator)
    assert list(scores) == ["digits to English", "digits to Korean", "English to digits"]
    assert "tok:char" in scores["digits to Korean"]["bleu_signature"]
    assert "tok:13a" in scores["digits to English"]["bleu_signature"]
    assert list(library.evaluate(directions_run, to="ko")) == ["digits to Korean"]


def test_the_loss_of_a_pair_is_that_of_its_own_direction(translator):
    stores = translator.task.open_split("val")
    for store, to in zip(stores.values(), ("en", "ko", "digits"), strict=True):
        assert translator.task.languages_of(store) == [to] * 20
        read = translator.read([store.text(number)[0] for number in range(20)], to=to)
        assert all(np.array_equal(ids, store.source[number]) for number, ids in enumerate(read))


def test_the_command_line_asks_for_the_language(directions_run, translator, tmp_path):  # noqa: F811
    assert "say which, for example --to digits" in refusal(jumok("translate", directions_run, "4 0 7"))
    done = jumok("translate", directions_run, DIGITS[0], "--to", "ko")
    assert done.out.splitlines() == [translator.translate(DIGITS[0], to="ko")]
    assert (
        translator.translate(DIGITS[0], to="ko", beam=2) in jumok("look", directions_run, DIGITS[0], "--to", "ko").out
    )
    done = jumok("evaluate", directions_run, "--to", "ko")
    assert "digits to Korean (val), 20 sentences" in done.out
    assert "digits to English" not in done.out
    (tmp_path / "a").write_text("4 0 7\n1 2\n")
    (tmp_path / "b").write_text("사 영 칠\n일 이\n")
    files = ("--source", tmp_path / "a", "--target", tmp_path / "b")
    assert "say which" in refusal(jumok("evaluate", directions_run, *files))
    done = jumok("evaluate", directions_run, *files, "--to", "ko")
    assert "tok:char" in done.out, done.err


def test_exports_know_the_tags_or_say_that_they_cannot(directions_run, translator, tmp_path):  # noqa: F811
    parity = library.api.export_model(directions_run, tmp_path / "fast", to="ctranslate2")
    assert parity.equal == parity.sentences == 60
    fast = library.load(tmp_path / "fast")
    for to in ("en", "ko"):
        assert fast.translate(DIGITS, to=to) == translator.translate(DIGITS, to=to)
    with pytest.raises(ConfigError, match="say which"):
        fast.translate(DIGITS)
    with pytest.raises(ConfigError, match=r"by a tag, which Hugging Face's tokenizers cannot put before a text"):
        library.api.export_model(directions_run, tmp_path / "hf", to="huggingface")
    assert not (tmp_path / "hf").exists()
    parity = library.api.export_model(directions_run, tmp_path / "graphs", to="onnx")
    assert parity.equal == parity.sentences == 60


def test_a_shortlist_follows_the_tag(translator):
    """The partners of a tag are the words of its language; what is left out of the sums may settle a tie otherwise."""
    options = DecodingConfig(beam=2, shortlist=20)
    for to in ("en", "ko"):
        plain = translator.translate(DIGITS, to=to)
        found = [found[0].text for found in translator.answers(DIGITS, to=to, options=options)]
        assert {word for text in found for word in text.split()} <= {word for text in plain for word in text.split()}
        assert sum(one != other for one, other in zip(found, plain, strict=True)) <= len(plain) // 10


def test_the_doctor_shows_tags_and_what_an_epoch_draws(directions_run):  # noqa: F811
    report = library.check(directions_run.parent / "directions" / "directions.toml")
    assert report.samples[0][0][0] == "[→en]"
    assert report.samples[-1][0][0] == "[→digits]"
    assert not [problem for problem, _ in report.problems if "also stand in the training data" in problem]
