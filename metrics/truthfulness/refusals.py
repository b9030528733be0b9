# SPDX-License-Identifier: Apache-2.0
"""Whether an answer only declines to answer, in English or Chinese.

Section 4.1 of the paper calls an answer missing that says it does not know, apologises for not finding it, reports an
error, or asks to make the question clear. Here every part of the answer must do so, or be an apology, a disclaimer or
advice where to look: what goes on to tell or to guess anything is an answer, right or wrong, and is left to a judge.
The patterns are ours. It knows no accepted answer.
"""

import re

_LONGEST = 1_000  # characters; what is longer tells something


def _any(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


# Where a part ends: a sentence's end but no abbreviation's, a contrast; in Chinese a comma too.
_ENDS = re.compile(
    r"(?<!\bdr)(?<!\b[mjs]r)(?<!\b[ms]s)(?<!\bmrs)(?<!\bst)(?<!\bvs)(?<!\b[a-z])[.!?…]+[\"'”’)]*(?=\s|$)"
    r"|;\s|[,\s](?:but|however|though|although)\b,?|[。！？；，]|但是?|不过|然而"
)

# What may stand before the rest of a part, or be all of it.
_SOURCES = (
    r"(?:references|documents?|context|passages?|text|information|knowledge|search results|results|sources|facts)"
)
_POLITE = re.compile(
    _any(
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
_ZH_THING = r"(?:信息|资料|内容|答案|结果|记录|数据|文档|线索)"
_DECLINES = re.compile(
    _any(
        rf"(?:i|we) ?(?:have )?(?:currently )?{_CANNOT} (?:\w+ )?{_FIND}\b",
        rf"(?:i|we) (?:currently )?(?:do not|don't|did not|didn't) (?:currently )?(?:have|possess) .*\b{_THING}\b",
        r"i (?:do not|don't) know(?:$| (?:what|who|which|when|where|how|if|the)\b)|(?:i have )?no idea\b",
        r"i(?: am|'m)? (?:currently )?(?:not (?:aware|sure|certain|familiar)|unsure|uncertain|unaware)\b",
        rf"(?:i|we) (?:have|found) (?:no|not enough) (?:[\w-]+ ){{0,2}}{_THING}\b",
        r"(?:there (?:is|was) )?(?:no|not enough|insufficient) (?:[\w-]+ ){0,2}(?:information|data|details|results)"
        r"(?:$| (?:is |was |were )?(?:available|found|provided|given|about|on|regarding|for|in|to)\b)",
        rf"(?:the|these|my) (?:\w+ ){{0,2}}{_SOURCES} (?:\w+ )?(?:do|does|did)(?: not|n't) (?:\w+ )?"
        r"(?:contain|provide|mention|include|specify|state)\b",
        r"(?:not (?:sure|certain|found|available)|unsure|information (?:is )?not (?:available|found))$",
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
        r"(?:还|确实|现在)?(?:不知道|不清楚|不太清楚|不确定|不了解)",
        r"(?:还|确实|现在)?(?:无法|不能)(?:准确|直接|确切)?"
        r"(?:找到|查到|确定|回答|提供|得知|判断|知道|获取|获得|确认|给出|得出|访问|了解|从|根据|为您|基于)",
        rf"(?:找不到|查不到|(?:没有?|未)能?(?:找到|查到|搜索到|查询到|检索到)|没有|缺乏|无).*{_ZH_THING}",
        r".{0,12}(?:文档|资料|信息|内容|上下文|结果|文章|材料)中?(?:并|均|都|也)?(?:没有?|未)"
        r"(?:提供|提到|提及|包含|说明|给出|涉及)|.{0,8}(?:信息|资料)不足",
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


def declines(said: str) -> bool:
    """Whether an answer, in lower case with straight apostrophes and single spaces, only declines to answer."""
    declined = False
    if len(said) > _LONGEST:
        return False
    for part in _ENDS.split(said):
        rest = part.strip(" \"'”’)")
        while polite := _POLITE.match(rest):
            rest = rest[polite.end() :]
        if rest and not _ADVICE.match(rest):
            if not _DECLINES.match(rest) or _GUESSES.search(rest):
                return False
            declined = True
    return declined
