"""What may not be shown, and what is shown in its place."""

from __future__ import annotations

import base64
import traceback

import pytest

from quadrag.chat.client import ChatClient
from quadrag.chat.keys import Keys, find_keys
from quadrag.chat.spec import Spec, parse_spec
from quadrag.errors import QuadragError, one_line


def basic(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("http://h/v1", set()),
        ("http://ann:password@h/v1", {"password", "ann:password", basic("ann:password")}),
        ("http://ann:pass%20word@h/v1", {"pass%20word", "pass word", basic("ann:pass word")}),
        ("http://ann:1@h/v1", {"ann:1", basic("ann:1")}),
        ("http://a-token@h/v1", {"a-token", basic("a-token:")}),
        ("http://h/v1?api_key=abcd%2Be", {"abcd%2Be", "abcd+e"}),
        ("http://h/v1?api-version=2024-05-01&site=a&code=xyzw", {"xyzw"}),
        ("http://h/v1?x=0123456789012345678901234", {"0123456789012345678901234"}),
    ],
)
def test_the_secrets_of_an_address(url, secrets):
    found = set(find_keys(Spec((url,), None)).secrets)
    assert secrets <= found and not {"1", "a", "ann", "h", "2024-05-01", ""} & found
    assert bool(found) == bool(secrets)


def test_a_secret_is_hidden_whole_or_where_escapes_part_it():
    keys = Keys(None, None, ("sk-0123456789-long", "sk-0123456789"))
    assert keys.line("a sk-0123456789-long, sk-0123456789\nb") == "a ***, *** b"
    assert keys.line("sk-01\x1b[1m234\u202e567\u200b89") == "***"
    assert keys.line("." * 295 + "sk-0123456789") == "." * 295 + "***", "not cut before it is hidden"
    assert keys.echoed("so sk-0123456789") and not keys.echoed("so sk-012345678")
    assert not Keys(None, None, ("score",)).echoed('{"score": 1}'), "a word that any reply may hold"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n b\t\r\nc\x0b", "a b c"),
        ("\x1b[31mred\x1b[0m\x1b[2J\x1b[1;1H!", "red!"),
        ("\x1b]0;title\x07\x1bc\x9b31m\x00\x08\x7f", "]0;titlec31m"),
        ("a\u202eb\u2066c\u2069d\u200f\u061ce\ufeff", "abcde"),
        ("北京 caf\u00e9 \U0001f600", "北京 caf\u00e9 \U0001f600"),
    ],
)
def test_a_line_for_the_terminal(text, shown):
    assert one_line(text) == shown


@pytest.mark.parametrize(
    "spec",
    [
        "http://ann:secretword@h:99999/v1#m",
        "http://ann:secretword/x@h/v1#m",
        "http://ann:secretword#x@h/v1#m",
        "http://ann:secretword?x@h/v1",
        "http://ann:secretword@[h/v1?api_key=secretword",
        "ann:secretword@h/v1#m",
        "ftp://ann:secretword@h/v1?key=secretword",
    ],
)
def test_what_is_no_address_shows_no_password(spec):
    with pytest.raises(QuadragError) as error:
        parse_spec(spec)
    assert "secretword" not in "".join(traceback.format_exception(error.value))


def test_no_object_shows_a_secret():
    client = ChatClient("http://ann:secretword@127.0.0.1:9/v1?api_key=secretword#m")
    assert "secretword" not in repr(client.spec) + repr(client._open()._wire.endpoints)
    client.close()
