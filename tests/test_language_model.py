"""A language model in a folder as reader of W: a tiny one, made here, that has learned what stands before a word."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from oddshift.attackers import ATTACKERS, FitOptions  # noqa: E402
from oddshift.attackers.controls import Own  # noqa: E402
from oddshift.attackers.language_model import (  # noqa: E402
    LanguageModel,
    fit_language_prior,
)
from oddshift.attackers.law_attacker import LawAttacker  # noqa: E402
from oddshift.attackers.word_prior import fit_word_prior  # noqa: E402
from oddshift.base.errors import InvalidInput  # noqa: E402
from oddshift.model.records import MASKED, SLOT  # noqa: E402
from worlds import context_of, gather, log_score, ring, with_words  # noqa: E402

WORDS = ("ann", "ben", "cat", "dan", "eve", "fay", "gus", "hal")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@pytest.fixture(scope="module")
def world():
    """Behind each secret a word that has its parity seven times in eight."""
    return with_words(ring(documents=100, length=3, strength=0.0))


def tokenizer_of(pieces):
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({piece: k for k, piece in enumerate((*SPECIAL, *pieces))}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    names = zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **dict(names))


def tiny_model(pieces):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(SPECIAL) + pieces,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=16,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
    )
    return transformers.BertForMaskedLM(config)


def taught(model, tokenizer, symbols):
    """Some steps on documents of three hidden words, each with a hint behind it that has the parity of the word."""
    rng, optimiser = np.random.default_rng(0), torch.optim.Adam(model.parameters(), 1e-2)
    hints = np.array([tokenizer.convert_tokens_to_ids(symbol) for symbol in symbols])
    names = np.array([tokenizer.convert_tokens_to_ids(word) for word in WORDS])
    for _ in range(60):
        point = rng.integers(8, size=(64, 3))
        ids = np.full((64, 8), 4)
        ids[:, 0], ids[:, 2:7:2], ids[:, 7] = 2, hints[point % 2], 3
        labels = np.full(ids.shape, -100)
        labels[:, 1:6:2] = names[point]
        loss = model(input_ids=torch.from_numpy(ids), labels=torch.from_numpy(labels)).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    symbols = world.release.context.symbols
    tokenizer = tokenizer_of((*WORDS, *symbols))
    taught(tiny_model(len(WORDS) + len(symbols)), tokenizer, symbols).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return str(place)


@pytest.fixture(scope="module")
def model(folder):
    return LanguageModel(folder, WORDS)


def test_it_says_what_it_has_learned(world, model):
    even, odd = world.release.context.symbols[:2]
    scores = model.log_scores(context_of([SLOT, 0, SLOT, 1, SLOT, 1], [0, 6], (even, odd)))
    assert scores.shape == (3, 8)
    assert scores[0, ::2].min() > scores[0, 1::2].max() + 0.5
    assert scores[1:, 1::2].min() > scores[1:, ::2].max() + 0.5
    np.testing.assert_array_less(scores, 0.0)


def test_a_score_is_that_of_the_model_by_hand(world, model, folder):
    symbols = world.release.context.symbols
    said = model.log_scores(context_of([0, SLOT, MASKED], [0, 3], symbols))[0]
    plain = transformers.AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True).eval()
    first = len(SPECIAL) + len(WORDS)
    with torch.no_grad():
        logits = plain(input_ids=torch.tensor([[2, first, 4, 4, 3]])).logits[0, 2].log_softmax(dim=0)
    np.testing.assert_allclose(said, logits[5:13].numpy(), atol=1e-5)


def test_long_documents_are_read_in_windows(world, model):
    """Twelve pieces fit between the ends; the slots of the second window are read with its own words."""
    symbols = world.release.context.symbols
    long = context_of([0] * 12 + [SLOT, 1], [0, 14], symbols)
    short = context_of([0] * 2 + [SLOT, 1], [0, 4], symbols)
    room = 16 - 4
    assert len(long.tokens) > room
    alone = context_of([SLOT, 1], [0, 2], symbols)
    np.testing.assert_allclose(model.log_scores(long), model.log_scores(alone), atol=1e-6)
    assert np.abs(model.log_scores(short) - model.log_scores(alone)).max() > 1e-6


def test_several_pieces_count_by_their_mean_and_unknown_words_not_at_all(folder, world):
    symbols = world.release.context.symbols
    context = context_of([SLOT, 0], [0, 2], symbols)
    single, both = LanguageModel(folder, ("ann", "ben")), LanguageModel(folder, ("ann ben", "zoe"))
    scores = both.log_scores(context)[0]
    assert scores[0] == pytest.approx(single.log_scores(context)[0].mean())
    assert scores[1] == 0.0
    assert both.knows.tolist() == [True, False]


def prior_of(world, model):
    law = fit_language_prior(world.known, model, np.random.default_rng(0))
    return LawAttacker(world.known, law, "language", with_context=True)


def test_it_predicts_what_counts_do_not_see(world, model, monkeypatch):
    """Counts that read only two words before a secret, where the hint at another one stands."""
    monkeypatch.setattr("oddshift.attackers.word_relations.WINDOWS", ((-2,),))
    counted = LawAttacker(
        world.known, fit_word_prior(world.known, np.random.default_rng(0)), "words", with_context=True
    )
    read = prior_of(world, model)
    assert read.law.weights[0] > 0.1
    assert log_score(read, world) < log_score(counted, world) - 0.1
    shift, _ = gather(read, world.release)
    np.testing.assert_array_equal(shift, gather(Own(world.known), world.release)[0])  # a prior, nothing joint


def test_a_model_that_knows_nothing_changes_nothing(world, tmp_path):
    symbols = world.release.context.symbols
    tiny_model(len(WORDS) + len(symbols)).save_pretrained(tmp_path)
    tokenizer_of(("other", *symbols)).save_pretrained(tmp_path)
    read = prior_of(world, LanguageModel(str(tmp_path), WORDS))
    assert read.law.weights.tolist() == [0.0]


def test_it_is_registered_and_needs_a_model(world, model):
    made = ATTACKERS["language+W"](world.known, np.random.default_rng(0), FitOptions(language=model))
    assert made.name == "language+W"
    assert made.with_context
    assert made.parts[0].law.model is model
    with pytest.raises(InvalidInput, match="needs a language model"):
        ATTACKERS["language+W"](world.known, np.random.default_rng(0), FitOptions())


def test_what_the_folder_holds_is_its_identity(folder, model, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "copy")
    copy = LanguageModel(str(tmp_path / "copy"), WORDS)
    assert copy.fingerprint == model.fingerprint
    assert repr(copy) == "LanguageModel('copy', 8 words)"
    config = tmp_path / "copy" / "config.json"
    config.write_text(config.read_text() + "\n")
    assert LanguageModel(str(tmp_path / "copy"), WORDS).fingerprint != model.fingerprint
    assert replace(model, words=WORDS[:7]).fingerprint != model.fingerprint


def test_other_folders_are_refused(tmp_path, world, model):
    context = world.release.context
    with pytest.raises(InvalidInput, match="holds no config"):
        LanguageModel(str(tmp_path), WORDS).log_scores(context)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InvalidInput, match="cannot be read"):
        LanguageModel(str(tmp_path), WORDS).log_scores(context)
    with pytest.raises(InvalidInput, match="7 words for a language model, expected 8"):
        fit_language_prior(world.known, replace(model, words=WORDS[:7]), np.random.default_rng(0))


def test_weights_in_a_pickle_are_not_read(folder, tmp_path, world):
    import shutil

    place = tmp_path / "pickled"
    shutil.copytree(folder, place)
    (place / "model.safetensors").unlink()
    torch.save({}, place / "pytorch_model.bin")
    with pytest.raises(InvalidInput, match="cannot be read"):
        LanguageModel(str(place), WORDS).log_scores(world.release.context)


def text_config(extra=""):
    return f"""\
[data]
kind = "text"
path = "notes.csv"
text = ["text"]
is_public = true
detectors = [{{kind = "gazetteer", path = "names.txt"}}]
[mechanism]
epsilon = 2.0
[audit]
attackers = ["own", "language+W"]
{extra}"""


def test_a_configuration_names_the_folder(tmp_path):
    from oddshift.app.configuration import parse_config

    (tmp_path / "model").mkdir()
    found = parse_config(text_config('language_model = "model"\ndelta = 0.1'), "test", tmp_path)
    assert found.audit.language_model == str((tmp_path / "model").resolve())
    assert found.adapt.language_model == found.audit.language_model
    plain, other = (parse_config(text_config(f'language_model = "{name}"'), "test") for name in ("model", "other"))
    moved = parse_config(text_config('language_model = "model"'), "test", tmp_path)
    assert moved.fingerprint == plain.fingerprint  # where the folder lies does not count
    assert other.fingerprint != plain.fingerprint


def test_only_words_have_a_language_model():
    from oddshift.app.attacker_choice import fit_attackers
    from oddshift.audit import AuditSettings
    from oddshift.data.preparation import Prepared
    from oddshift.model.records import Split

    world = ring(documents=20)
    split = Split(world.secrets, world.secrets, world.secrets, "document")
    prepared = Prepared(split, world.known.tiers, "nobody", "records")
    asked = AuditSettings(epsilon=1.0, language_model="somewhere")
    with pytest.raises(InvalidInput, match="kind 'records', expected data that are words"):
        fit_attackers(["own"], world.known, prepared, asked, FitOptions())
