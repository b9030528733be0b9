"""Which kept replies are a local model's: those of the commits that the user names. Nothing is loaded."""

import pytest

from quadrag.chat.ledger import Ledger, call_key
from quadrag.chat.policy import CallPolicy
from quadrag.chat.reply import Reply
from quadrag.errors import QuadragError
from quadrag.parts import Trust
from quadrag.spec import Chat, Sampling
from quadrag.systems.models import open_completer

CHAT = [{"role": "user", "content": "Who?"}]
ONE, TWO = "1" * 40, "2" * 40


def opened(ledger, *trusted):
    policy = CallPolicy(ledger=ledger, replay=True, trust=Trust.read(trusted))
    return open_completer(Chat(llm="local:ORG/M", sampling=Sampling(temperature=0)), policy)


def test_two_commits_of_a_model_share_no_reply(tmp_path):
    with Ledger(tmp_path / "L") as ledger:
        first = opened(ledger, f"ORG/M={ONE},{TWO}")
        assert first.parameters == {"temperature": 0, "revision": ONE, "code_revision": TWO}
        key = call_key("local:ORG/M", CHAT, first.parameters, 0)
        ledger.put_many([(key, Reply("kept"))])
        assert opened(ledger, f"ORG/M={ONE},{TWO}", f"ORG/OTHER={TWO},{TWO}").complete([CHAT])[0].text == "kept"
        for trusted in ((), (f"ORG/M={TWO},{TWO}",), (f"ORG/M={ONE},{ONE}",)):
            with pytest.raises(QuadragError, match="local:ORG/M"):
                opened(ledger, *trusted).complete([CHAT])
