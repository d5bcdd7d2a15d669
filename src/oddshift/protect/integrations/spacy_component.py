"""A spaCy component: the components after it read the released text, never the words that it replaced.

    nlp = spacy.blank("en")
    nlp.add_pipe("oddshift", first=True, config={"policy": "policy.json"})
    nlp("Ann met the nurse.").text

spaCy imports this file for every pipeline it makes, so it imports the rest of oddshift only where it is used.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import write_atomic

if TYPE_CHECKING:
    from oddshift.protect import Sanitizer


@Language.factory("oddshift", default_config={"policy": ""})
def make_protector(nlp: Language, name: str, policy: str) -> "Protector":
    """The component for `nlp.add_pipe`; `policy` is the path of a policy.json for texts."""
    from oddshift.protect import Sanitizer
    from oddshift.protect.policies import load_policy

    return Protector(nlp, Sanitizer(load_policy(policy)))


class Protector:
    """Gives a new Doc for every Doc: the released text, cut by the pipeline's own tokenizer.

    Annotations of earlier components are about the secret words and are not carried over, so add it first. A context
    (`as_tuples`) is kept.

    **Guarantee**: each sensitive word goes through the policy's mechanism with a uniform from the operating system,
    unknown words as the policy says. Each call is a release of its own. Saving writes the hash of the policy, and spaCy
    its path; words and vectors stay where they are. A vocabulary that still holds replaced words is not saved: read
    texts inside `nlp.memory_zone()`, or save the pipeline before it reads any.
    """

    def __init__(self, nlp: Language, sanitizer: "Sanitizer") -> None:
        """A pipeline, and what releases its texts."""
        sanitizer.texts([])  # refuses a policy that is not for texts
        self._nlp = nlp
        self._sanitizer = sanitizer
        self._replaced: set[int] = set()
        self._own: set[int] = set()
        self._take_vocabulary()

    def __call__(self, doc: Doc) -> Doc:
        """The released Doc."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """The released Docs, in order."""
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            texts = self._sanitizer.texts([doc.text for doc in docs])
            for doc, text in zip(docs, texts, strict=True):
                released = self._nlp.tokenizer(text)
                released._context = doc._context
                self._replaced |= {token.orth for token in doc} - {token.orth for token in released} - self._own
                yield released

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The hash of the policy; refused when spaCy would save replaced words with its vocabulary."""

        strings: Any = self._nlp.vocab.strings
        kept = sum(word in strings for word in self._replaced)
        if kept:
            raise InvalidInput(
                f"the vocabulary holds {kept} words that were replaced, expected none: read texts inside "
                "nlp.memory_zone(), or save the pipeline before it reads any"
            )
        return self._sanitizer.policy.sha256.encode()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Protector":
        """This component, when its policy is the one it was saved with."""

        if data.decode() != self._sanitizer.policy.sha256:
            raise InvalidInput("the policy is not the one that the pipeline was saved with (its hash differs)")
        self._take_vocabulary()
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the hash of the policy to one file."""

        write_atomic(path, self.to_bytes())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Protector":
        """Read what `to_disk` wrote; see `from_bytes`."""
        return self.from_bytes(Path(path).read_bytes())

    def _take_vocabulary(self) -> None:
        """Remember the words that the pipeline came with: they reveal nothing about what it reads."""
        strings: Any = self._nlp.vocab.strings
        self._own = {strings[word] for word in strings}
