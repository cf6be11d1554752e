"""English words in their forms: plurals, articles, verbs, possessives."""

from functools import cache

IRREGULAR_NOUNS = {
    "child": "children", "man": "men", "woman": "women", "person": "people", "mouse": "mice", "sheep": "sheep",
    "deer": "deer", "fish": "fish", "foot": "feet", "tooth": "teeth", "knife": "knives", "wolf": "wolves", "wife": "wives",
    "scarf": "scarves", "shelf": "shelves", "thesis": "theses", "businessperson": "businesspeople",
    "delivery person": "delivery people", "fisherman": "fishermen", "old man": "old men", "bookshelf": "bookshelves",
}  # fmt: skip
WITH_OES = ("potato", "tomato", "mosquito")
# base: past participle
IRREGULAR_VERBS = {
    base: (past, participle)
    for base, past, participle in (
        line.split() for line in """
be was been
have had had
do did done
go went gone
come came come
become became become
eat ate eaten
drink drank drunk
make made made
buy bought bought
sell sold sold
choose chose chosen
find found found
lose lost lost
break broke broken
throw threw thrown
give gave given
send sent sent
show showed shown
lend lent lent
teach taught taught
bring brought brought
take took taken
hide hid hidden
wear wore worn
put put put
get got gotten
shut shut shut
grow grew grown
sleep slept slept
wake woke woken
lie lay lain
sit sat sat
stand stood stood
leave left left
ride rode ridden
run ran run
drive drove driven
fall fell fallen
meet met met
speak spoke spoken
say said said
forget forgot forgotten
forgive forgave forgiven
know knew known
understand understood understood
sing sang sung
hear heard heard
read read read
write wrote written
draw drew drawn
swim swam swum
win won won
hurt hurt hurt
catch caught caught
spend spent spent
keep kept kept
begin began begun
rise rose risen
set set set
ring rang rung
fly flew flown
bite bit bitten
see saw seen
tell told told
think thought thought
cut cut cut
hang hung hung
quit quit quit
feel felt felt
fight fought fought
hold held held
""".strip().splitlines()
    )
}  # fmt: skip
TOLD_TWICE = {  # last letter doubled
    "stop", "plan", "submit", "chat", "hug", "chop", "wrap", "drop", "jog", "slip", "clap", "quit", "get", "put", "cut", "run", "sit", "swim",
    "win", "set", "forget", "begin", "shut", "transfer", "pat", "dig", "ski-",
}  # fmt: skip
SILENT_H = ("hour", "honest")
LIKE_YOU = ("uni", "use", "usu", "eu", "one", "uk")  # begin with the sound of "you" or "w"
IRREGULAR_COMPARATIVES = {
    "good": "better", "bad": "worse", "far": "farther", "big": "bigger", "hot": "hotter", "sad": "sadder", "thin": "thinner",
}  # fmt: skip
SHORT = {
    "small", "cheap", "clean", "light", "sharp", "thick", "long", "short", "high", "low", "bright", "dark", "fast",
    "slow", "warm", "cold", "cool", "fresh", "soft", "hard", "sweet", "salty", "spicy", "sour", "bland", "kind",
    "smart", "brave", "young", "shy", "cute", "fierce", "tall", "pretty", "heavy", "noisy", "easy", "funny", "lazy",
    "clear", "nice", "busy", "happy", "healthy", "quiet", "strict", "new", "safe", "chilly", "cloudy", "strange", "simple",
    "close", "sturdy", "full", "red", "dirty", "hungry", "lonely", "thirsty", "sleepy", "tired-", "frank-",
}  # fmt: skip


@cache
def plural(noun: str) -> str:
    """Return the plural: apples, watches, cherries, children."""
    if noun in IRREGULAR_NOUNS:
        return IRREGULAR_NOUNS[noun]
    head, _, last = noun.rpartition(" ")
    if last in IRREGULAR_NOUNS:
        return f"{head} {IRREGULAR_NOUNS[last]}"
    if noun.startswith("mother-in") or "-in-law" in noun:
        first, rest = noun.split("-", 1)
        return f"{first}s-{rest}"
    if noun.endswith(("s", "x", "ch", "sh")) or noun in WITH_OES:
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


@cache
def a(text: str) -> str:
    """Return "a" or "an", whichever fits before a text."""
    word = text.lower()
    if word.startswith(SILENT_H):
        return "an"
    if word.startswith(LIKE_YOU):
        return "a"
    return "an" if word[0] in "aeiou" else "a"


@cache
def third(verb: str) -> str:
    """Return the form of he, she, it: goes, watches, cries."""
    special = {"be": "is", "have": "has", "do": "does", "go": "goes"}
    if verb in special:
        return special[verb]
    if verb.endswith(("s", "x", "ch", "sh", "o", "z")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


@cache
def past(verb: str) -> str:
    """Return the past: went, stopped, cried."""
    return IRREGULAR_VERBS[verb][0] if verb in IRREGULAR_VERBS else _in_ed(verb)


@cache
def participle(verb: str) -> str:
    """Return the past participle: gone, stopped, cried."""
    return IRREGULAR_VERBS[verb][1] if verb in IRREGULAR_VERBS else _in_ed(verb)


@cache
def ing(verb: str) -> str:
    """Return the present participle: going, stopping, making, lying."""
    if verb in TOLD_TWICE:
        return verb + verb[-1] + "ing"
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + "ing"


def finite(verb: str, tense: str, person: str, *, many: bool) -> str:
    """Return the form that agrees with a subject: person is I or another, many says whether it takes the plural's."""
    if verb == "be":
        if tense == "past":
            return "were" if many else "was"
        return "am" if person == "I" else "are" if many else "is"
    if tense == "past":
        return past(verb)
    return verb if many or person == "I" else third(verb)


@cache
def comparative(adjective: str) -> str:
    """Return bigger, prettier, more expensive."""
    if adjective in IRREGULAR_COMPARATIVES:
        return IRREGULAR_COMPARATIVES[adjective]
    if adjective == "red":
        return "redder"
    if adjective not in SHORT:
        return f"more {adjective}"
    if adjective.endswith("y") and adjective != "shy":
        return adjective[:-1] + "ier"
    return adjective + ("r" if adjective.endswith("e") else "er")


def possessive(name: str) -> str:
    """Return Minsu's, James'."""
    return name + ("'" if name.endswith("s") else "'s")


def _in_ed(verb: str) -> str:
    if verb in TOLD_TWICE:
        return verb + verb[-1] + "ed"
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "ed"
