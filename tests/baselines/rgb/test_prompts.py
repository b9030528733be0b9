"""RGB's messages have the protocol's layout to the blank, and a user's own prompts are checked before they are used."""

import pytest
import yaml

from quadrag.baselines.rgb import benchmark as rgb
from quadrag.errors import QuadragError
from quadrag.prompts import load_prompts
from quadrag.records import Passage, Question

# specs of the protocol: the phrases that the rules match on.
PHRASES = {
    "zh": ("文档信息不足，因此我无法基于提供的文档回答该问题。", "提供文档的文档存在事实性错误。"),
    "en": (
        "I can not answer the question because of the insufficient information in documents.",
        "There are factual errors in the provided documents.",
    ),
}


def question(language, query="Q?"):
    return Question("rgb", f"noise_robustness_{language}", "noise_0", "0", query, [["A"]], language)


def shown(*texts):
    return [Passage(str(rank), "", text) for rank, text in enumerate(texts)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_layout_of_the_protocol_which_has_no_system_message_without_documents(language):
    document, asked = {"en": ("Document:\n", "Question:\nQ?"), "zh": ("文档：\n", "问题：\nQ?")}[language]
    messages = rgb.messages(question(language), shown("first", "second"), load_prompts("rgb"), "own")
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[1]["content"] == f"{document}first\nsecond \n\n{asked}"
    alone = {"role": "user", "content": f"{document} \n\n{asked}"}
    assert rgb.messages(question(language), [], load_prompts("rgb"), "own") == [alone]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_phrases_that_the_rules_match_are_told_word_for_word(language):
    system = rgb.messages(question(language), shown("x"), load_prompts("rgb"), "own")[0]["content"]
    for phrase in PHRASES[language]:
        assert phrase in system
    assert "\n" not in system


@pytest.mark.parametrize("text", ["{query}", "{documents}", "{0} {{x}} %s \\n", "{", "</p>", "\t\r"])
def test_nothing_in_documents_or_queries_is_taken_for_a_slot(text):
    prompts = load_prompts("rgb")
    user = rgb.messages(question("en"), shown(text, "b"), prompts, "own")[1]["content"]
    assert user == f"Document:\n{text}\nb \n\nQuestion:\nQ?"
    user = rgb.messages(question("en", query=text), shown("a", "b"), prompts, "own")[1]["content"]
    assert user == f"Document:\na\nb \n\nQuestion:\n{text}"


def test_the_papers_own_slots_are_filled(tmp_path):
    mine = {name: {"system": "Be careful.", "user": "D {DOCS} Q {QUERY}"} for name in ("en", "zh")}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(mine), encoding="utf-8")
    for language in mine:
        messages = rgb.messages(question(language), shown("a", "b"), load_prompts("rgb", str(path)), "own")
        assert [message["content"] for message in messages] == ["Be careful.", "D a\nb Q Q?"]


def test_the_language_that_a_run_uses_is_enough(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"en": dict(load_prompts("rgb")["en"])}), encoding="utf-8")
    mine = load_prompts("rgb", str(path))
    assert rgb.messages(question("en"), shown("x"), mine, "own")
    with pytest.raises(QuadragError, match=r"mine\.yaml has no text zh"):
        rgb.messages(question("zh"), shown("x"), mine, "own")
