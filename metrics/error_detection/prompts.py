# SPDX-License-Identifier: Apache-2.0
"""The judge's instructions for error detection, and how its reply is read.

The openings `Yes` and `has identified` are the protocol's (RGB, ED* of Table 7); the words around them are ours, so a
judged number made with them is not the authors'. The judge sees the question, which theirs does not.
"""

from .phrases import SentenceReader

PROMPTS = {
    "en": """\
An assistant was given a question and some documents, which may contain factual errors. Below are the question
and the assistant's answer; the documents are not shown. Decide whether the answer says that the documents are
wrong about what was asked. Whether the answer itself is right does not matter.

<question>When did the northern bridge open?</question>
<answer>The documents give 1991, which is a mistake. It opened in 1987.</answer>
Yes, the model has identified the factual errors.

<question>Who designed the town library?</question>
<answer>It was designed by Maria Lindt.</answer>
No, the model has not identified the factual errors.

<question>{question}</question>
<answer>{answer}</answer>

Reply with one of these two sentences and nothing else:
Yes, the model has identified the factual errors.
No, the model has not identified the factual errors.
""",
    "zh": """\
助手收到一个问题和一些可能含有事实性错误的文档。下面是问题和助手的回答，文档不再给出。
请判断：回答是否指出了文档在所问之事上有错。回答本身是否正确不在判断之列。

<question>北桥是哪一年通车的？</question>
<answer>文档写的是1991年，这是错的，北桥于1987年通车。</answer>
Yes, the model has identified the factual errors.

<question>市图书馆由谁设计？</question>
<answer>由林玛丽设计。</answer>
No, the model has not identified the factual errors.

<question>{question}</question>
<answer>{answer}</answer>

请只回复下面两句英文中的一句，不要写其他内容：
Yes, the model has identified the factual errors.
No, the model has not identified the factual errors.
""",
}

PLAIN_PROMPTS = {
    "en": """\
An assistant read some documents to answer a question, and replied.

<question>{question}</question>
<reply>{answer}</reply>

Does the reply say that there are errors in the documents, the context or the information? Or does it only answer the \
question, or say that it does not know?
Write two lines:
Reason: what the reply says, in your own words
Verdict: yes (it says that there are errors) or no (it says nothing of errors)
""",
    "zh": """\
助手读了一些文档来回答问题，并作了回复。

<question>{question}</question>
<reply>{answer}</reply>

这个回复有没有说文档、上下文或所给的信息里有错误？还是只回答了问题，或者说不知道？
写两行：
理由：用自己的话概括回复说了什么
判定：是（说有错误）或否（没有提到错误）
""",
}

READER = SentenceReader(
    marks=("has identified", "Yes"),
    mention=r"\bidentif(?:y|ied)\b",
    affirmed=r"\bhas (?:\w+ly )?identified\b|\b(?:did|does|was able to) (?:\w+ly )?identify\b",
    negated=(
        r"\bhas(?: not| never|n't) (?:\w+ly )?identified\b|\b(?:did|does|could)(?: not|n't) (?:\w+ly )?identify\b"
        r"|\b(?:fail(?:s|ed)?|unable|not able) to identify\b|\bhas (?:\w+ly )?identified (?:no|none|nothing)\b"
    ),
    opens=True,
    counts=True,
)
