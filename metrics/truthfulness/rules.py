# SPDX-License-Identifier: Apache-2.0
"""What is decided of an answer without a judge: whether it is missing, and which accepted answers settle it.

The rules follow CRAG's evaluation code as it was meant (Yang et al., NeurIPS 2024, arXiv:2406.04744; as released it
cannot run). Section 4.1 of the paper calls an answer missing that says it does not know, apologises for not finding it,
reports an error, or asks to make the question clear. By the patterns here, which are ours, in English and Chinese, each
part of an answer must do so, or be an apology, a disclaimer or advice where to look: what goes on to tell or to guess
anything is an answer, right or wrong.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from .scoring import fold

_LONGEST = 1_000  # characters; what is longer tells something
# What refusals are written with in traditional characters.
_SIMPLE = str.maketrans(
    "暫無這個問題從確認資訊內檔報還實錯誤務網絡請連時發體類為們對沒經過說據給獲記錄結數線參閱聯繫議幫應該點總處準釋現單額麼與將斷",
    "暂无这个问题从确认资讯内档报还实错误务网络请连时发体类为们对没经过说据给获记录结数线参阅联系议帮应该点总处准释现单额么与将断",
)


def _any(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


# Where a part ends: a sentence's end but no abbreviation's, a contrast; in Chinese a comma too.
_ENDS = re.compile(
    r"(?<!\bdr)(?<!\b[mjs]r)(?<!\b[ms]s)(?<!\bmrs)(?<!\bst)(?<!\bvs)(?<!\b[a-z])[.!?…]+[\"'”’)]*(?=\s|$)"
    r"|;\s|[,\s](?:but|however|though|although)\b,?|。|(?<=[\u4e00-\u9fff])[,!?;]|[,!?;](?=[\u4e00-\u9fff])"
    r"|但是?|不过|然而"
)

# What may stand before the rest of a part, or be all of it.
_SOURCES = (
    r"(?:references?|documents?|contexts?|passages?|texts?|articles?|information|knowledge|data|excerpts?|snippets?"
    r"|search results|results|sources?|materials?|facts)"
)
_POLITE = re.compile(
    _any(
        r"(?:i'm|i am) afraid\b(?: that)?",
        r"(?:(?:i'm|i am|we're|we are) )?(?:very |so |truly )?sorry\b(?: about that| for (?:the|any) [\w ]+)?",
        r"(?:(?:i|we) apologi[sz]e|(?:my |our )?apologies)\b(?: for (?:the|any|not) [\w ]+)?",
        r"as an? [\w ]*\b(?:ai|language model|assistant)\b(?: (?:trained|developed|created) by \w+)?",
        r"(?:unfortunately|therefore|thus|so|and|hmm|well|currently|at this time|at the moment)\b",
        rf"(?:based on|according to|from|in|given) (?:the|these|my) [\w ]*\b{_SOURCES}(?: provided| given)?(?=,)",
        r"(?:非常|很|十分|实在)?(?:抱歉|对不起|不好意思|遗憾)|作为.*(?:模型|助手)|因此|所以|目前|暂时|我们?|也|并",
        r"(?:根据|基于|从|在).*(?:文档|资料|信息|内容|上下文|结果|文章|材料|知识)(?:中|里|来看)?$",
    )
    + r"[\s,:…-]*"
)

_FIND = _any(
    *("find(?! my)", "locate", "identify", "retrieve", "access", "determine", "verify", "confirm", "answer", "provide"),
    *("predict", "browse", "accurately", "definitively", "give you", "fulfill", "assist"),
    r"(?:tell|say)(?: you)? (?:what|who|which|when|where|how|for (?:sure|certain)|with certainty|exactly)",
)
_CANNOT = r"(?:can't|cannot|can not|could not|couldn't|(?:am|'m|was|were) (?:not able|unable) to|did not|didn't)"
_THING = r"(?:information|data|details|access|knowledge|context|records?|results?|answers?|ability|capability|idea)"
_ZH_THING = r"(?:信息|资讯|资料|内容|答案|结果|记录|数据|文档|线索)"
_ZH_SOURCES = r"(?:文档|资料|信息|资讯|内容|上下文|结果|文章|材料|原文|文本|段落|片段|背景|[文其]中)"
_TELL = (
    "(?:contain|provide|mention|include|specify|state|say|tell|indicate|give|list|reveal|answer|address|cover|discuss)"
)
_TOLD = (
    "(?:provided|mentioned|stated|given|specified|included|found|contained|addressed|covered|discussed|disclosed|available"
    "|present|clear|known|answered|determined|inferred|listed)"
)
_IS_NOT = r"(?:(?:is|are|was|were|has been|have been)(?: not|n't| never)|can(?: ?not|'t) be|could(?: not|n't) be)"
_ANSWER = (
    r"(?:it|(?:the|an?) (?:exact|precise|specific) (?:\w+ ){0,3}\w+|(?:(?:the|this|that|such|an?|any|relevant|requested"
    r"|correct|your) ){0,2}(?:answer|question|information|data|detail)s?(?: to (?:this|that|the|your) question)?)"
)
# Where it is not told: the end of a part, or the sources, which nothing follows that tells.
_THERE = rf"(?: (?:in|by|from|within|on|based on|among) (?:\w+ ){{0,4}}{_SOURCES}(?: (?:provided|given|above))?)"
_DECLINES = re.compile(
    _any(
        rf"(?:i|we) ?(?:have )?(?:currently )?{_CANNOT} (?:\w+ )?{_FIND}\b",
        rf"(?:i|we) (?:currently )?(?:do not|don't|did not|didn't) (?:currently )?(?:have|possess) .*\b{_THING}\b",
        r"i (?:do not|don't) know(?:$| (?:what|who|which|when|where|how|if|the|that|this)\b)|(?:i have )?no idea\b",
        r"i(?: am|'m)? (?:currently )?(?:not (?:aware|sure|certain|familiar)|unsure|uncertain|unaware)\b",
        rf"(?:i|we) (?:have|found) (?:no|not enough) (?:[\w-]+ ){{0,2}}{_THING}\b",
        r"(?:there (?:is|was) )?(?:no|not enough|insufficient) (?:[\w-]+ ){0,2}"
        r"(?:information|data|details|results|mention)"
        r"(?:$| (?:is |was |were )?(?:available|found|provided|given|about|of|on|regarding|for|in|to)\b)",
        rf"(?:the|these|this|my) (?:\w+ ){{0,2}}{_SOURCES} (?:\w+ )?(?:do|does|did)(?: not|n't) (?:\w+ )?{_TELL}\b",
        rf"(?:none of|nothing in|no|neither of) (?:the |these |my )?(?:\w+ ){{0,2}}{_SOURCES} (?:\w+ )?{_TELL}s?\b",
        # That something is not told, in the passive: of anything but the answer with the sources named.
        rf"(?:[\w'-]+ ){{1,9}}?{_IS_NOT} (?:\w+ ){{0,2}}{_TOLD}{_THERE}$",
        rf"{_ANSWER} (?:{_IS_NOT} (?:\w+ )?{_TOLD}(?:{_THERE}|$)|{_IS_NOT}{_THERE}$)",
        rf"(?:{_ANSWER} )?not (?:\w+ )?{_TOLD}(?:{_THERE}|$)",
        rf"(?:{_CANNOT}|(?:un|not )able to) (?:\w+ )?(?:be )?(?:{_FIND}|infer|tell)(?:e?d)?(?:{_THERE}|$)",
        rf"(?:(?:{_ANSWER}|that) (?:is|remains) )?"
        r"(?:unknown|unclear|undetermined|unspecified|unavailable|unanswerable|unsure|n\.?/?a\.?"
        r"|not (?:sure|certain|applicable))$",
        r"(?:no|not enough|insufficient) (?:\w+ )?(?:answer|response|context|info|knowledge)"
        r"(?:$| (?:available|found|provided|given)$)",
        # To make the question clear.
        r"(?:can|could|would) you (?:please |kindly )?(?:clarify|specify|rephrase|provide|tell|give|be more)\b",
        r"(?:please|kindly) (?:clarify|specify|rephrase|elaborate|be more specific)\b",
        r"(?:please|kindly) (?:provide|give|share) (?:\w+ ){0,2}(?:more|further|additional|context|details)\b",
        r"(?:i|we)(?: would|'d)? (?:need|require) (?:\w+ ){0,2}(?:information|context|details|clarification)\b",
        r"(?:which|what|who) (?:\w+ ){0,5}(?:are you (?:referring|asking|talking)|do you mean)\b",
        r"(?:are|were) you (?:referring|asking|talking)\b|do you mean\b",
        r"(?:the|your|this) question is (?:unclear|ambiguous|incomplete|not clear|too (?:vague|broad))",
        # An error of the system.
        r"\W*(?:(?:internal )?(?:system|server|network|api|unknown) error|error(?: code)?:? ?\d*|time-?out)\W*$",
        r"(?:an?|some) (?:\w+ )?error (?:has )?occurred|something went wrong|the request (?:has )?timed out",
        r"let's try a different topic",
        # Chinese: not known or found, not in the texts; to make the question clear; an error.
        r"(?:还|确实|现在|并)?(?:不知道|不清楚|不太清楚|不确定|不了解|不得而知|无从得知)|(?:答案)?(?:未知|不详|不明)$",
        r"(?:还|确实|现在)?(?:无法|不能)(?:准确|直接|确切)?"
        r"(?:找到|查到|确定|回答|作答|解答|提供|得知|判断|推断|知道|获取|获得|确认|给出|得出|访问|了解|从|根据|为您|基于|查证)",
        rf"(?:找不到|查不到|(?:没有?|未)能?(?:找到|查到|搜索到|查询到|检索到)|没有|缺乏|缺少|暂?无).*{_ZH_THING}",
        rf".{{0,12}}{_ZH_SOURCES}[中里]?(?:并|均|都|也)?(?:没有?|未)(?:明确|具体|直接)?"
        r"(?:提供|提到|提及|包含|说明|给出|涉及|写明|介绍)"
        r"|(?:没有|未)(?:提及|提到|提供|说明|找到)$|.{0,8}(?:信息|资讯|资料)不足",
        r"(?:(?:请|麻烦|能否|能不能|可否)(?:您|你)?|(?:您|你)(?:能否|可以|能))(?:再|具体|详细|明确|重新)*"
        r"(?:提供|补充|说明|澄清|告诉我|描述|提问)",
        r"(?:请问)?(?:您|你)(?:是指|指的是|说的是|想问的是)|(?:您|你)?的?问题(?:不明确|不清楚|不够明确|不够具体)",
        r"(?:系统|服务器|网络|接口)(?:错误|异常|出错|繁忙)|(?:请求|连接)超时|出错了|发生了?错误",
    )
)
# What a part may go on with that declines: then it guesses.
_GUESSES = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|likely|i (?:think|believe|guess|suppose|assume)|my (?:best )?guess"
    r"|the answer is|it(?: is|'s| was| might| may| could)|other than|except|besides|apart from)\b"
    r"|, (?:the|it|he|she|they|in|on)\b|除了|应该是|可能是|大概|估计"
)

# Advice where to look, and offers of help.
_ADVICE = re.compile(
    _any(
        r"(?:please|kindly) (?:check|consult|refer|try|visit|contact|see|let me know|feel free)\b",
        r"(?:it is|it's|it would be|it may be|i|i would|i'd) (?:always )?(?:best|recommend|suggest|advisable|better)",
        r"you (?:can|could|may|might|should|will) (?:\w+ ){0,4}(?:check|consult|search|look|visit|try|contact|refer)\b",
        r"if you (?:can|could|would|have|provide|give|let|want|need|like).*\bi (?:can|could|would|will|may|might)\b",
        r"(?:is there|do you have|would you like|how (?:else )?can i|what else|let me know)\b",
        r"(?:建议|推荐)|(?:请|(?:您|你)可以)(?:查阅|查看|参考|咨询|访问|关注|尝试|联系)|如果(?:您|你)|(?:会|将|很乐意).*帮",
    )
)


def declines(answer: str) -> bool:
    declined = False
    if len(answer) > _LONGEST:
        return False
    for part in _ENDS.split(fold(answer).casefold().translate(_SIMPLE)):
        rest = part.strip(" \"'”’)")
        while polite := _POLITE.match(rest):
            rest = rest[polite.end() :]
        if rest and not _ADVICE.match(rest):
            refusal = _DECLINES.match(rest)
            if not refusal or _GUESSES.search(rest, refusal.end()):
                return False
            declined = True
    return declined


CORRECT, INCORRECT, MISSING = "correct", "incorrect", "missing"
UNSURE, INVALID = "i don't know", "invalid"  # the protocol's
_UNSURE = re.compile(rf"{UNSURE}(?! ?\w)")
MAX_TOKENS = 75  # the challenge's, of Llama 2's tokenizer


def distinct(texts: Sequence[str]) -> list[str]:
    """Return accepted answers stripped and in order, each once whatever its case; blank ones are none."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(text.strip().lower(), text.strip())
    return [text for text in found.values() if text]


def settle(answer: str, golds: Sequence[str], profile: str) -> tuple[str, list[str]]:
    """Return the outcome where it needs no judge, else "" and the accepted answers to ask about.

    An answer that says `i don't know`, in any case, is missing; for "corrected" not where it goes on with what it does
    not know and then tells something. Of the accepted answers, an equal one (ignoring case) accepts, and so does one
    with `invalid` in it where the answer has it too; one of the two with `invalid` alone rejects. The others are open.

    Both are stripped. "official" knows the straight apostrophe alone and has an empty answer judged; "corrected"
    compares as folded, and takes for missing an empty answer, and one that only declines to answer.
    """

    def plain(text: str) -> str:
        return text.lower() if profile == "official" else fold(text).casefold()

    said = plain(answer)
    if profile == "official":
        missing = UNSURE in said
    else:
        missing = not said or bool(_UNSURE.search(said)) or (declines(said) and said not in map(plain, golds))
    if missing:
        return MISSING, []
    undecided: list[str] = []
    for gold in golds:
        accepted = plain(gold)
        both = (INVALID in said) + (INVALID in accepted)
        if said == accepted or both == 2:
            return CORRECT, []
        if not both:
            undecided.append(gold)
    return "" if undecided else INCORRECT, undecided


def trimmer(tokenizer: Any) -> tuple[Callable[[str], str], str]:
    """Return what cuts an answer to 75 tokens, by an object with `encode` and `decode`, and its name for the signature.

    The protocol encodes (which prepends BOS), keeps ids[1:76] and decodes. Whatever ids the tokenizer gives to the
    empty text too are left out here, so that a tokenizer without BOS loses no token.
    """
    if tokenizer is None:
        return str, "none"
    if not (callable(getattr(tokenizer, "encode", None)) and callable(getattr(tokenizer, "decode", None))):
        raise ValueError(f"tokenizer is {type(tokenizer).__name__}; expected an object with encode and decode")

    def ids(text: str) -> list[Any]:
        encoded = tokenizer.encode(text)
        return list(getattr(encoded, "ids", encoded))

    empty = ids("")

    def cut(text: str) -> str:
        tokens = ids(text)
        head = int(tokens[:1] == empty[:1])
        tail = empty[head:]
        if tail and tokens[-len(tail) :] == tail:
            tokens = tokens[: -len(tail)]
        return str(tokenizer.decode(tokens[head : head + MAX_TOKENS]))

    name = PurePath(getattr(tokenizer, "name_or_path", None) or type(tokenizer).__name__).name
    return cut, f"{name}-{MAX_TOKENS}"
