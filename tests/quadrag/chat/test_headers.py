"""Where a key goes, and addresses with a version in their path or query: for models, their lists, completions, RAG."""

from __future__ import annotations

import pytest
from chat_server import ChatServer, chats

from quadrag.baselines.systems.completions.transport import CompletionsTransport
from quadrag.baselines.systems.rag.service import RagService
from quadrag.chat.client import ChatClient
from quadrag.chat.spec import page_url
from quadrag.errors import QuadragError

KEY = "azure-key-0123456789"
DEPLOYMENT = "/openai/deployments/x"
VERSION = "?api-version=2024-06-01"


@pytest.fixture
def azure(monkeypatch):
    monkeypatch.setenv("QUADRAG_API_KEY", KEY)
    monkeypatch.setenv("QUADRAG_API_KEY_HEADER", "api-key")
    with ChatServer(key=KEY, key_header="api-key") as server:
        yield server


def place(server):
    return f"http://127.0.0.1:{server.port}{DEPLOYMENT}{VERSION}"


def completions():
    return CompletionsTransport(lambda messages: messages[-1]["content"], "t")


@pytest.mark.parametrize(("page", "transport"), [("/chat/completions", None), ("/completions", completions())])
def test_a_key_goes_into_the_header_that_the_user_names(azure, page, transport):
    parameters = transport.parameters if transport else {}
    with ChatClient(place(azure) + "#m", transport=transport, parameters=parameters) as client:
        client.check_served()
        assert all(isinstance(reply, str) for reply in client(chats(3)))
    assert {address for address, _ in azure.asked} == {f"{DEPLOYMENT}/models{VERSION}", f"{DEPLOYMENT}{page}{VERSION}"}
    assert all(heads["api-key"] == KEY and "authorization" not in heads for _, heads in azure.asked)


def test_a_rag_service_gets_it_so(azure):
    with RagService(place(azure) + "#m") as service:
        service.complete([[{"messages": [{"role": "user", "content": "?"}], "model": "m"}, {}]])
    assert [address for address, _ in azure.asked] == [f"{DEPLOYMENT}/chat/completions{VERSION}"]
    assert azure.asked[0][1]["api-key"] == KEY


def test_without_a_name_it_is_a_bearer(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.state.key = KEY
    with ChatClient(server.url + "#m") as client:
        assert isinstance(client(chats(1))[0], str)
    assert all("api-key" not in heads for _, heads in server.asked)


def test_a_login_in_the_address_goes_with_it(azure):
    with ChatClient(place(azure).replace("//", "//ann:secretword@") + "#m") as client:
        assert isinstance(client(chats(1))[0], str)
    assert azure.asked[-1][1]["authorization"].startswith("Basic ")


@pytest.mark.parametrize("name", ["api key", "api-key: x", "ключ"])
def test_what_is_no_header_is_refused_and_not_shown(monkeypatch, name):
    monkeypatch.setenv("QUADRAG_API_KEY_HEADER", name)
    with pytest.raises(QuadragError, match="QUADRAG_API_KEY_HEADER") as error:
        ChatClient("http://127.0.0.1:9/v1#m")
    assert name not in str(error.value)


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
        (
            "https://h/openai/deployments/x?api-version=2024-06-01",
            "https://h/openai/deployments/x/models?api-version=2024-06-01",
        ),
        ("https://h/v1beta/openai", "https://h/v1beta/openai/models"),
        ("https://h/api/paas/v4/", "https://h/api/paas/v4/models"),
    ],
)
def test_an_address_is_completed_with_a_version_where_it_has_none(base, page):
    assert page_url(base, "models") == page
