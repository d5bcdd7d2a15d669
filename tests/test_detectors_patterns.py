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
    ("IBAN_CODE", "my iban is gb29nwbk60161331926819", "gb29nwbk60161331926819"),
    ("PHONE_NUMBER", "You can call 73 448 266.", "73 448 266"),
    ("PHONE_NUMBER", "61 51 81 office", "61 51 81"),
    ("PHONE_NUMBER", "It was 001-490-155-3846 then.", "001-490-155-3846"),
    ("US_DRIVER_LICENSE", "My driver's license number is LH329609T", "LH329609T"),
    ("US_PASSPORT", "my passport number is 912803456", "912803456"),
    ("US_BANK_NUMBER", "her bank account is 945456787654", "945456787654"),
    ("US_ITIN", "the itin 911-70-1234 is hers", "911-70-1234"),
    ("UUID", "key 123e4567-e89b-12d3-a456-426614174000.", "123e4567-e89b-12d3-a456-426614174000"),
    ("DATE", "Born on 10/3/1948 there.", "10/3/1948"),
    ("DATE", "Seen on March 5, 1971, alone.", "March 5, 1971"),
    ("DATE", "On the 2nd of May she left.", "2nd of May"),
    ("AGE", "He is a 50 year old man.", "50 year old"),
    ("ADDRESS", "She lives at 12 Baker Street, Apt. 4, London, alone.", "12 Baker Street, Apt. 4, London"),
    ("ADDRESS", "Write to P.O. Box 12, Arsuk.", "P.O. Box 12, Arsuk"),
    (
        "ADDRESS",
        "Jo Doe\n\n42 Hauptstrasse 7\n Suite 3\n Kiel\n Germany 24103\nThanks",
        "42 Hauptstrasse 7\n Suite 3\n Kiel\n Germany 24103",
    ),
    ("ADDRESS", "Send it to 5 Elm Rd, Springfield, IL 62704.", "5 Elm Rd, Springfield, IL 62704"),
    ("ADDRESS", "psc 12, box 34\napo ae 09012 for this card", "psc 12, box 34\napo ae 09012"),
]

ORDINARY = [
    "In 2004 it cost 15000 dollars, 3-2 after extra time.",
    "5 people in the street saw 12 angry men on 3 of 4 days.",
    "They may come for 2 months, or next year; the order 123456789 is late.",
    "Room 12 34 56 is closed, and it was 99.5 percent.",
    "The 3 way match ended, and 12 drive home.",
]


@pytest.mark.parametrize(("label", "text", "secret"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
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


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_numbers_are_no_secrets(text):
    assert len(Patterns().detect([text])) == 0


def test_links_unless_they_are_left_out():
    text = ["See https://example.com/page now."]
    assert len(Patterns(("EMAIL_ADDRESS",)).detect(text)) == 0
    assert len(Patterns().detect(text)) == 1


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
