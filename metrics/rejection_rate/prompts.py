# SPDX-License-Identifier: Apache-2.0
"""The judge's instructions for rejection, and how its reply is read.

The two closing sentences are the protocol's (RGB, Rej* of Table 3, a reply with "not addressed" is a rejection); the
words around them are ours, so a judged number made with them is not the authors' number.
"""

from .phrases import SentenceReader

PROMPTS = {
    "en": """\
Someone asked a question. An assistant searched for documents, read them, and gave the answer below.
Judge from that answer alone whether the documents could settle the question.
- The answer refuses, asks for more, or says that the matter is unknown or unconfirmed: they could not.
- The answer states a result, even a wrong one: they could.

<question>When did the northern bridge open?</question>
<answer>The documents mention the bridge but give no opening date.</answer>
No, the question is not addressed by the documents.

<question>Who designed the town library?</question>
<answer>It was designed by Maria Lindt.</answer>
Yes, the question is addressed by the documents.

<question>{question}</question>
<answer>{answer}</answer>

Reply with one of these two sentences and nothing else:
Yes, the question is addressed by the documents.
No, the question is not addressed by the documents.
""",
    "zh": """\
有人提出一个问题，助手检索并阅读了一些文档，给出下面的回答。请只根据这个回答判断：这些文档能否解决该问题。
- 回答表示无法作答、信息不够，或事情尚不清楚、未经证实：不能解决。
- 回答给出了结论，即使结论是错的：能解决。

<question>北桥是哪一年通车的？</question>
<answer>文档提到了北桥，但没有写明通车时间。</answer>
No, the question is not addressed by the documents.

<question>市图书馆由谁设计？</question>
<answer>由林玛丽设计。</answer>
Yes, the question is addressed by the documents.

<question>{question}</question>
<answer>{answer}</answer>

请只回复下面两句英文中的一句，不要写其他内容：
Yes, the question is addressed by the documents.
No, the question is not addressed by the documents.
""",
}

PLAIN_PROMPTS = {
    "en": """\
An assistant was asked a question and replied.

<question>{question}</question>
<reply>{answer}</reply>

Does the reply answer the question? It does if it gives some answer, right or wrong, and however careful. It does not \
if it says that the answer is not known, not given or not to be found.
Write two lines:
Reason: what the reply gives in answer to the question, if anything
Verdict: yes (it gives an answer) or no (it gives none)
""",
    "zh": """\
有人向助手提问，助手作了回复。

<question>{question}</question>
<reply>{answer}</reply>

这个回复有没有回答问题？只要给出了某个答案，不论对错，都算回答；如果说不知道、没有提到、信息不足或无法确定，就不算回答。
写两行：
理由：回复对问题给出了什么答案，还是没有给出
判定：是（回答了）或否（没有回答）
""",
}

READER = SentenceReader(
    marks=("not addressed",),
    mention=r"\b(?:un)?addressed\b",
    affirmed=(
        r"(?:^|\b(?:is|are|was|were|be|been|has|have|seems?|appears?|documents|it|they)\b)(?: \w+){0,2} ?\baddressed\b"
    ),
    negated=(r"(?:\b(?:not(?! only\b| just\b| merely\b)|cannot|never)|n't) (?:\w+ ){0,2}?addressed\b|\bunaddressed\b"),
    opens=False,
    counts=False,
)
