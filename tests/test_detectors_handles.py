"""Handles, addresses and hashtags: found whole, sentence marks apart, in time that grows with the text alone."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors import Handles
from oddshift.data.detectors.handles import email_like, links


def found(text, *labels):
    spans = Handles(labels or Handles().labels).detect([text])
    return [(text[a:b], spans.labels[k]) for a, b, k in zip(spans.start, spans.end, spans.label, strict=True)]


def words(text, *labels):
    return [word for word, _ in found(text, *labels)]


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("Ask @nkamali, please", "@nkamali"),
        (".@norma_k said so", "@norma_k"),
        ("by @norma.kamali.", "@norma.kamali"),
        ("(@a)", "@a"),
        ("RT @Kamali: yes", "@Kamali"),
        ("I am ＠kamali here", "＠kamali"),
        ("on @jo@mastodon.social!", "@jo@mastodon.social"),
        ("thanks to u/norma_k and r/all", "u/norma_k"),
        ("see /u/norma-k", "/u/norma-k"),
        ("(see https://twitter.com/nkamali).", "https://twitter.com/nkamali"),
        ("x.com/nkamali/status/12?s=20, yes", "x.com/nkamali/status/12?s=20"),
        ("mobile.twitter.com/nkamali", "mobile.twitter.com/nkamali"),
        ("on www.instagram.com/norma.kamali/", "www.instagram.com/norma.kamali/"),
        ("Facebook.com/norma.kamali", "Facebook.com/norma.kamali"),
        ("linkedin.com/in/norma-kamali-1a2b", "linkedin.com/in/norma-kamali-1a2b"),
        ("https://t.co/AbC123dEf…", "https://t.co/AbC123dEf"),
        ("www.reddit.com/user/norma_k is she", "www.reddit.com/user/norma_k"),
    ],
)
def test_each_handle_and_profile_address(text, handle):
    assert found(text) == [(handle, "HANDLE")]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Write jo.doe+news@example.co.uk.", "jo.doe+news@example.co.uk"),
        ("root@localhost answered", "root@localhost"),
        ("<jo@example.com>", "jo@example.com"),
        ("jo [at] example [dot] com", "jo [at] example [dot] com"),
        ("jo(at)example.com", "jo(at)example.com"),
        ("ｊｏ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ｊｏ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
    ],
)
def test_addresses_with_an_at(text, address):
    assert found(text) == [(address, "EMAIL_ADDRESS")]


@pytest.mark.parametrize(
    "link",
    [
        "https://norma:pass@example.org/x",
        "http://a.edu/~kamali",
        "https://example.org/@kamali",
        "www.a.org/people/norma",
    ],
)
def test_links_that_name_a_user(link):
    assert found(f"See {link}, please.") == [(link, "URL")]


def test_links_that_name_nobody_stay():
    assert found("See https://example.com/page and www.example.com, or twitter.com.") == []


def test_hashtags_hold_a_letter():
    assert words("#SaveKamali, #Élise2020 and #2020vision") == ["#SaveKamali", "#Élise2020", "#2020vision"]
    assert found("#SaveKamali") == [("#SaveKamali", "HASHTAG")]
    assert words("we are #1, C# &#x27; page.html#part ##") == []


def test_only_what_is_asked_for():
    assert words("@jo #tag jo@example.com", "HASHTAG") == ["#tag"]
    with pytest.raises(InvalidInput, match="expected some of HANDLE"):
        Handles(("NAME",))
    with pytest.raises(InvalidInput, match="expected some of HANDLE"):
        Handles("HANDLE")


def test_ordinary_text_is_left_alone():
    assert found("Meet me at 5 pm; either/or, 3/4 of us (at least) will e-mail you. U/S and I/O.") == []


def test_what_overlaps_is_one():
    assert words("https://twitter.com/jo@example.com") == ["https://twitter.com/jo@example.com"]
    assert Handles().detect(["@a"]).is_exact


HOSTILE = ["a.", "a@", "@a.", "@", "a-", "#1", "u/", "t.co/", "www.", "http://", "a[at]", "a (at) a.", "/~", "x.com/@"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_is_read_without_backtracking(piece):
    text = piece * (8000 // len(piece))
    for hostile in (text, text + "@", "@" + text, text + "@a"):
        start = time.process_time()
        Handles().detect([hostile])
        assert sum(1 for _ in email_like(hostile)) + sum(1 for _ in links(hostile)) >= 0
        assert time.process_time() - start < 4  # backtracking would take minutes; a busy machine must not fail


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="a1.@/#-_ :u[]ext.comhps", max_size=60))
def test_spans_are_apart_and_hold_no_blank_edge(text):
    spans = Handles().detect([text])
    assert (spans.start[1:] >= spans.end[:-1]).all()
    for a, b in zip(spans.start, spans.end, strict=True):
        assert text[a:b] == text[a:b].strip()
