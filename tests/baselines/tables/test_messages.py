"""Messages, errors, help and lists in Chinese: whole, or in English as a whole."""

from __future__ import annotations

import argparse
import re
from functools import partial

import pytest
from chat_server import ChatServer, Rule

from quadrag import catalogue
from quadrag.baselines.tables.language import _LEAD, speak_line
from quadrag.commands.shared.parser import build_parser
from quadrag.progress import spelled_by

ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b")
RUN = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--labels", "zh")
SCORE = ("score", "mine.jsonl", *RUN[3:], "--benchmark", "rgb", "--config", "noise_robustness_en")


def told(ran):
    """The one line that ended a command, which has no English but what is quoted."""
    assert ran.code == 2 and ran.err.startswith("quadrag: ") and ran.err.count("\n") == 1, ran
    line = ran.err.removeprefix("quadrag: ").rstrip("\n")
    assert not line.startswith(_LEAD) and not ENGLISH.search(re.sub("“.*?”|`.*?`|quadrag [a-z]+", "", line)), line
    return line


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ((*RUN[:3], "--data-dir", "x", *RUN[5:]), "没有文件夹“x”；其中应有 rgb 的文件，或是其作者仓库的根文件夹"),
        (("run", "rbg", "x", "--labels", "zh"), "没有名为“rbg”的基准；最接近的：rgb、crag"),
        (
            (*RUN, "--split", "judge"),
            "noise_robustness_en 没有名为“judge”的划分；可用的：noise_0、noise_20",
        ),
        ((*RUN, "--option", "x=1"), "rgb 没有名为“x”的选项；可用的：passage_num"),
        (("run", "--recipe", "rgb-table1-x", "--labels=zh"), "没有名为“rgb-table1-x”的配方；最接近的：rgb-table1"),
        ((*RUN, "--limt", "1"), "未知的参数“--limt”；最接近的：--limit、--split；见 quadrag run --help --labels zh"),
        ((*RUN, "--limit", "0"), "参数 --limit：“0”不是从 1 起的整数；见 quadrag run --help --labels zh"),
        ((*RUN, "--format", "xml"), "参数 --format：“xml”不可用，可选："),
        (("score", "--labels", "zh"), "缺少参数：FILE；见 quadrag score --help --labels zh"),
        (("rnu", "--labels", "zh"), "没有名为“rnu”的命令；也许是 run；见 quadrag --help --labels zh"),
        (
            (*RUN, "--llm", "gpt-4o"),
            "模型“gpt-4o”只写了名称，没有写在哪里提供；应为 https://api.openai.com/v1#gpt-4o，",
        ),
        ((*RUN, "--judge", "http://h/v1#m"), "rgb noise_robustness_en 这样运行时没有指标需要裁判；请去掉 --judge"),
        ((*RUN, "--temperature", "1"), "--temperature 是聊天模型的选项，而抽取基线不是；请用 --llm 写出一个，或去掉它"),
        ((*RUN, "--fresh"), "--fresh 用于请求模型时，而这里没有模型；请去掉它"),
        (
            (*RUN, "--rag", "http://h/rag", "--timeout", "2"),
            "--timeout 用于请求模型时，而这里没有模型；服务的时限是 --rag-timeout",
        ),
        (("report", "no", "--labels", "zh"), "no 中没有 run.json；应为一次运行的文件夹"),
        (("view", "no", "--labels", "zh"), "no 中没有 run.json；应为一次运行的文件夹"),
        (
            ("kg", "build", "no", "kg.sqlite", "--labels", "zh"),
            "“no”中没有文件夹 finance、movie、music、open、sports 中的任何一个；应为上游",
        ),
        (
            ("construct", "review", "no", "--labels", "zh"),
            "no 没有 construct.json；应为 `quadrag construct` 所制的数据集",
        ),
        (("label", "no", "--labels", "zh"), "请用 --out 写出新的标注表，或用 --people 收回一个"),
        (("--limit", "1", *RUN), "--limit 写在了命令之前；请写在命令之后；见 quadrag --help --labels zh"),
        (("--labels", "zh", "list", "no"), "没有名为“no”的基准；可用的：crag、crud_rag、omnieval、rgb"),
        (("recall", "--labels", "zh"), "缺少参数：BENCHMARK、CONFIG；见 quadrag recall --help --labels zh"),
        (("prepare", "no", "--labels", "zh"), "没有名为“no”的基准；可用的：crag、crud_rag、omnieval、rgb"),
        ((*RUN, "--llm", "127.0.0.1:8080"), "模型中的“127.0.0.1:8080”不是服务器的基础地址；应为 http://host:port"),
        (("list", "no", "--labels", "zh"), "没有名为“no”的基准；可用的：crag、crud_rag、omnieval、rgb"),
    ],
)
def test_bad_input_is_told_in_chinese(cli, typed, line):
    assert told(cli(*typed)).startswith(line)


@pytest.mark.parametrize(
    ("held", "line"),
    [
        (None, "没有 mine.jsonl；应为回答文件，或日志文件夹"),
        ("", "mine.jsonl 是空的；应每行一个回答"),
        ('{"id": 1\n', "mine.jsonl:1 不是 JSON（“Expecting ',' delimiter”）；应为 JSON Lines，每行一个对象"),
        (
            '{"id": 1',
            "mine.jsonl:1 不是 JSON（“Expecting ',' delimiter”）；应为 JSON Lines，每行一个对象；"
            "文件在这一行中途结束：请重新复制",
        ),
        (
            '{"a": 1, "judge": 2}',
            "mine.jsonl:1 没有 id，也没有 answer；找到的键是“a”、“judge”；"
            '应为每行一个对象，如 {"id": ..., "answer": ...}',
        ),
        (
            '{"id": "z z z", "answer": ""}',
            "mine.jsonl:1：noise_robustness_en 中没有 id“z z z”；这里的数据是自带样例，用 --data-dir 写出别的数据；"
            "id 应为 `quadrag questions` 给出的",
        ),
        ('{"id": "0", "answer": 3}', "mine.jsonl:1：answer 是整数 3；应为字符串，失败的请求写 null"),
    ],
)
def test_a_bad_file_of_answers_is_told_in_chinese(cli, tmp_path, held, line):
    if held is not None:
        (tmp_path / "mine.jsonl").write_text(held, encoding="utf-8")
    assert told(cli(*SCORE)) == line


def test_a_mistyped_language_is_told_in_both(cli):
    english = "argument --labels: invalid choice: 'cn' (choose from 'en', 'zh'); see quadrag list --help"
    chinese = "参数 --labels：“cn”不可用，可选：“en”、“zh”；见 quadrag list --help --labels zh"
    assert cli("list", "--labels", "cn").err == f"quadrag: {english} / {chinese}\n"


def test_a_part_that_is_left_in_english_is_marked():
    for line in ("no has no x; expected what is of the y", "a b has c; leave it out"):
        assert speak_line(line, "zh") == f"{_LEAD}{line}"


def test_what_a_server_says_is_quoted(cli):
    run = (*RUN, "--split", "noise_60", "--limit", "1", "--ledger", "l")
    words = "Bad key. Find one at x; or ask."
    with ChatServer(models=["m", "n"]) as server:
        for status, then in (
            (401, "请求时没有密钥；请把 QUADRAG_API_KEY、OPENAI_API_KEY 或 HF_TOKEN 设为有效的密钥"),
            (404, "没有模型“m”，或没有 /chat/completions；请改正模型的写法（服务器提供：m、n）"),
            (400, "请改正请求的参数"),
        ):
            server.rules[:] = [Rule("status", status=status, body={"error": {"message": words}})]
            line = told(cli(*run, "--llm", f"{server.url}#m", "--out", "a"))
            assert line == f"第一次请求失败：{server.url} 返回 {status}：“{words}”；{then}"
        server.rules.clear()
        line = told(cli(*run, "--llm", f"{server.url}#o"))
        assert line.startswith(f"{server.url} 提供的是 m、n，没有 o；请写 {server.url}#m（或 #n）；--served-as NAME ")
        assert told(cli(*run, "--llm", server.url)).endswith(" 有 2 个模型（m、n）；请在地址后加上 #MODEL")
        assert cli(*run, "--llm", f"{server.url}#m", "--out", "a").code == 0
        assert told(cli(*run, "--llm", f"{server.url}#n", "--out", "a")).startswith(
            "a 中是另一次运行，其 llm 为“m”，不是“n”；请用 --out 换一个文件夹，或删除它"
        )


@pytest.mark.parametrize(
    ("line", "chinese"),
    [
        (
            "first, every: PARTIAL: the first 3 of 12 questions.",
            "first、every：不完整：只问了 12 题中的前 3 题。",
        ),
        (
            "first: rgb_en noise_80: 1 of 12 items failed (1 raised), they count as wrong: accuracy.",
            "first：rgb_en noise_80：12 题中有 1 题失败（函数抛出异常 1），计为错误：accuracy。",
        ),
        (
            "option gold is of the corpus, and the function searches that itself; give it to quadrag.corpus alone",
            "选项 gold 属于语料，由函数自己检索；只把它交给 quadrag.corpus",
        ),
        (
            "the function returned a list of 2 results; expected a list of 3, a result for each question; no more are "
            "asked, and earlier answers are kept; correct the function and run again",
            "函数返回了 2 个结果，类型是 list；应为 3 个结果的 list，每题一个；不再提问，已有的回答都保留；"
            "请改正函数后再次运行",
        ),
        (
            'the first 8 calls all failed: the reply cannot be read (http://h/rag): it has no "answer"; found the keys '
            'a, b; expected {"answer": "...", "passages": [...]}, see docs/own-system.md',
            "最初的 8 次请求全部失败：回复读不懂（http://h/rag）：其中没有“answer”；找到的键是 a、b；"
            '应为 {"answer": "...", "passages": [...]}，见 docs/own-system.zh.md',
        ),
        (
            "the first 8 calls all failed: http://h/rag answered 404: Not Found; correct the address, which is asked "
            "as it stands; a service of the JSON form is typed with its whole address, as --rag http://HOST:PORT/rag",
            "最初的 8 次请求全部失败：http://h/rag 返回 404：“Not Found”；请改正地址（请求时原样使用）；"
            "JSON 形式的服务要写完整地址，如 --rag http://HOST:PORT/rag",
        ),
    ],
)
def test_what_is_met_first_is_wholly_in_chinese(line, chinese):
    assert speak_line(line, "zh") == chinese


def test_a_line_without_chinese_is_english_as_a_whole():
    line = "no words are here for this; leave it out"
    assert speak_line(line, "zh") == speak_line(speak_line(line, "zh"), "zh") == f"{_LEAD}{line}"
    assert speak_line(line, "en") == line


def test_a_dead_server_is_told_in_chinese():
    line = "the first 9 calls all failed: http://h/v1: Connection refused; start the server or correct its address"
    assert speak_line(line, "zh") == "最初的 9 次请求全部失败：http://h/v1：连接被拒绝；请启动服务器，或改正其地址"


@pytest.mark.parametrize(
    ("line", "chinese"),
    [
        (
            "the judge judge does not answer: the first 8 calls all failed: http://h/v1: [Errno -2] "
            "Name or service not known; start the server or correct its address; score again with a judge that does",
            "裁判“judge”没有应答：最初的 8 次请求全部失败：http://h/v1：域名无法解析（Errno -2）；"
            "请启动服务器，或改正其地址；请换一个有应答的裁判重新评分",
        ),
        (
            "INVALID, acc: 3 of 3 items failed (3 null): the judge's verdict could not be read; "
            "result.invalid says more",
            "无效（INVALID）：acc：3 题中有 3 题失败（3 题的回答为 null）：裁判的判断读不懂；详见 `result.invalid`",
        ),
        (
            "INVALID, a b: 4 of 4 items failed (4 unparsable): acc, hal; returned a list of 1 results; "
            "expected a list of 4.",
            "无效（INVALID）：a b：4 题中有 4 题失败（读不懂 4）：acc、hal；返回了 1 个结果，"
            "类型是 list；应为 4 个结果的 list。",
        ),
        (
            "the first 8 calls of the function all failed, and no more are made; the first: returned a tuple; expected "
            "an answer as a text, (answer, passages), or a dictionary with answer and, if any, passages; correct the "
            "function and run again",
            "函数最初的 8 次调用全部失败，不再调用；第一次返回了 tuple；应为文本形式的回答、(answer, passages)，"
            "或含 answer（及可能的 passages）的字典；请改正函数后再次运行",
        ),
        ("unparsable: passages are a str; expected a list", "读不懂：片段的类型是 str；应为 list"),
        ("raised: ValueError: all, no; x. (f, b.py:4)", "函数抛出异常：“ValueError: all, no; x. (f, b.py:4)”"),
        (
            "x.csv holds no row; expected a line of names (id and label) and a row for each item",
            "x.csv 中没有行；应先有一行栏名（id 与 label），再每题一行",
        ),
        (". lacks a.json, which rgb qa needs", ". 中缺少 a.json，而 rgb qa 需要它"),
        (
            "f.txt is a file; expected a folder for the run, name another with --out",
            "f.txt 是文件；应为运行的文件夹，请用 --out 换一个",
        ),
        ("5 of 12 answers are kept ones; --fresh asks anew", "12 个回答中有 5 个是已存的；--fresh 重新提问"),
        ("All 12 answers are kept ones; --fresh asks anew", "全部 12 个回答都是已存的；--fresh 重新提问"),
        (
            "f() cannot be called with one question alone; expected one argument",
            "不能只用一个问题调用 f()；它应接受一个参数",
        ),
        ("nothing to compare: A is rgb a b; B is crag c, d", "没有可比较的：A 为 rgb a b；B 为 crag c、d"),
        ("lacking qa in d/s.json (it holds summary)", "缺少 d/s.json 中的 qa（其中有 summary）"),
        ("unparsable: the judge's verdict could not be read", "裁判的判断读不懂"),
        ("http://h answered 500: 错误 (after 5 retries)", "http://h 返回 500：“错误”（重试 5 次后）"),
        ("unknown argument of f 'profil'; nearest: profile", "f 没有名为“profil”的参数；最接近的：profile"),
        ("corrected profile", "修正口径"),
        ("AttributeError: 'list' object has no attribute 'a'", "“AttributeError: 'list' object has no attribute 'a'”"),
        (
            "b: INVALID, c d: up to 2 of 2 items failed (2 unparsable): m; a judge said '!', where a verdict is like "
            "'1': name another judge, or ask this one again with --retry unreadable.",
            "b：无效（INVALID）：c d：2 题中至多有 2 题失败（读不懂 2）：m；裁判说“!”，而判断应形如“1”："
            "换一个裁判，或用 --retry unreadable 重新请求。",
        ),
        (
            "the first 8 calls all failed: http://h/s: the reply is no JSON ('x'); expected {}, see docs/own-system.md",
            "最初的 8 次请求全部失败：http://h/s：回复不是 JSON（“x”）；应为 {}，见 docs/own-system.zh.md",
        ),
        (
            "http://h/d cannot be fetched (AnError: it has no d); run again later, or name a folder of its files by d",
            "无法取得 http://h/d（“AnError: it has no d”）；请稍后再次运行，或用 d 写出其文件所在的文件夹",
        ),
        ("cannot fetch http://h/f (ReadError after 0 bytes)", "无法下载 http://h/f（收到 0 字节后 ReadError）"),
        (
            "The answers have `contexts`, which is not read: passages belong under `passages`; "
            "retrieval is not measured.",
            "回答中有 `contexts`，未被读取：片段应放在 `passages` 之下；未评测检索。",
        ),
    ],
)
def test_a_sentence_is_wholly_in_chinese(line, chinese):
    assert speak_line(line, "zh") == chinese


def test_names_in_a_message_are_kept():
    line = "judge/run has no id; found the keys judge, run, data"
    assert speak_line(line, "zh") == "judge/run 没有 id；找到的键是 judge、run、data"
    line = "3 kept replies in /l are of 2 other servers and not used, since this one may reply otherwise"
    ours = "/l 中已存的回复有 3 条来自另外 2 台服务器，没有使用，因为这一台的回复可能不同"
    assert speak_line(line, "zh") == ours
    assert speak_line("qa: answers: 3 of 9, 50 tokens, 0.1 of 2 USD", "zh") == (
        "qa 的回答：3/9，50 token，预算 2 USD 中的 0.1"
    )


def every_parser(parser):
    yield parser
    for action in parser._actions:
        for inner in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from every_parser(inner)


def test_help_of_every_command_is_in_chinese_and_fits_the_terminal(monkeypatch):
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", "80")
    with spelled_by(partial(speak_line, language="zh")):
        spoken = {one.prog: one.format_help().partition("示例：")[0] for one in every_parser(build_parser("0"))}
    assert {"quadrag", "quadrag construct review", "quadrag kg serve"} < {*spoken} and len(spoken) > 25
    for text in spoken.values():
        assert text.startswith("用法：") and "选项：\n" in text and _LEAD not in text
        lines = text[text.index("\n\n") :].split("\n")
        assert [line for line in lines if cell_len(line) > 80 or ENGLISH.search(re.sub("`.*?`", "", line))] == []
        titles = [line for line in lines if line[:1].strip() and line.endswith((":", "："))]
        assert [line for line in titles if not re.search("[\u4e00-\u9fff]：$", line)] == []
    assert "usage: " in build_parser("0").format_help()


def test_the_list_is_in_chinese(cli):
    whole = cli("list", "--labels", "zh").out + "".join(
        cli("list", name, "--labels", "zh").out for name in catalogue.benchmarks()
    )
    assert "配置与划分" in whole and "  条数      " in whole and _LEAD not in whole
    assert [line for line in re.sub("`.*?`", "", whole).split("\n") if ENGLISH.search(line)] == []
