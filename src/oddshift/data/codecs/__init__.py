"""Raw data to Records and back: text, tables, locations, vectors.

Adding one: a file with a function that gives an Encoded value (records, tiers, decode), and a line in MODALITIES.
"""

from collections.abc import Callable
from typing import Any

from oddshift.data.codecs.corpora import (
    PUBLISHED,
    Corpus,
    Layout,
    data_folder,
    read_corpus,
    read_headerless,
    read_published,
    write_texts,
)
from oddshift.data.codecs.encoded import Encoded
from oddshift.data.codecs.lexicon import Lexicon, Similar
from oddshift.data.codecs.location import (
    EncodedLocations,
    FixColumns,
    LocationSettings,
    StayPoints,
    Trajectories,
    encode_locations,
    read_trajectories,
)
from oddshift.data.codecs.own_vectors import FROM_TEXT, vectors_from_text
from oddshift.data.codecs.pipeline_vectors import FROM_PIPELINE, pipeline_with_vectors, vectors_of_pipeline
from oddshift.data.codecs.tabular import EncodedTable, TableSettings, breast_cancer, encode_table, read_table
from oddshift.data.codecs.text import EncodedText, PreparedText, TextSettings, encode, prepare
from oddshift.data.codecs.tokens import Tokens, tokenise
from oddshift.data.codecs.vectors import EncodedVectors, encode_vectors, read_vector_set
from oddshift.data.codecs.word_vectors import WordVectors, read_vectors

MODALITIES: dict[str, Callable[..., Any]] = {
    "text": encode,
    "table": encode_table,
    "location": encode_locations,
    "vectors": encode_vectors,
}
"""Every modality by name: the function that gives its Encoded value."""

__all__ = [
    "FROM_PIPELINE",
    "FROM_TEXT",
    "MODALITIES",
    "PUBLISHED",
    "Corpus",
    "Encoded",
    "EncodedLocations",
    "EncodedTable",
    "EncodedText",
    "EncodedVectors",
    "FixColumns",
    "Layout",
    "Lexicon",
    "LocationSettings",
    "PreparedText",
    "Similar",
    "StayPoints",
    "TableSettings",
    "TextSettings",
    "Tokens",
    "Trajectories",
    "WordVectors",
    "breast_cancer",
    "data_folder",
    "encode",
    "encode_locations",
    "encode_table",
    "encode_vectors",
    "pipeline_with_vectors",
    "prepare",
    "read_corpus",
    "read_headerless",
    "read_published",
    "read_table",
    "read_trajectories",
    "read_vector_set",
    "read_vectors",
    "tokenise",
    "vectors_from_text",
    "vectors_of_pipeline",
    "write_texts",
]
