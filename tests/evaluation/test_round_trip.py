"""Scores of what was read in drawings: each share counts what its name says, and nothing else."""

import pytest

from jumok.data.builtin.relations import parse, parse_brief, scene, withheld_orders, withheld_pairs
from jumok.evaluation.round_trip import Withheld, class_of, floor_order, score_classes, score_round_trip

PROMPT = (
    "a small red circle at the top left, left of a large blue star at the top centre, above a small green cross at the "
    "bottom right"
)


def score(said, prompt=PROMPT, **withheld):
    return score_round_trip([parse(said)], [parse(prompt)], [Withheld(**withheld)])


def test_what_is_read_as_it_was_wanted_is_all_right():
    scenes = [scene("val", number).described for number in range(40)]
    special = [Withheld(withheld_pairs(objects), withheld_orders(objects)) for objects in scenes]
    found = score_round_trip(scenes, scenes, special).to_dict()
    assert found.pop("scenes") == 40
    assert found.pop("unreadable") == 0
    assert set(found.values()) == {100.0}
    assert {"withheld_pair", "withheld_order", "order", "count"} < set(found)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("red circle", "red square", {"form", "pair", "order", "all_right"}),
        ("red circle", "green circle", {"colour", "pair", "all_right"}),
        ("small red", "large red", {"size", "all_right"}),
        ("top left", "middle left", {"place", "all_right"}),
        ("top centre, above", "top centre, below", {"order"}),
    ],
)
def test_each_mistake_costs_what_it_is_about(old, new, wrong):
    found = score(PROMPT.replace(old, new)).to_dict()
    shares = ("form", "colour", "size", "place", "count", "pair", "order", "all_right")
    assert {name for name in shares if found[name] < 100.0} == wrong


def test_an_object_too_few_or_too_many_is_a_wrong_count():
    fewer = PROMPT[: PROMPT.index(", above")]
    assert score(fewer).count == 0.0
    assert score(fewer).form == pytest.approx(200 / 3)
    more = score(PROMPT, fewer)
    assert more.count == 0.0
    assert more.form == pytest.approx(200 / 3), "what is made up counts against it"
    assert more.pair == 100.0


def test_colours_and_forms_of_two_objects_exchanged_are_right_apart_and_wrong_together():
    prompt = "a small red circle at the top left, left of a small blue star at the top right"
    said = "a small blue circle at the top left, left of a small red star at the top right"
    found = score(said, prompt, pairs=[1])
    assert (found.form, found.pair, found.withheld_pair) == (100.0, 0.0, 0.0)
    assert found.order == 100.0


def test_what_is_wanted_twice_must_be_read_twice():
    prompt = "a small red circle at the top left, left of a small red circle at the top right"
    once = "a small red circle at the top left"
    assert score(once, prompt, pairs=[0, 1]).withheld_pair == 50.0
    assert score(prompt, prompt, pairs=[0, 1]).withheld_pair == 100.0


BRIEF = "a red circle left of a large star"


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("a small red circle at the top left, left of a large blue star at the top centre", set()),
        ("a large red circle at the bottom left, left of a large black star at the bottom right", set()),
        ("a small red circle at the top left, left of a small blue star at the top centre", {"size"}),
        ("a small blue circle at the top left, left of a large red star at the top centre", {"colour", "pair"}),
        ("a small red circle at the top left, above a large blue star at the bottom centre", {"order"}),
        ("a small red circle at the top left", {"form", "size", "count", "order"}),
        (
            "a small red circle at the top left, left of a large blue star at the top centre, left of a small red "
            "cross at the top right",
            {"form", "colour", "size", "place", "count"},
        ),
    ],
)
def test_what_a_brief_prompt_leaves_out_is_not_asked_for(said, wrong):
    found = score_round_trip([parse(said)], [parse_brief(BRIEF)]).to_dict()
    shares = {"form", "colour", "size", "place", "count", "pair", "order"}
    empty = set() if "place" in wrong else {"place"}  # nobody asked for one
    assert {name for name in shares - empty if found[name] < 100.0} == wrong
    assert found["all_right"] == (0.0 if wrong - {"order"} else 100.0)


def test_withheld_shares_are_of_the_withheld_alone():
    said = PROMPT.replace("blue star", "blue square")
    assert score(said, pairs=[1]).withheld_pair == 0.0
    assert score(said, pairs=[0]).withheld_pair == 100.0
    assert score(said, orders=[0]).withheld_order == 0.0
    assert score(PROMPT.replace("top centre, above", "top centre, left of"), orders=[0]).withheld_order == 100.0
    assert score(PROMPT.replace("top centre, above", "top centre, left of"), orders=[1]).withheld_order == 0.0


def test_an_order_the_other_way_round_is_wrong():
    prompt = "a small red circle at the top left, left of a small blue star at the top right"
    said = "a small blue star at the top left, left of a small red circle at the top right"
    found = score(said, prompt, orders=[0])
    assert (found.pair, found.order, found.withheld_order) == (100.0, 0.0, 0.0)


def test_nothing_withheld_has_no_share_and_single_objects_have_no_order():
    one = "a small red circle at the top left"
    found = score(one, one)
    assert (found.order, found.withheld_pair, found.withheld_order) == (None, None, None)
    assert not {"order", "withheld_pair", "withheld_order"} & set(found.to_dict())


def test_what_is_no_sentence_of_the_grammar_is_all_wrong():
    found = score("a dog on the grass")
    assert (found.unreadable, found.count, found.form, found.pair, found.all_right) == (1, 0.0, 0.0, 0.0, 0.0)


def test_prompts_name_classes_alone_or_in_a_sentence():
    labels = ["cat", "catfish", "dog", "hot dog"]
    assert class_of("Cat", labels) == "cat"
    assert class_of("a photo of a catfish", labels) == "catfish"
    assert class_of("hot dog", labels) == "hot dog"
    assert class_of("a cat and a dog", labels) is None
    assert class_of("a bird", labels) is None
    assert score_classes(["cat", "dog", "dog"], ["cat", "cat", "dog"]) == {
        "images": 3, "right": pytest.approx(200 / 3), "by_class": {"cat": 50.0, "dog": 100.0},
    }  # fmt: skip


@pytest.mark.parametrize("count", [2, 3, 10, 200])
def test_the_floor_reads_each_drawing_once_and_never_for_its_own_prompt(count):
    order = floor_order(count)
    assert sorted(order) == list(range(count))
    assert all(number != other for number, other in enumerate(order))
    assert floor_order(count) == order
