import subprocess
import sys

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors import Patterns

CASES = [
    ("EMAIL_ADDRESS", "Write to jo.doe@example.com today.", "jo.doe@example.com"),
    ("PHONE_NUMBER", "Call (425) 882-9090 now.", "(425) 882-9090"),
    ("CREDIT_CARD", "Card 4012-8888-8888-1881 was charged.", "4012-8888-8888-1881"),
    ("IBAN_CODE", "Account IL150120690000003111111 is open.", "IL150120690000003111111"),
    ("US_SSN", "The number is 078-05-1126 there.", "078-05-1126"),
    ("IP_ADDRESS", "From 192.168.0.1 at night.", "192.168.0.1"),
    ("IP_ADDRESS", "From fe80::dead:beef at night.", "fe80::dead:beef"),
    ("MAC_ADDRESS", "The card ab:cd:ef:ab:cd:ef answered.", "ab:cd:ef:ab:cd:ef"),
    ("MAC_ADDRESS", "The card AB-CD-EF-12-34-56 answered.", "AB-CD-EF-12-34-56"),
    ("MAC_ADDRESS", "The card abcd.ef12.3456 answered.", "abcd.ef12.3456"),
]


@pytest.mark.parametrize(("label", "text", "secret"), CASES, ids=[case[0] for case in CASES])
def test_each_form_is_found(label, text, secret):
    found = Patterns((label,)).detect(["nothing here", text])
    assert [text[a:b] for a, b in zip(found.start, found.end, strict=True)] == [secret]
    assert found.document.tolist() == [1]
    assert found.labels == (label,)
    assert found.is_exact


def test_presidio_is_imported_only_when_a_text_may_hold_what_it_finds():
    look = """
import sys
from oddshift.data.detectors import Patterns
print(len(Patterns().detect(["Ann met Bob - twice. Write: jo@example.com"])), "presidio_analyzer" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]


def test_plain_numbers_are_not_taken():
    found = Patterns().detect(["In 2004 it cost 15000 dollars, 3-2 after extra time."])
    assert len(found) == 0


def test_links_only_when_named():
    text = ["See https://example.com/page now."]
    assert len(Patterns().detect(text)) == 0
    assert len(Patterns(("URL",)).detect(text)) >= 1


def test_unknown_label_is_refused():
    with pytest.raises(InvalidInput, match="expected some of EMAIL_ADDRESS"):
        Patterns(("PASSPORT",))


OFFLINE = """
import socket, sys

def refuse(*args, **kwargs):
    raise RuntimeError("network call")

class Blocked(socket.socket):
    def connect(self, *args):
        refuse()
    connect_ex = connect

socket.socket = Blocked
socket.create_connection = socket.getaddrinfo = socket.gethostbyname = refuse
from oddshift.data.detectors import Patterns, Pipeline
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.base.spacy_import import sparing_torch
texts = ["Ann Smith of Microsoft in Paris, ann@example.co.uk, (425) 882-9090, 192.168.0.1, 4012-8888-8888-1881"]
with sparing_torch():
    print(len(tokenise(texts).form), len(Patterns().detect(texts)))
    print(len(Pipeline(sys.argv[1], is_cached=False).detect(texts)))
"""


@pytest.mark.slow
def test_no_network_call_at_all(data):
    model = str(data / "ner" / "en_core_web_sm_ner")
    done = subprocess.run([sys.executable, "-c", OFFLINE, model], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    first, second = done.stdout.split("\n")[:2]
    assert int(first.split()[1]) >= 4
    assert int(second) >= 2
