"""What Python shows in Chinese: a result, its page and HTML, a comparison, warnings and errors."""

import re

import pytest

import quadrag
from quadrag.baselines.tables.language import MARKS
from quadrag.cli import main

RGB = ("rgb", "noise_robustness_en")
ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b")


def measure(system, **more):
    return quadrag.evaluate(*RGB, system, split="noise_80", data_dir="sample", labels="zh", **more)


def first(question):
    if question.id == "3":
        raise TimeoutError("30 s; no reply")
    return question.passages[0].text


def every(question):
    return " ".join(passage.text for passage in question.passages)


def test_a_result_and_a_comparison_are_in_chinese(capsys):
    before = measure(first, out="a")
    measure(every, out="b")
    lines = repr(before).split("\n")
    assert lines[0] == "rgb noise_robustness_en noise_80，first，官方口径" and "- 网页：a/report.html" in lines
    assert any(
        line.startswith("- 失败的回答：1 个（第一个，noise_robustness_en/noise_80/3/0：“Timeout") for line in lines
    )
    assert ">指标</th><th>数值</th>" in before._repr_html_()
    both = quadrag.compare(before, "b")
    assert repr(both).startswith("every 在 accuracy 上更好：+100.0 个百分点（95% 区间")
    assert (
        "\n比较：every 减 first，noise_robustness_en noise_80\n" in repr(both) and "<th>结论</th>" in both._repr_html_()
    )
    assert re.fullmatch(r"accuracy 0\.0%（95% 区间 .*），n 11/12", str(before["accuracy"])), "so is one score"
    line = r"accuracy \+100\.0 个百分点（95% 区间 .* 至 .*），n 11，p < 0\.001：更好"
    assert re.fullmatch(line, str(both["accuracy"])), "and one difference"
    assert both["accuracy"] == quadrag.compare("a", "b", labels="en")["accuracy"], "in any language"
    capsys.readouterr()
    for show in (before.show, both.show):
        show(verbose=True)
    before.show(wrong=True, limit=1)
    both.show(better=True, limit=1)
    shown = capsys.readouterr().out
    assert "自带样例" in shown and "问题      " in shown and "标准答案" in shown and "最低的 1 题" in shown
    tables = [line for line in shown.split("\n") if not line.startswith(("  ", " A", " B"))]
    assert [line for line in tables if ENGLISH.search(re.sub("“.*?”", "", line))] == []
    page = both.report("both.html").read_text(encoding="utf-8")
    assert 'lang="zh-CN' in page and "逐题比较 every 与 first" in page
    assert repr(quadrag.result("a")).startswith("rgb noise_robustness_en noise_80, first, official profile")
    assert repr(quadrag.result("a", labels="zh")) == repr(before)
    said = refusal(lambda: quadrag.result("a").show(labels="zh"))
    assert said.startswith("unknown argument of show 'labels'; known: "), "it has no such argument to go by"


def judge(question):
    return "x", [{"id": "p1", "text": "短"}]


def value(question):
    return question.query, [{"id": "p2", "text": "不在语料里的一段话，" * 9}]


def test_names_that_read_as_our_words_stay_and_so_does_what_is_said_of_them():
    results = [
        quadrag.evaluate("omnieval", "extractive_qa", one, data_dir="sample", limit=6, labels="zh", out=one.__name__)
        for one in (judge, value)
    ]
    assert repr(results[0]).startswith("omnieval extractive_qa auto，judge，官方口径\n")
    both = quadrag.compare(*results)
    shown = re.sub(r"\n(?! )", "", repr(both))
    assert "比较：value 减 judge，extractive_qa auto" in shown and "逐题比较 value 与 judge：" in shown
    assert "judge：未评测检索：系统给出的编号和文本都不属于标准文档；其编号如“p1”" in shown
    page = both.report("both.html").read_text(encoding="utf-8")
    assert "逐题比较 value 与 judge" in page and not {*MARKS} & {*page, *repr(both), *repr(results[0])}
    english = quadrag.compare("judge", "value", labels="en")
    assert "Comparison: value minus judge, " in repr(english) and not {*MARKS} & {*repr(english)}


def refusal(call):
    with pytest.raises(quadrag.QuadragError) as caught:
        call()
    return str(caught.value)


def half(question):
    return first(question) if int(question.id) % 2 else question.missing


def test_errors_and_warnings_are_in_chinese():
    said = refusal(lambda: quadrag.evaluate("rgb", "x", every, labels="zh"))
    assert said.startswith("rgb 没有名为“x”的配置；可用的：noise_robustness_en、")
    assert refusal(lambda: measure(every, x=1)).startswith("evaluate 没有名为“x”的参数；可用的：benchmark、config")
    said = refusal(lambda: measure(every, name="n", retry="failed"))
    assert said.startswith("runs/rgb-noise_robustness_en-noise_80-n 中没有可以重试的运行；请用 out=... ")
    said = refusal(lambda: quadrag.evaluate("crag", "task_1_2", every, judge=every, labels="zh"))
    assert said.endswith('，或几个这样的地址；要用函数作裁判，请用 evaluate.load("truthfulness")')
    said = refusal(lambda: measure(lambda question: 1 / 0, out="c"))
    assert said.startswith("函数最初的 8 次调用全部失败，不再调用；第一次：“ZeroDivisionError: ")
    said = refusal(lambda: measure(every, out="d", judge="http://127.0.0.1:9/v1#m"))
    assert said == "rgb noise_robustness_en 这样运行时没有指标需要裁判；请去掉 judge="
    said = refusal(lambda: quadrag.questions("rgb", "x", labels="zh"))
    assert said.startswith("rgb 没有名为“x”的配置；可用的：noise_robustness_en、")
    head, *_, last = repr(quadrag.questions(*RGB, split="noise_80", data_dir="sample", labels="zh")).splitlines()
    assert (head, last) == ("rgb noise_robustness_en：12 题（noise_80 12）：", "  ……另有 2 题")
    assert refusal(lambda: quadrag.corpus("crud_rag", data_dir="sample", labels="zh")[0]).startswith("语料按顺序读取：")
    said = refusal(lambda: quadrag.corpus("rgb", labels="zh"))
    assert said == "rgb 没有语料；其片段随问题给出"
    assert refusal(lambda: quadrag.result("no", labels="zh")) == "no 中没有 run.json；应为一次运行的文件夹"
    said = "unknown value of labels 'cn'; known: en, zh / labels 不能取值“cn”；可用的：en、zh"
    assert refusal(lambda: quadrag.result("no", labels="cn")) == said
    with pytest.warns(UserWarning, match="^无效（INVALID）："):
        result = measure(half, out="e")
    assert "无效（INVALID）：" in repr(result)
    assert (
        refusal(lambda: quadrag.compare([result])) == "compare 接受的是各个评测，而不是它们的 list；请写 compare(*runs)"
    )
    assert refusal(lambda: quadrag.compare(result, result)) == "没有可比较的：e 写了两次；请换一个"
    assert refusal(lambda: quadrag.compare(result, "./e/../e")) == "没有可比较的：e 与 e/../e 是同一个；请换一个"
    assert "题中有" in result.invalid[0] and "题失败" in result["accuracy"].reason
    assert refusal(lambda: result.report("e")) == "用不了 e（这是一个文件夹）；请换一个位置"
    said = "wrong 与 unscored 都说明要显示哪些题；请去掉其一"
    assert refusal(lambda: result.show(wrong=True, unscored=True)) == said
    said = "metric='zzz' 说明要显示哪些题；请同时给出 wrong=True 或 unscored=True"
    assert refusal(lambda: result.show(metric="zzz")) == said
    assert refusal(lambda: measure(every, out=5)) == "out 的值为 5；应为文件夹的路径"
    assert refusal(lambda: measure(every, batch_size="4")) == "batch_size 的值为“4”；应为从 1 起的整数，或 None"
    with pytest.raises(KeyError, match="没有名为 3 的分数；可用的：accuracy"):
        result[3]
    with pytest.raises(KeyError, match="没有名为“acc”的分数；最接近的：accuracy"):
        result["acc"]
    said = refusal(lambda: measure(lambda question: None, out="f"))
    assert said.startswith("函数最初的 8 次调用全部失败，不再调用；第一次返回了 None；应为文本形式的回答、")
    assert refusal(lambda: result.to_pandas(by="x")) == "by 不能取值“x”；可用的：question、metric"


def test_the_environment_names_the_language(monkeypatch, capsys):
    monkeypatch.setenv("QUADRAG_LABELS", "zh")
    assert refusal(lambda: quadrag.result("no")) == "no 中没有 run.json；应为一次运行的文件夹"
    result = quadrag.evaluate(*RGB, every, split="noise_80", data_dir="sample", out="a")
    assert repr(result).split("\n")[0] == "rgb noise_robustness_en noise_80，every，官方口径"
    assert repr(quadrag.result("a")) == repr(result) != repr(quadrag.result("a", labels="en"))
    capsys.readouterr()
    assert main(["report", "a"]) == 0
    shown = capsys.readouterr().out
    assert "官方口径" in shown and "--labels" not in shown
    assert main(["report", "no"]) == 2 and "应为" in capsys.readouterr().err
    assert main(["report", "no", "--labels", "en"]) == 2 and "expected" in capsys.readouterr().err
    monkeypatch.setenv("QUADRAG_LABELS", "cn")
    said = "unknown value of QUADRAG_LABELS 'cn'; known: en, zh / QUADRAG_LABELS 不能取值“cn”；可用的：en、zh"
    assert main(["report", "a"]) == 2 and capsys.readouterr().err == f"quadrag: {said}\n"
    assert refusal(lambda: quadrag.result("no")) == said
