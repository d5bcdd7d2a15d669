"""AG News as all studies read it: titles and texts, the shared NER for PII, similarity for PoII, ε = 2.5."""

from __future__ import annotations

from oddshift.data.codecs import data_folder


def ag_news(rest: str = "", *, is_public: bool = True) -> str:
    """A configuration: the data, the mechanism, and what a study adds."""
    data = data_folder().resolve()
    return f"""\
[data]
kind = "text"
path = "{data}/ag_news.csv"
text = ["title", "text"]
vectors = "{data}/glove.6B.100d.npz"
is_public = {str(is_public).lower()}
detectors = [{{kind = "pipeline", path = "{data}/ner/en_core_web_sm_ner", labels = ["PERSON", "ORG", "GPE"]}}]
tier_names = ["PII"]
similar_percent = 10
repeats = "each"

[mechanism]
epsilon = 2.5

{rest}"""
