"""Raw columns to secrets and back, one codec for each kind of data: text, tables, places, vectors.

Adding one: a file with a settings class and a class that keeps the promises of `Codec`, and a line in CODECS or an
entry point of the group `oddshift.codecs`.
"""

from typing import Any

from oddshift.base.registry import Registry
from oddshift.data.codecs.codec import (
    Codec,
    Columns,
    Encoded,
    NamedCells,
    NoVocabulary,
    UnknownValues,
    named_cells,
)
from oddshift.data.codecs.coverage import Counts, KindCounts
from oddshift.data.codecs.place_codec import EncodedPlaces, PlaceCodec
from oddshift.data.codecs.places import PlaceSettings
from oddshift.data.codecs.table.codec import EncodedTable, TableCodec
from oddshift.data.codecs.table.domains import TableVocabulary
from oddshift.data.codecs.table.settings import TableSettings
from oddshift.data.codecs.text.codec import TextCodec
from oddshift.data.codecs.text.encoded import EncodedText, encode_tokens
from oddshift.data.codecs.text.lexicon import Lexicon, TextVocabulary
from oddshift.data.codecs.text.own_vectors import (
    FROM_PIPELINE,
    FROM_TEXT,
    pipeline_with_vectors,
    vectors_from_text,
    vectors_of_pipeline,
)
from oddshift.data.codecs.text.settings import MASK, TextSettings
from oddshift.data.codecs.text.tokens import Tokens, tokenise
from oddshift.data.codecs.text.vectors import WordVectors, data_folder, read_vectors
from oddshift.data.codecs.vector_codec import EncodedVectors, VectorCodec, VectorSettings

CODECS: Registry[type[Any]] = Registry(
    "codec",
    "oddshift.codecs",
    {
        "text": TextCodec,
        "table": TableCodec,
        "location": PlaceCodec,
        "vectors": VectorCodec,
    },
)
"""Every codec by the kind of data that a configuration names, those of installed packages included; the class of its
settings is its `settings_class`."""

__all__ = [
    "CODECS",
    "FROM_PIPELINE",
    "FROM_TEXT",
    "MASK",
    "Codec",
    "Columns",
    "Counts",
    "Encoded",
    "EncodedPlaces",
    "EncodedTable",
    "EncodedText",
    "EncodedVectors",
    "KindCounts",
    "Lexicon",
    "NamedCells",
    "NoVocabulary",
    "PlaceCodec",
    "PlaceSettings",
    "TableCodec",
    "TableSettings",
    "TableVocabulary",
    "TextCodec",
    "TextSettings",
    "TextVocabulary",
    "Tokens",
    "UnknownValues",
    "VectorCodec",
    "VectorSettings",
    "WordVectors",
    "data_folder",
    "encode_tokens",
    "named_cells",
    "pipeline_with_vectors",
    "read_vectors",
    "tokenise",
    "vectors_from_text",
    "vectors_of_pipeline",
]
