"""A model and a judge that say the same of the same question and answer, whatever words they are asked in.

What is said depends on the material of a request (question, passages, answer), so a reworded prompt does not change it;
much of it is right, some refuses, thinks aloud, is empty, cut or unreadable.
"""

import hashlib
import json
import lzma
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENTITIES: dict[str, Any] = json.loads((HERE / "entities.json").read_text(encoding="utf-8"))  # of the sample's questions
_REFUSALS = {
    "en": "I can not answer the question because of the insufficient information in documents.",
    "zh": "文档信息不足，因此我无法基于提供的文档回答该问题。",
}
_ERRORS = {"en": "There are factual errors in the provided documents.", "zh": "提供文档的文档存在事实性错误。"}
MODELS = ("scripted", "second", "third", "judge", "maker")
_NO_IDEA = "I don't know"
_SCALES = {
    "正确性": (0, 1, 2),
    "幻觉": (0, 1),
    "完整性": (-1, 0, 1, 2),
    "检索内容的利用": (0, 1, 2),
    "数值准确性": (-1, 0, 1),
}


def draw(*parts: str) -> int:
    """Return a number that the parts alone decide."""
    return int(hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest(), 16)


def reply(text: str, model: str = "scripted") -> tuple[str, str]:
    """Answer the last message of a request.

    Returns:
        The text, and why it ended: ``stop`` or ``length``.
    """
    if '"tickers"' in text and (question := re.search(r"(?m)^Question: (.+)$", text)):
        return json.dumps(ENTITIES.get(question[1], {})), "stop"
    if "这次评的是“" in text:
        return _grade(text), "stop"
    if '"score"' in text and '"reference"' in text:
        return _mark(text), "stop"
    if "the question is addressed by the documents" in text:
        return _say(
            text, "Yes, the question is addressed by the documents.", "No, the question is not addressed."
        ), "stop"
    if "identified the factual errors" in text:
        return _say(
            text,
            "Yes, the model has identified the factual errors.",
            "No, the model has not identified the factual errors.",
        ), "stop"
    if '"key_info"' in text:
        return _ask(text), "stop"
    if "<questions>" in text and "<response>" in text:
        return _respond(text), "stop"
    return answer(text, model)


def answer(text: str, model: str) -> tuple[str, str]:
    """Answer a question with a sentence of the prompt that has much of its last words, in one of several manners."""
    language = "zh" if re.search(r"[\u4e00-\u9fff]", text) else "en"
    sentences = [
        line.strip() for line in re.split(r"(?<=[。！？])|(?<=[.!?])\s+|\n", text) if 8 <= len(line.strip()) <= 300
    ]
    wanted = set(_bigrams(text[-200:]))
    number = draw(text[-2000:], model)
    ranked = sorted(sentences[:-1] or [text], key=lambda line: (-len(wanted & set(_bigrams(line))), line))
    sentence = ranked[number % min(3, len(ranked))]
    manner = number // 8 % 16
    if manner == 0:
        return _REFUSALS[language], "stop"
    if manner == 1:
        return f"{_ERRORS[language]} {sentence}", "stop"
    if manner == 2:
        return _NO_IDEA, "stop"
    if manner == 3:
        return f"<think>{ranked[-1]}</think>\n\n{sentence}", "stop"
    if manner == 4:
        return "" if number // 128 % 2 else sentence[: len(sentence) // 2], "length"
    if manner == 5:
        return sentence.replace(" ", "\u00a0").replace("-", "\u2011"), "stop"
    if manner == 6:
        return " ".join(dict.fromkeys(ranked[:3])), "stop"
    return sentence, "stop"


def _bigrams(text: str) -> list[str]:
    return [text[place : place + 2].lower() for place in range(len(text) - 1)]


def _material(text: str) -> dict[str, Any]:
    (line,) = [line for line in text.splitlines() if line.startswith('{"question": ')]
    return dict(json.loads(line))


def _grade(text: str) -> str:
    (aspect,) = re.findall(r"这次评的是“(.+?)”", text)
    material = _material(text)
    number = draw(aspect, material["question"], material["answer"])
    scale = _SCALES[aspect]
    grade = scale[number % len(scale)]
    forms = (
        f'{{"prediction": {grade}}}',
        f'```json\n{{"prediction": "{grade}"}}\n```',
        f'<think>{{}}</think>{{"prediction": {grade}}}',
    )
    return "打不了分" if number // 64 % 23 == 0 else forms[number // 8 % 3]


def _mark(text: str) -> str:
    material = _material(text)
    answer, reference = (str(material[name]).casefold() for name in ("answer", "reference"))
    number = draw(answer, reference)
    score = int(reference in answer or number % 4 == 0)
    if number // 64 % 23 == 0:
        return "It is hard to say."
    return (
        f'**{{"score": {score}, "explanation": "so"}}**'
        if number % 3 == 0
        else f'{{"score": {score}, "explanation": "so"}}'
    )


def _say(text: str, yes: str, no: str) -> str:
    *_, question, answer = re.findall(r"(?s)<question>(.*?)</question>\n<answer>(.*?)</answer>", text)[-1]
    number = draw(question, answer)
    return "Perhaps." if number // 64 % 23 == 0 else yes if number % 2 else no


def _ask(text: str) -> str:
    (about,) = re.findall(r"(?s)<text>\n(.*?)\n</text>", text)[-1:]
    parts = [part for part in re.split(r"[，。；！？\s]", about) if len(part) >= 4][:4]
    return json.dumps({"key_info": parts, "question": [f"{part[:2]}怎么样？" for part in parts]}, ensure_ascii=False)


def _respond(text: str) -> str:
    (about,) = re.findall(r"(?s)<text>\n(.*?)\n</text>", text)[-1:]
    (questions,) = re.findall(r"(?s)<questions>\n(.*?)\n</questions>", text)[-1:]
    lines = [line for line in questions.splitlines() if line.strip()]
    parts = [part for part in re.split(r"[，。；！？\s]", about) if len(part) >= 4] or ["无法推断"]
    blocks = []
    for number, line in enumerate(lines, 1):
        drawn = draw(about, line)
        said = "无法推断" if drawn % 5 == 0 else parts[drawn % len(parts)]
        blocks.append(f"问题 {number}\n<response>\n{said}\n</response>")
    return "\n".join(blocks)


def judge(requests: list[list[dict[str, str]]]) -> list[str]:
    """Reply to a batch, as a judge that is given in Python."""
    return [reply(request[-1]["content"])[0] for request in requests]


class Recorded:
    """Replies to the requests of dataset making, as a scripted model gave them, by the digest of their messages."""

    def __init__(self) -> None:
        self.replies: dict[str, str] = json.loads(lzma.decompress((HERE / "maker.json.xz").read_bytes()))

    def __call__(self, body: dict[str, Any]) -> tuple[str, str]:
        return self.replies[digest(body)], "stop"


def digest(body: dict[str, Any]) -> str:
    """Return what identifies a request: its messages alone."""
    return hashlib.sha256(json.dumps(body["messages"], sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:24]


@contextmanager
def serve(respond: Any = None) -> Iterator[str]:
    """Serve `reply`, or another function of a request's body, as a chat server; yields its base URL."""
    respond = respond or (lambda body: reply(body["messages"][-1]["content"], f"{body['model']}{body.get('seed', '')}"))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or each reply waits 40 ms

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": name} for name in MODELS]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text, ended = respond(body)
            message = {"role": "assistant", "content": text}
            usage = {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": len(text) // 4}
            usage["total_tokens"] = sum(usage.values())
            choice = {"index": 0, "message": message, "finish_reason": ended}
            self._send({"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage})

        def _send(self, value: Any) -> None:
            content = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket.listen(128)  # of five that wait, as is usual, the sixth would try again after a second
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
