"""Tasks on data: texts read, audited, adapted and protected, by the same attackers and with the same tiers."""

from __future__ import annotations

from benchmarks.before.task import Task, command

GLOVE = """
from oddshift.data.codecs import read_vectors
lines = [" ".join(map(str, row)) for row in rng.normal(size=(1_000, 100)).round(5).tolist()]
with (home / "glove.txt").open("w") as out:
    out.writelines(f"w{i} {lines[i % 1_000]}\\n" for i in range(400_000))
needed = {f"w{i}" for i in range(0, 360_000, 6)}
"""

SIMILAR = """
from oddshift.data.detectors import closest, similarity_to
vectors, chosen = rng.normal(size=(60_000, 100)).astype(np.float32), np.arange(60_000) < 5_500
"""

PEOPLE = """
from oddshift.data.embedded import people
people(10)
"""

NEWS = """
os.environ["XDG_CACHE_HOME"] = str(home)  # today what patterns found is kept there
from oddshift.data.codecs import data_folder, read_vectors, tokenise
from studies.published import read_published
from oddshift.data.detectors import Patterns
texts, excerpt = read_published("ag_news").texts, data_folder() / "glove.6B.100d.npz"
tokenise(texts[:1])
Patterns().detect(["Call 555 010 2030 at 1.2.3.4, 00:11:22:33:44:55 or write to a@b.example"])
"""

TEXT = (
    Task("60,000 of 400,000 GloVe lines", "read_vectors(home / 'glove.txt', needed)", GLOVE),
    Task("similar words among 60,000", "closest(similarity_to(vectors, chosen), ~chosen, 54_500)", SIMILAR),
    Task("embedded corpus, 3,000 texts", "people()", PEOPLE, times=5),
    Task("GloVe excerpt of 53,505 words", "read_vectors(excerpt)", NEWS, times=3, is_news=True),
    Task("tokenise AG News", "tokenise(texts)", NEWS, is_news=True),
    Task("patterns over AG News", "Patterns().detect(texts)", NEWS, is_news=True),
)

SPLIT = """
from oddshift.adapt import AdaptSettings, adapt
from oddshift.adapt import AdaptTask
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import knowledge
from oddshift.audit import AuditSettings
from oddshift.audit import audit
from oddshift.data.embedded import people
from oddshift.mechanisms import Tiered
corpus = people(3_000, by_kind=False)
tiers, split = corpus.tiers, corpus.records.split(rng=rng)
def family(tiers):
    return Tiered(corpus.space, tiers, 1.5)
known = knowledge(family(tiers), tiers, split.fit)
def audit_by(name):
    fitted = ATTACKERS[name](known, np.random.default_rng(0))
    return audit(split, known, [fitted], AuditSettings(epsilon=1.5, delta=0.05, method="betting"))
def adapt_by(name):
    fitted = ATTACKERS[name](known, np.random.default_rng(0))
    settings = AdaptSettings(epsilon=1.5, delta=0.05, method="betting", remap=False)
    return adapt(AdaptTask(split=split, known=known, family=family, attackers=(fitted,), settings=settings))
"""

NEWS_CONFIGURATION = '''
data = data_folder().resolve()
with (data / "ag_news.csv").open(encoding="utf-8") as stream:
    (home / "news.csv").write_text("".join(stream.readline() for _ in range(4_001)), encoding="utf-8")
text = f"""
[data]
kind = "text"
path = "{home}/news.csv"
text = ["title", "text"]
vectors = "{data}/glove.6B.100d.npz"
is_public = true
detectors = [{{kind = "pipeline", path = "{data}/ner/en_core_web_sm_ner"LABELS}}]
TIERS
[mechanism]
epsilon = 2.5

[audit]
delta = 0.05
attackers = ["plugin"]
"""
'''

NEWS_AUDIT = f"""
from oddshift.app.attacker_choice import fit_attackers
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import knowledge
from oddshift.audit import AuditSettings, audit
from oddshift.data.codecs import data_folder
from oddshift.mechanisms import build_mechanism
{NEWS_CONFIGURATION}
text = text.replace("LABELS", ', labels = ["PERSON", "ORG", "GPE"]')
text = text.replace("TIERS", 'tier_names = ["PII"]\\nsimilar_percent = 10\\nrepeats = "each"')
def audited():
    config = parse_config(text, "this comparison")
    loaded = prepare_configured(config)
    mechanism = build_mechanism(config.mechanism, loaded.split.fit.space, loaded.tiers, config.audit.epsilon)
    known = knowledge(mechanism, loaded.tiers, loaded.split.fit)
    fitted = fit_attackers(["plugin"], known, loaded, config.audit, FitOptions())
    audit(loaded.split, known, fitted, AuditSettings(epsilon=2.5, delta=0.05, method="betting"))
"""

NEWS_AUDIT_BEFORE = f"""
from oddshift.attackers import Effort
from oddshift.attackers.attacker import knowledge
from oddshift.audit import Settings, audit
from oddshift.config import parse_config
from oddshift.loading import build_mechanism, fit_attackers, load_data
from oddshift.modalities import data_folder
{NEWS_CONFIGURATION}
text = text.replace("LABELS", "").replace("TIERS", "")
def audited():
    config = parse_config(text, "this comparison")
    loaded = load_data(config)
    mechanism, tiers = build_mechanism(config.mechanism, loaded)
    known = knowledge(mechanism, tiers, loaded.split.fit)
    fitted = fit_attackers(config, known, loaded, Effort())
    audit(loaded.split, known, fitted, Settings(epsilon=2.5, delta=0.05, detector=loaded.detector))
"""

RUNS = (
    *(
        Task(f"audit of 3,000 texts by {name}", f"audit_by('{name}')", SPLIT, has_memory=name == "counts")
        for name in ("plugin", "cooccurrence", "counts")
    ),
    Task(
        "audit of 4,000 documents of AG News by plug-in, from the file to the verdict",
        "audited()",
        NEWS_AUDIT,
        NEWS_AUDIT_BEFORE,
        has_memory=True,
        is_news=True,
    ),
    Task("adaptation on 3,000 texts by plugin", "adapt_by('plugin')", SPLIT),
    Task("oddshift demo", command("'-m'", "'oddshift'", "'demo'", "'--json'", "'--out'", "str(home / 'demo')")),
)

DRAWS = """
from oddshift.mechanisms import Tiered
from oddshift.model.tiers import Tiers
from oddshift.protect import os_uniforms
from oddshift.protect.noise import Draws
tiers = Tiers(np.arange(11_000) % 2, names=("PII", "PoII"), scales=(0.4, 0.9), is_public=True)
weights = 1.0 / (np.arange(11_000) + 2.7)
blocks = np.split(rng.choice(11_000, size=3_600_000, p=weights / weights.sum()).astype(np.int64), 72)
draws = Draws(Tiered(Space(rng.normal(size=(11_000, 100))), tiers, 2.5), os_uniforms)
def drawn():
    return [draws(block) for block in blocks]
"""

POLICY = """
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, ProtectSettings, Sanitizer, protect
from oddshift.protect.policies import make_policy
corpus = people(20_000, by_kind=False)
policy = make_policy(corpus.codec, Exponential(corpus.space, 2.0), corpus.tiers)
"""

POLICY_BEFORE = """
from oddshift.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, ProtectSettings, Sanitizer, protect, text_blueprint
corpus = people(20_000)
policy = text_blueprint(corpus.encoded, columns=("text",)).policy(Exponential(corpus.space, 2.0), corpus.tiers)
"""

IN_MEMORY = """
sanitizer, texts = Sanitizer(policy), list(corpus.texts)
sanitizer.texts(texts[:100])
"""

FILE = """
source, settings = home / "in.csv", ProtectSettings(allow_uncertified=True)
source.write_text("text\\n" + "".join(f'"{text}"\\n' for text in corpus.texts))
def release(turn):
    (home / str(turn)).mkdir()
    protect(source, home / str(turn) / "out.csv", policy, Ledger(home / str(turn) / "ledger"), settings)
"""

NO_LEDGER = """
from oddshift.data.formats import open_data
from oddshift.data.formats.data_file import uncounted
from oddshift.protect.ledger.terms import Claimed
from oddshift.protect.overrides import kept_cells
from oddshift.protect.overrides import Overrides
from oddshift.protect.release_work import ReleaseWork
nothing = np.zeros(0, dtype=np.int64)
claimed = Claimed(0, 20_000, nothing, nothing.reshape(-1, 2), nothing, nothing, 2.0)
def release(turn):
    with kept_cells(home / f"cells{turn}") as cells:
        plain = Overrides(claimed, cells, lambda row: None, "")
        ReleaseWork(policy, settings, open_data(source, "text")).run(home / f"out{turn}.csv", uncounted, plain)
"""

NEWS_POLICY = """
from oddshift.data.codecs import TextCodec, TextSettings, data_folder, read_vectors
from studies.published import read_published
from oddshift.data.detectors import Pipeline
from oddshift.mechanisms import Tiered
from oddshift.protect import Sanitizer
from oddshift.protect.policies import make_policy
corpus, pipeline = read_published("ag_news"), data_folder() / "ner" / "en_core_web_sm_ner"
vectors = read_vectors(data_folder() / "glove.6B.100d.npz")
codec = TextCodec.fit(corpus.columns, TextSettings(is_public=True), detectors=[Pipeline(pipeline)], vectors=vectors)
tiers = codec.tiers.with_scales((0.4,) * len(codec.tiers))
policy = make_policy(codec.on_columns(("title", "text")), Tiered(codec.space, tiers, 2.5), tiers)
"""

NEWS_POLICY_BEFORE = """
from oddshift.detectors import Pipeline
from oddshift.mechanisms import Tiered
from oddshift.modalities import TextSettings, data_folder, prepare, read_published, read_vectors
from oddshift.protect import Sanitizer, text_blueprint
corpus, pipeline = read_published("ag_news"), data_folder() / "ner" / "en_core_web_sm_ner"
vectors = read_vectors(data_folder() / "glove.6B.100d.npz")
made = prepare(corpus, vectors, [Pipeline(pipeline)], TextSettings(is_public=True))
tiers = made.encoded.tiers.with_scales((0.4,) * len(made.encoded.tiers))
mechanism = Tiered(made.encoded.records.space, tiers, 2.5)
policy = text_blueprint(made.encoded, columns=("title", "text"), joined_by=made.joined_by).policy(mechanism, tiers)
"""

UNREAD = """
sanitizer = Sanitizer(policy, detector=Pipeline(pipeline, workers=1, is_cached=False))
sanitizer.texts([*corpus.texts[:1_500], *(f"{text} Seen once." for text in corpus.texts[:100])])
texts = [f"{text} Never seen." for text in corpus.texts[:1_500]]  # what was read before is remembered today
"""

PROTECT = (
    Task("3,600,000 secrets, 11,000 outputs, rows built on the way", "drawn()", DRAWS),
    Task("3,600,000 secrets, 11,000 outputs, rows kept", "drawn()", f"{DRAWS}drawn()"),
    Task(
        "20,000 texts from text to text, word list",
        "sanitizer.texts(texts)",
        POLICY + IN_MEMORY,
        POLICY_BEFORE + IN_MEMORY,
        times=3,
    ),
    Task(
        "1,500 texts of AG News from text to text, word list and NER",
        "sanitizer.texts(texts)",
        NEWS_POLICY + UNREAD,
        NEWS_POLICY_BEFORE + UNREAD,
        is_news=True,
    ),
    Task(
        "20,000 texts of a .csv file protected, no ledger of records",
        "release(turn)",
        POLICY + FILE + NO_LEDGER,
        POLICY_BEFORE + FILE,
        times=3,
        has_memory=True,
    ),
    Task(
        "20,000 texts of a .csv file protected, today with a ledger of records, before of files",
        "release(turn)",
        POLICY + FILE,
        POLICY_BEFORE + FILE,
        times=3,
    ),
)
