"""AG News and IMDB as all studies read them: the shared NER for PII, similarity for PoII, ε = 2.5, a draw each time."""

from __future__ import annotations

from oddshift.data.codecs import data_folder


def ag_news(rest: str = "", *, is_public: bool = True) -> str:
    """The configuration of AG News: the data, the mechanism, and what a study adds."""
    return _corpus("ag_news", '["title", "text"]', rest, is_public=is_public)


def imdb(rest: str = "") -> str:
    """The same of IMDB."""
    return _corpus("imdb", '["text"]', rest, is_public=True)


def _corpus(name: str, columns: str, rest: str, *, is_public: bool) -> str:
    data = data_folder().resolve()
    return f"""\
[data]
kind = "text"
path = "{data}/{name}.csv"
text = {columns}
vectors = "{data}/glove.6B.100d.npz"
is_public = {str(is_public).lower()}
detectors = [{{kind = "pipeline", path = "{data}/ner/en_core_web_sm_ner", labels = ["PERSON", "ORG", "GPE"]}}]
tier_names = ["PII"]
similar_percent = 10
repeats = "each"

[mechanism]
epsilon = 2.5

{rest}"""
