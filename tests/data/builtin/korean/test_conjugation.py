"""Conjugation: every verb's forms against a table written by hand, all kinds of irregular ones among them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.builtin.korean.conjugation import Stem, adnominal, attach, copula, plain, stem
from jumok.data.builtin.korean.jamo import FINALS, VOWELS, final_of, vowel_of, with_final, with_vowel
from jumok.data.builtin.korean.lexicon import lexicon

ENDINGS = ("아요", "습니다", "으면", "는", "을", "으세요")  # 는: before a noun, now
# word, kind, then: 해요체, past 해요체, 합쇼체, if, written form, before a noun (past, present, future), honorific 해요체
VERBS = """
가다 - 가요 갔어요 갑니다 가면 간다 간 가는 갈 가세요
오다 - 와요 왔어요 옵니다 오면 온다 온 오는 올 오세요
보다 - 봐요 봤어요 봅니다 보면 본다 본 보는 볼 보세요
주다 - 줘요 줬어요 줍니다 주면 준다 준 주는 줄 주세요
마시다 - 마셔요 마셨어요 마십니다 마시면 마신다 마신 마시는 마실 마시세요
보내다 - 보내요 보냈어요 보냅니다 보내면 보낸다 보낸 보내는 보낼 보내세요
켜다 - 켜요 켰어요 켭니다 켜면 켠다 켠 켜는 켤 켜세요
세다 - 세요 셌어요 셉니다 세면 센다 센 세는 셀 세세요
되다 - 돼요 됐어요 됩니다 되면 된다 된 되는 될 되세요
쉬다 - 쉬어요 쉬었어요 쉽니다 쉬면 쉰다 쉰 쉬는 쉴 쉬세요
뛰다 - 뛰어요 뛰었어요 뜁니다 뛰면 뛴다 뛴 뛰는 뛸 뛰세요
하다 - 해요 했어요 합니다 하면 한다 한 하는 할 하세요
공부하다 - 공부해요 공부했어요 공부합니다 공부하면 공부한다 공부한 공부하는 공부할 공부하세요
먹다 - 먹어요 먹었어요 먹습니다 먹으면 먹는다 먹은 먹는 먹을 먹으세요
받다 - 받아요 받았어요 받습니다 받으면 받는다 받은 받는 받을 받으세요
읽다 - 읽어요 읽었어요 읽습니다 읽으면 읽는다 읽은 읽는 읽을 읽으세요
앉다 - 앉아요 앉았어요 앉습니다 앉으면 앉는다 앉은 앉는 앉을 앉으세요
놓다 - 놓아요 놓았어요 놓습니다 놓으면 놓는다 놓은 놓는 놓을 놓으세요
좋아하다 - 좋아해요 좋아했어요 좋아합니다 좋아하면 좋아한다 좋아한 좋아하는 좋아할 좋아하세요
입다 - 입어요 입었어요 입습니다 입으면 입는다 입은 입는 입을 입으세요
씻다 - 씻어요 씻었어요 씻습니다 씻으면 씻는다 씻은 씻는 씻을 씻으세요
받다 - 받아요 받았어요 받습니다 받으면 받는다 받은 받는 받을 받으세요
살다 - 살아요 살았어요 삽니다 살면 산다 산 사는 살 사세요
만들다 - 만들어요 만들었어요 만듭니다 만들면 만든다 만든 만드는 만들 만드세요
열다 - 열어요 열었어요 엽니다 열면 연다 연 여는 열 여세요
알다 - 알아요 알았어요 압니다 알면 안다 안 아는 알 아세요
쓰다 - 써요 썼어요 씁니다 쓰면 쓴다 쓴 쓰는 쓸 쓰세요
끄다 - 꺼요 껐어요 끕니다 끄면 끈다 끈 끄는 끌 끄세요
모으다 - 모아요 모았어요 모읍니다 모으면 모은다 모은 모으는 모을 모으세요
잠그다 - 잠가요 잠갔어요 잠급니다 잠그면 잠근다 잠근 잠그는 잠글 잠그세요
따르다 - 따라요 따랐어요 따릅니다 따르면 따른다 따른 따르는 따를 따르세요
들르다 - 들러요 들렀어요 들릅니다 들르면 들른다 들른 들르는 들를 들르세요
모르다 - 몰라요 몰랐어요 모릅니다 모르면 모른다 모른 모르는 모를 모르세요
부르다 - 불러요 불렀어요 부릅니다 부르면 부른다 부른 부르는 부를 부르세요
고르다 - 골라요 골랐어요 고릅니다 고르면 고른다 고른 고르는 고를 고르세요
서두르다 - 서둘러요 서둘렀어요 서두릅니다 서두르면 서두른다 서두른 서두르는 서두를 서두르세요
듣다 ㄷ 들어요 들었어요 듣습니다 들으면 듣는다 들은 듣는 들을 들으세요
걷다 ㄷ 걸어요 걸었어요 걷습니다 걸으면 걷는다 걸은 걷는 걸을 걸으세요
묻다 ㄷ 물어요 물었어요 묻습니다 물으면 묻는다 물은 묻는 물을 물으세요
깨닫다 ㄷ 깨달아요 깨달았어요 깨닫습니다 깨달으면 깨닫는다 깨달은 깨닫는 깨달을 깨달으세요
낫다 ㅅ 나아요 나았어요 낫습니다 나으면 낫는다 나은 낫는 나을 나으세요
짓다 ㅅ 지어요 지었어요 짓습니다 지으면 짓는다 지은 짓는 지을 지으세요
돕다 ㅂ 도와요 도왔어요 돕습니다 도우면 돕는다 도운 돕는 도울 도우세요
굽다 ㅂ 구워요 구웠어요 굽습니다 구우면 굽는다 구운 굽는 구울 구우세요
눕다 ㅂ 누워요 누웠어요 눕습니다 누우면 눕는다 누운 눕는 누울 누우세요
이르다 러 이르러요 이르렀어요 이릅니다 이르면 이른다 이른 이르는 이를 이르세요
푸다 우 퍼요 펐어요 풉니다 푸면 푼다 푼 푸는 풀 푸세요
있다 - 있어요 있었어요 있습니다 있으면 있다 있던 있는 있을 있으세요
주무시다 - 주무세요 주무셨어요 주무십니다 주무시면 주무신다 주무신 주무시는 주무실 주무세요
""".strip().splitlines()
# word, kind, then: 해요체, past 해요체, 합쇼체, if, before a noun (past, present, future), written form, honorific 해요체
ADJECTIVES = """
크다 - 커요 컸어요 큽니다 크면 크던 큰 클 크다 크세요
바쁘다 - 바빠요 바빴어요 바쁩니다 바쁘면 바쁘던 바쁜 바쁠 바쁘다 바쁘세요
예쁘다 - 예뻐요 예뻤어요 예쁩니다 예쁘면 예쁘던 예쁜 예쁠 예쁘다 예쁘세요
작다 - 작아요 작았어요 작습니다 작으면 작던 작은 작을 작다 작으세요
좋다 - 좋아요 좋았어요 좋습니다 좋으면 좋던 좋은 좋을 좋다 좋으세요
길다 - 길어요 길었어요 깁니다 길면 길던 긴 길 길다 기세요
친절하다 - 친절해요 친절했어요 친절합니다 친절하면 친절하던 친절한 친절할 친절하다 친절하세요
빠르다 - 빨라요 빨랐어요 빠릅니다 빠르면 빠르던 빠른 빠를 빠르다 빠르세요
춥다 ㅂ 추워요 추웠어요 춥습니다 추우면 춥던 추운 추울 춥다 추우세요
가깝다 ㅂ 가까워요 가까웠어요 가깝습니다 가까우면 가깝던 가까운 가까울 가깝다 가까우세요
좁다 - 좁아요 좁았어요 좁습니다 좁으면 좁던 좁은 좁을 좁다 좁으세요
빨갛다 ㅎ 빨개요 빨갰어요 빨갛습니다 빨가면 빨갛던 빨간 빨갈 빨갛다 빨가세요
하얗다 ㅎ 하얘요 하얬어요 하얗습니다 하야면 하얗던 하얀 하얄 하얗다 하야세요
그렇다 ㅎ 그래요 그랬어요 그렇습니다 그러면 그렇던 그런 그럴 그렇다 그러세요
푸르다 러 푸르러요 푸르렀어요 푸릅니다 푸르면 푸르던 푸른 푸를 푸르다 푸르세요
맛있다 - 맛있어요 맛있었어요 맛있습니다 맛있으면 맛있었던 맛있는 맛있을 맛있다 맛있으세요
""".strip().splitlines()
SYLLABLES = st.integers(0xAC00, 0xD7A3).map(chr)


@pytest.mark.parametrize("row", VERBS)
def test_forms_of_a_verb(row):
    word, kind, polite, past, formal, conditional, written, before, now, later, honorific = row.split()
    verb = stem(word, kind.strip("-"))
    found = [attach(verb, "아요"), attach(verb.past, "아요"), attach(verb, "습니다"), attach(verb, "으면"), plain(verb)]
    assert found == [polite, past, formal, conditional, written]
    forms = [adnominal(verb, tense) for tense in ("past", "present", "future")]
    assert forms[1:] == [now, later]
    assert forms[0] == before or word == "있다"
    assert attach(verb if verb.kind == "시" else verb.honorific, "아요") == honorific


@pytest.mark.parametrize("row", ADJECTIVES)
def test_forms_of_an_adjective(row):
    word, kind, polite, past, formal, conditional, _, now, later, written, honorific = row.split()
    adjective = stem(word, kind.strip("-"), action=False)
    found = [
        attach(adjective, "아요"),
        attach(adjective.past, "아요"),
        attach(adjective, "습니다"),
        attach(adjective, "으면"),
    ]
    assert found == [polite, past, formal, conditional]
    assert [adnominal(adjective, "present"), adnominal(adjective, "future"), plain(adjective)] == [now, later, written]
    assert adnominal(adjective, "past") == attach(adjective.past, "던")
    assert attach(adjective.honorific, "아요") == honorific


def test_other_endings_of_the_hard_ones():
    live, know, help_, hear, cold = (
        stem("살다"),
        stem("모르다"),
        stem("돕다", "ㅂ"),
        stem("듣다", "ㄷ"),
        stem("춥다", "ㅂ", action=False),
    )
    assert [attach(live, ending) for ending in ("고", "니", "으니까", "읍시다", "으러", "으려고", "지만", "자", "을까요")] == [
        "살고", "사니", "사니까", "삽시다", "살러", "살려고", "살지만", "살자", "살까요",
    ]  # fmt: skip
    assert [attach(know, ending) for ending in ("아서", "으니까", "네", "고")] == [
        "몰라서",
        "모르니까",
        "모르네",
        "모르고",
    ]
    assert [attach(help_, ending) for ending in ("아서", "으려고", "고", "아도")] == [
        "도와서",
        "도우려고",
        "돕고",
        "도와도",
    ]
    assert [attach(hear, ending) for ending in ("으러", "으면서", "자", "아야")] == [
        "들으러",
        "들으면서",
        "듣자",
        "들어야",
    ]
    assert [attach(cold, ending) for ending in ("으니까", "지만", "네요", "아서")] == [
        "추우니까",
        "춥지만",
        "춥네요",
        "추워서",
    ]
    assert attach(live.past, "니") == "살았니"
    assert attach(stem("가다").honorific.past, "아요") == "가셨어요"
    assert attach(stem("가다").honorific, "읍시오") == "가십시오"


def test_the_copula_shrinks_after_a_vowel():
    student, doctor = copula("학생"), copula("의사")
    endings = ("아요", "아", "습니다", "다", "니", "지만", "아서", "으니까", "으면")
    assert [attach(student, ending) for ending in endings] == [
        "학생이에요", "학생이야", "학생입니다", "학생이다", "학생이니", "학생이지만", "학생이라서", "학생이니까", "학생이면",
    ]  # fmt: skip
    assert [attach(doctor, ending) for ending in endings] == [
        "의사예요", "의사야", "의사입니다", "의사다", "의사니", "의사지만", "의사라서", "의사니까", "의사면",
    ]  # fmt: skip
    assert [attach(one.past, "아요") for one in (student, doctor)] == ["학생이었어요", "의사였어요"]
    assert [adnominal(one, "present") for one in (student, doctor)] == ["학생인", "의사인"]


def test_every_word_of_the_lexicon_has_all_its_forms():
    for word in [*lexicon().verbs, *lexicon().adjectives]:
        for ending in ("아요", "습니다", "으면", "을", "고", "으니까", "니", "아서"):
            form = attach(word.stem, ending)
            assert all("가" <= letter <= "힣" for letter in form.replace(" ", "")), (word.korean, form)


@given(SYLLABLES, st.sampled_from(FINALS), st.sampled_from(VOWELS))
def test_a_syllable_is_put_together_as_it_is_taken_apart(syllable, final, vowel):
    assert with_final(syllable, final_of(syllable)) == syllable
    assert final_of(with_final(syllable, final)) == final
    assert vowel_of(with_final(syllable, final)) == vowel_of(syllable)
    changed = with_vowel(syllable, vowel)
    assert (vowel_of(changed), final_of(changed)) == (vowel, "")


@given(SYLLABLES.filter(lambda letter: final_of(letter) not in ("ㄹ",) and vowel_of(letter) in "ㅏㅓㅗㅜㅣㅡ"))
def test_a_regular_stem_keeps_its_consonant_before_one_and_before_a_vowel(syllable):
    verb = Stem(syllable)
    if final_of(syllable):
        assert attach(verb, "고") == syllable + "고"
        assert attach(verb, "으면") == syllable + "으면"
        assert attach(verb, "아요")[:-1] in (syllable + "아", syllable + "어")
    else:
        assert attach(verb, "습니다") == with_final(syllable, "ㅂ") + "니다"
        assert attach(verb, "으면") == syllable + "면"
