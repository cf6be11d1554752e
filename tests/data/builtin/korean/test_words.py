"""Words and what they stand for: the part of a phrase in brackets has its own counterpart in the other language."""

from jumok.data.builtin.korean.words import links, marked, text_of


def test_what_stands_in_brackets_corresponds_to_what_does_in_the_other_language():
    node = object()
    korean, english = marked("[사진을] 찍어", node), marked("take [many pictures] now", node)
    assert (text_of(korean), text_of(english)) == ("사진을 찍어", "take many pictures now")
    assert {(link.korean, link.english) for link in links(korean, english)} == {(0, 1), (0, 2), (1, 0), (1, 3)}
