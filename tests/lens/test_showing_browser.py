"""The page of a text that a model of Hugging Face wrote, in a browser."""

import torch
from inspection.test_architectures import architectures

import jumok


def test_the_page_has_a_slider_of_what_was_written(visit):
    model = architectures.make_model("T5")
    with torch.no_grad(), jumok.observe(model) as record:
        model.generate(architectures.make_inputs("T5")["input_ids"][:1], max_new_tokens=4, min_new_tokens=4)
    tab = visit(jumok.show(record))
    assert tab.locator("#count").inner_text() == "4 of 4"
    tab.locator("#written").fill("2")
    assert tab.locator("#sentence .unwritten").count() == 2
    tab.locator("input[name=kind][value=encoder]").check(force=True)
    assert tab.locator("#written").is_hidden(), "the source was not written"
