"""Stop words: English words that are never names by themselves, in small letters, by their class.

They are the words of spaCy's English list, which a test compares, so that texts are read alike without spaCy.
"""

from __future__ import annotations

from functools import lru_cache

PRONOUNS = """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their themselves one this that these those who whom whose which what whoever
    whatever another other others same such own someone something anyone anything everyone everything nobody
    noone none nothing
"""

VERBS = """
    am are be been being is was were became become becomes becoming ca can cannot could did do does doing done had has
    have get give go keep made make may might move must name put say see seem seemed seeming seems serious
    should show take used using will would call regarding
"""

ADVERBS = """
    again almost alone already also although always anyhow anyway anywhere afterwards back beforehand elsewhere
    else enough even ever everywhere formerly further hence here hereafter hereby herein hereupon how however indeed
    just last latter latterly meanwhile moreover mostly much namely never nevertheless next no not now nowhere often
    once only otherwise perhaps please quite rather really so somehow sometime sometimes somewhere still then thence
    there thereafter thereby therefore therein thereupon thru thus together too very well when whence whenever where
    whereafter whereas whereby wherein whereupon wherever whither why yet various
"""

CONNECTIVES = """
    a about above across after against all along among amongst amount an and any around as at because before behind
    below beside besides between beyond both bottom but by down due during each either empty every except few first for
    former from front full if in into least less many more most neither nor of off on onto or out over part per re
    several side since some than the though through throughout to top toward towards under unless until up upon via
    whether while whole with within without
"""

NUMBERS = "two third three four five six eight nine ten eleven twelve fifteen twenty forty fifty sixty hundred"

SHORT_FORMS = "'d 'll 'm 're 's 've n't"


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """English function words that are never names by themselves, short forms with each kind of apostrophe.

    >>> "whose" in stop_words(), "’ll" in stop_words(), "paris" in stop_words()
    (True, True, False)
    """
    short = (SHORT_FORMS.replace("'", mark) for mark in "'‘’")
    return frozenset(" ".join((PRONOUNS, VERBS, ADVERBS, CONNECTIVES, NUMBERS, *short)).split())
