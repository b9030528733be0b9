"""Addresses and secrets: where a request and its key go, what is followed, and that nothing secret is shown."""

import base64
import traceback
from contextlib import closing

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat.client import ChatClient
from quadrag.chat.keys import Keys, Spec, find_keys, page_url, parse_spec
from quadrag.chat.reply import read_answer
from quadrag.errors import QuadragError
from quadrag.systems.models import CompletionsTransport
from quadrag.systems.own import OpenQuestion
from quadrag.systems.service import RagService

KEY = "sk-0123456789abcdef"
DEPLOYMENT, VERSION = "/openai/deployments/x", "?api-version=2024-06-01"


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
    found = set(find_keys(Spec(url, None)).secrets)
    assert secrets <= found and not {"1", "a", "ann", "h", "2024-05-01", ""} & found
    assert bool(found) == bool(secrets)


def test_a_secret_is_hidden_whole_or_where_escapes_part_it():
    keys = Keys(("sk-0123456789-long", "sk-0123456789"))
    assert keys.line("a sk-0123456789-long, sk-0123456789\nb") == "a ***, *** b"
    assert keys.line("sk-01\x1b[1m234\u202e567\u200b89") == "***"
    assert keys.line("." * 295 + "sk-0123456789") == "." * 295 + "***", "not cut before it is hidden"
    row = {"text": 'so sk-0123456789-long "x"', "passages": [["sk-0123456789", None]], "latency": 0.5}
    assert keys.hide_in(row) == {"text": 'so *** "x"', "passages": [["***", None]], "latency": 0.5}


BAD = ["", "org/gpt-4", "http://#m", "provider:", "#m", "http://h:99999/v1", "ann:secretword@h/v1#m"]
BAD += ["http://ann:secretword@h:99999/v1#m", "http://ann:secretword/x@h/v1#m", "http://ann:secretword#x@h/v1#m"]
BAD += ["http://ann:secretword?x@h/v1", "http://ann:secretword@[h/v1?api_key=secretword", "http://h:/v1#m", "gpt-4o"]
BAD += ["ftp://ann:secretword@h/v1?key=secretword", "http://a:secretword@h/v1,http://a:secretword@i/v1#m"]


@pytest.mark.parametrize("spec", BAD)
def test_what_is_no_address_is_one_line_without_its_password(spec):
    with pytest.raises(QuadragError) as error:
        parse_spec(spec)
    assert "secretword" not in "".join(traceback.format_exception(error.value)) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("base", "page"),
    [
        ("http://h", "http://h/v1/models"),
        ("http://h/", "http://h/v1/models"),
        ("http://h/v1", "http://h/v1/models"),
        ("http://h/tgi", "http://h/tgi/v1/models"),
        ("http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://h/v1?key=1", "http://h/v1/models?key=1"),
        ("http://h?key=1", "http://h/v1/models?key=1"),
        (f"https://h{DEPLOYMENT}{VERSION}", f"https://h{DEPLOYMENT}/models{VERSION}"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai/models"),
        ("https://h/api/paas/v4/", "https://h/api/paas/v4/models"),
    ],
)
def test_an_address_is_completed_with_a_version_where_it_has_none(base, page):
    assert page_url(base, "models") == page


@pytest.mark.parametrize("name", ["QUADRAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN"])
def test_the_key_is_sent_and_never_shown(server, ledger, monkeypatch, name, caplog, capfd):
    caplog.set_level("DEBUG")
    monkeypatch.setenv(name, KEY)
    server.state.key = KEY
    server.rules.append(Rule("echo_key", match="question 1"))
    server.rules.append(Rule("reply", match="question 2", message={"content": f"your key is {KEY}"}))
    with ChatClient(server.url, ledger=ledger) as client:
        replies = client.complete(chats(3))
        assert server.authorizations == {f"Bearer {KEY}"}
        assert replies[1].reason == "api_error" and "***" in replies[1].detail
        server.rules.insert(0, Rule("echo_key"))
        with ChatClient(server.url, ledger=ledger) as second, pytest.raises(QuadragError) as error:
            second(chats(3, start=10))
        said = capfd.readouterr()
        shown = f"{replies[1]} {error.value} {client.spent} {vars(client)} {caplog.text} {said}"
    assert KEY not in shown
    assert replies[2].text == "your key is ***", "what is kept holds no key"


def test_the_order_of_the_keys_and_no_saved_login(server, monkeypatch, tmp_path):
    (tmp_path / "token").write_text("hf_savedlogin0123456789")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    with ChatClient(server.url) as client:
        client(chats(1))
    assert server.authorizations == {""}, "a saved Hub login is not sent to any server"
    for name in ("HF_TOKEN", "OPENAI_API_KEY", "QUADRAG_API_KEY"):
        monkeypatch.setenv(name, f"key-of-{name}")
        with ChatClient(server.url + "#m") as client:
            client(chats(1))
        assert f"Bearer key-of-{name}" in server.authorizations


@pytest.fixture
def azure(monkeypatch):
    monkeypatch.setenv("QUADRAG_API_KEY", KEY)
    monkeypatch.setenv("QUADRAG_API_KEY_HEADER", "api-key")
    with ChatServer(key=KEY, key_header="api-key") as server:
        yield server


def test_a_key_goes_into_the_header_that_the_user_names(azure):
    place = f"http://127.0.0.1:{azure.port}{DEPLOYMENT}{VERSION}#m"
    completions = CompletionsTransport("plain")
    for transport, parameters in ((None, {}), (completions, completions.parameters)):
        with ChatClient(place, transport=transport, parameters=parameters) as client:
            assert all(isinstance(reply, str) for reply in client(chats(3)))
    with closing(RagService(place)) as service:
        service.ask([OpenQuestion("1", "?", (), (), "rgb", "c", "s", "en")])
    pages = {f"{DEPLOYMENT}/{page}{VERSION}" for page in ("models", "completions", "chat/completions")}
    assert {address for address, _ in azure.asked} == pages
    assert all(heads["api-key"] == KEY and "authorization" not in heads for _, heads in azure.asked)
    with ChatClient(place.replace("//", "//ann:secretword@")) as client:
        client(chats(1))
    assert azure.asked[-1][1]["authorization"] == f"Basic {basic('ann:secretword')}"


@pytest.mark.parametrize("name", ["api key", "api-key: x", "ключ"])
def test_what_is_no_header_is_refused_and_not_shown(monkeypatch, name):
    monkeypatch.setenv("QUADRAG_API_KEY_HEADER", name)
    with pytest.raises(QuadragError, match="QUADRAG_API_KEY_HEADER") as error:
        ChatClient("http://127.0.0.1:9/v1#m")
    assert name not in str(error.value)


@pytest.mark.parametrize("password", ["score", "1", "2008"])
def test_a_password_that_is_a_word_is_not_cut_out_of_replies(server, ledger, capfd, password):
    server.state.text = '{"score": 1} 2008 11'
    with ChatClient(server.url.replace("//", f"//user:{password}@") + "#m", ledger=ledger) as client:
        assert client(chats(1)) == client(chats(1)) == [server.text]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("elsewhere", [False, True])
def test_no_redirect_is_followed(server, monkeypatch, elsewhere):
    monkeypatch.setenv("QUADRAG_API_KEY", KEY)
    with ChatServer() as other:
        place = f"http://ann:secretword@localhost:{other.port}/v1/chat/completions?k=secretword" if elsewhere else "/v2"
        server.rules.append(Rule("status", status=307, headers={"Location": place}))
        with ChatClient(server.url + "#m") as client, pytest.raises(QuadragError, match="answered 307") as error:
            client(chats(3))
        assert other.requests == 0 and "secretword" not in str(error.value) and server.requests <= 3


def test_the_limit_on_a_reply_is_the_users(server):
    server.state.text = "x" * 5000
    with ChatClient(server.url + "#m", max_reply_bytes=6000) as client:
        assert client(chats(1)) == [server.text]
    with ChatClient(server.url + "#m", max_reply_bytes=5000) as client, pytest.raises(QuadragError, match="5000 bytes"):
        client(chats(2))
    assert server.requests == 3, "it is not asked for again"


def test_no_answer_shows_a_key_whoever_gave_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert KEY not in str(read_answer(f"incorrect key {KEY}", f"they sent {KEY}"))
