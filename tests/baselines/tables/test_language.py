"""Tables, their notes and the page in Chinese: nothing that a run of any benchmark says is left in English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quadrag import catalogue
from quadrag.baselines.report.all import tabulate_all
from quadrag.baselines.report.summary import headline_all, summarise_run
from quadrag.baselines.retrieval.registry import RETRIEVERS
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.chinese import phrases
from quadrag.baselines.tables.grid import Alarm, Cell, Grid, Line
from quadrag.baselines.tables.language import speak, speak_grid, speak_note, speak_title
from quadrag.baselines.tables.names import keep_name
from quadrag.catalogue import metrics
from quadrag.metric_record import metric_record

HAN = re.compile("[\u4e00-\u9fff]")
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")  # three words of it
CHINESE = phrases.read_phrases().whole
SLOT = re.compile(r"({\d})")
# Chinese beside other letters without a blank, or a blank within Chinese or beside a mark of it.
ILL_SPACED = re.compile(
    r"[\u4e00-\u9fff][A-Za-z0-9`]|[A-Za-z0-9`%][\u4e00-\u9fff]|[\u4e00-\u9fff] [\u4e00-\u9fff]"
    r"|[，。；：？！、（）“”] | [，。；：？！、（）“”]|[\u4e00-\u9fff][,;:?!]"
)


def left_over(notes):
    """What of some notes is left in English."""
    ours = [re.sub("`.*?`", "", speak(note, "zh")) for note in notes if not note.startswith("?")]
    return [note for note in ours if not HAN.search(note) or ENGLISH.search(note)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    [
        ("rgb", "--all"),
        ("crag", "task_1_2"),
        ("crud_rag", "summary", "--limit", "4"),
        ("omnieval", "all", "--limit", "30"),
    ],
    ids=lambda run: run[0],
)
def test_every_note_of_every_benchmark_is_in_chinese(cli, run):
    assert cli("run", *run, "--data-dir", "sample", "--out", "r").code == 0
    runs = read_runs(["r"])
    [(_, results)] = runs
    grids = [*tabulate_all(runs), headline_all(results), summarise_run(results[0], "official")]
    notes = dict.fromkeys(note for grid in grids for note in grid.notes)
    assert len(notes) > 4 and left_over(notes) == []
    shown = cli("report", "r", "--labels", "zh", "--html", "zh.html")
    page = Path("zh.html").read_text(encoding="utf-8")
    assert shown.code == 0 and "百分数" in shown.out + page and HAN.search(shown.out)
    assert "这些数字没有评测意义" in page and "<dt>命令</dt>" in page and "Percent" not in page


@pytest.mark.slow
def test_a_comparison_is_in_chinese(cli):
    for name, limit in (("a", "9"), ("b", "8")):
        assert cli("run", "crag", "task_1_2", "--data-dir", "sample", "--limit", limit, "--out", name).code == 0
    [grid] = tabulate_all(read_runs(["a", "b"]))
    assert len(grid.notes) > 4 and left_over(grid.notes) == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "B against A, question by question: f1 0 better, 0 worse, 60 equal; em 5 better, 0 worse, 55 equal.",
            "逐题比较 B 与 A：f1 更好 0，更差 0，相同 60；em 更好 5，更差 0，相同 55。",
        ),
        (
            "Not decided on f1: +2.1 points over all 5 splits, which may be chance (95% -0.6 to 3.1; p 0.034; on the 6 "
            "questions that both scored). The rest: better on em, acc; worse on hal.",
            "f1 上未分高下：全部 5 个划分合计 +2.1 个百分点，可能出于偶然（95% 区间 -0.6 至 3.1；p 0.034；"
            "在两次都有分的 6 题上）。其余：em、acc 更好；hal 更差。",
        ),
        (
            "v2 is worse on em: -2.1 points (95% -3.1 to -0.6; p < 0.001). But corrected, the other profile, says the "
            "opposite: v2 is better, +3.0 points (95% 1.0 to 4.0; p 0.002).",
            "v2 在 em 上更差：-2.1 个百分点（95% 区间 -3.1 至 -0.6；p < 0.001）。但另一口径（修正）的结论相反："
            "v2 更好，+3.0 个百分点（95% 区间 1.0 至 4.0；p 0.002）。",
        ),
        (
            "To show differences of this size would probably take: about 980 more questions, but only 800 are left "
            "(f1); a few more questions (em); more than 1,000,000 questions (acc).",
            "要看出这样大的差别，大概还需要：约 980 题，但该划分只剩 800 题（f1）；几题（em）；"
            "1,000,000 题以上（acc）。",
        ),
        (
            "em: corrected, the other profile, does not decide: -2.0 points, which may be chance (95% -3.1 to 1.1; p "
            "0.213).",
            None,
        ),
        (
            "calls: 15 made, 0 kept replies used; judge 2 made (1 tried again), 3 kept replies used",
            "请求：发出 15 次，用了 0 条已存回复；裁判：发出 2 次（重试 1 次），用了 3 条已存回复",
        ),
        (
            "A: a, m; on: bundled sample. The system gave 64 passages, to 8 questions. Settings of its own: judge j.",
            "A：a、m；数据：自带样例。系统给出 64 个片段，涉及 8 题。此次运行独有的设置：裁判 j。",
        ),
        (
            "a b: 1 of 4 verdicts could not be read, they count as wrong: acc.",
            "a b：4 个判断中有 1 个读不懂，计为错误：acc。",
        ),
        (
            "INVALID, a b: 67 of 99 items failed (67 null): x; the file of answers has null in their place: answer "
            "these and score again, or allow a share of them with --max-failed.",
            "无效（INVALID）：a b：99 题中有 67 题失败（67 题的回答为 null）：x；回答文件中这些题为 null：请补上回答后"
            "重新评分，或用 --max-failed 允许一部分失败。",
        ),
        (
            "INVALID, a b: 7 of 9 items failed (7 raised): x; correct the function and run again with "
            'retry="failed", or allow a share of them with --max-failed; ValueError: no; x.',
            "无效（INVALID）：a b：9 题中有 7 题失败（函数抛出异常 7）：x；请改正函数后用 "
            'retry="failed" 再次运行，或用 --max-failed 允许一部分失败；“ValueError: no; x”。',
        ),
        (
            "1 of 2 questions on which v2 is worse by rouge_l; 8 scored in both.",
            "v2 的 rouge_l 有 2 题更差，显示 1 题；两次都有分的共 8 题。",
        ),
        ("B minus A: em: on the 6 questions that both scored; 2 failed in B.", None),
        (
            "13 of 15 (official) judged, 2 decided by rule: truthfulness.",
            "15（官方）题中 13 题由裁判判断，2 题按规则决定：truthfulness。",
        ),
        (
            "Judged + decided by rule, truthfulness, accuracy: LLM only (4 + 11 of 15, corrected 1 + 14); Task 3 (2 + "
            "0 of 2).",
            "裁判判断 + 按规则决定，truthfulness、accuracy：仅用模型（15 题中 4 + 11，修正 1 + 14）；"
            "任务 3（2 题中 2 + 0）。",
        ),
        ("Judged and scored, RAGQuestEval recall: summary test, qa_1doc test (2 of 8); qa_2doc test (1 of 8).", None),
        *((f"{metric_record(name).ruled}.", None) for name in metrics() if metric_record(name).ruled),
        (
            "The 3 verdicts of the judge j are the same, acc 1, nac not applicable: too few to tell whether it says so "
            "of any answer; ! marks what rests on them.",
            None,
        ),
        (
            "The judge j gives acc 1 to 117 of 120 answers; words alone find them 12% right on average (rouge_l): see "
            "who is right with `quadrag label`, then `quadrag certify-judge`.",
            "裁判“j”对 120 个回答中的 117 个判 acc 1；只按字面，平均 12% 正确（rouge_l）："
            "请用 `quadrag label` 标注后再用 `quadrag certify-judge` 看谁对。",
        ),
        (
            "The judge j calls 58 of 60 answers right; 2 of 60 are right by words alone (accuracy_bounded): see who is "
            "right with `quadrag label`, then `quadrag certify-judge`; ! marks what rests on them.",
            "裁判“j”把 60 个回答中的 58 个判为对；只按字面，60 个中有 2 个正确（accuracy_bounded）："
            "请用 `quadrag label` 标注后再用 `quadrag certify-judge` 看谁对；依据这些判断的数值后标有 !。",
        ),
        (
            "The judge j gives acc 0 to 5 of 6 answers that hold an accepted answer word for word: see who is right "
            "with `quadrag label`, then `quadrag certify-judge`; ! marks what rests on them.",
            "有 6 个回答按字面含有可接受的答案，裁判“j”却对其中 5 个判 acc 0：请用 `quadrag label` 标注后再用 "
            "`quadrag certify-judge` 看谁对；依据这些判断的数值后标有 !。",
        ),
        (
            "The judge j calls 4 of 7 answers right that hold an accepted answer word for word, and 3 of 3 others: see "
            "who is right with `quadrag label`, then `quadrag certify-judge`; ! marks what rests on them.",
            None,
        ),
        (
            "The judge j gives rejection_rate_judged 0 to 5 of 6 answers that hold the phrase asked for: see who is "
            "right with `quadrag label`, then `quadrag certify-judge`; ! marks what rests on them.",
            None,
        ),
        ("! marks a, b too: the judge is the same.", "a、b 的裁判相同，数值后也标有 !。"),
        (
            "a: 7 of 15 answers are the same text, 'Error …'; if these are errors, let the service reply with an error "
            "status.",
            "a：15 个回答中有 7 个是同一段文字：“Error …”；若这些是报错信息，请让服务以错误状态码应答。",
        ),
        (
            "judge not certified: j (acc, hal), nor checked by words, which find 1 of 8 answers right; to begin with, "
            "label what it judged: `quadrag label a --out s.csv`.",
            "裁判未经认证：j（acc、hal），字面也检验不了它，8 个回答中按字面正确的有 1 个；第一步，标注它评过的回答："
            "`quadrag label a --out s.csv`。",
        ),
        (
            "judge not certified: j (acc, hal); to begin with, label what it judged: `quadrag label a --out s.csv`.",
            None,
        ),
        (
            "judge not certified: j (acc, hal), nor checked by words, which find 1 of 8 answers right in 3 of 4 runs; "
            "to begin with, label what it judged: `quadrag label a --out s.csv`, and so of 3 other runs.",
            None,
        ),
        (
            "Vectors by faiss IVF_SQ8 (nlist 64, nprobe 16, rerank 100): recall@10 0.9860 against exact search, with "
            "100 of the passages as queries.",
            "向量由 faiss IVF_SQ8 (nlist 64, nprobe 16, rerank 100) 检索：以 100 个片段为查询，对照精确检索的 "
            "recall@10 为 0.9860。",
        ),
        (
            "INVALID, a b: 4 of 12 items failed (4 api_error), more than --max-failed 0.2: acc, hal; calls failed.",
            "无效（INVALID）：a b：12 题中有 4 题失败（请求失败 4），超过 --max-failed 0.2：acc、hal；请求失败。",
        ),
    ],
)
def test_sentences_of_runs_are_in_chinese(english, chinese):
    assert left_over([english]) == [] and chinese in (None, speak(english, "zh"))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "Not run: acc, hal (judge=), RAGQuestEval recall, map, hit@8 (the system gave no passages).",
            "未评测：acc、hal (judge=)、RAGQuestEval recall、map、hit@8（系统没有给出片段）。",
        ),
        ("All 8 answers are the same text, 'no; none'.", "全部 8 个回答是同一段文字：“no; none”。"),
        ("Judged by different judges (j; k): x.", None),
        ("better than a, b (p 0.016)", "好于 a、b（p 0.016）"),
        ("Runs: 甲 (f1), 乙 (假 2), c (m).", "各次运行：甲（f1）、乙（假 2）、c (m)。"),
        ("丙版 minus 甲版: too few questions.", "丙版减甲版：题数太少。"),
        ("2026-11-26 12:57 UTC, 20.6 s", "2026-11-26 12:57 UTC，20.6 秒"),
    ],
)
def test_names_and_quoted_texts_have_chinese_signs_but_not_code(english, chinese):
    ours = speak(english, "zh")
    assert chinese in (None, ours)
    assert [one for one in re.findall(r"`.*?`|\w+=\"\w+\"", english) if one not in ours] == []


def test_a_title_has_chinese_signs_between_its_parts():
    title = speak_title("Differences from a, noise_robustness_zh all 5 splits accuracy", "zh")
    assert title == "与 a 的差值，noise_robustness_zh 全部 5 个划分 accuracy"
    assert speak_title("CRUD-RAG: extractive", "zh") == "CRUD-RAG：extractive"
    assert speak_title("CRUD-RAG: extractive", "en") == "CRUD-RAG: extractive"


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "Official and corrected rank 3 runs otherwise. rouge_l: almost the same (Spearman 0.87, Kendall 0.82).",
            "两种口径（官方与修正）对 3 次运行的排序不同。rouge_l：几乎相同（Spearman 0.87，Kendall 0.82）。",
        ),
        (
            "PARTIAL: all: the first 5 questions of each split, 5 of 20.",
            "不完整：all：每个划分只问了前 5 题，共 20 题中的 5 题。",
        ),
        (
            "PARTIAL: the first 60 of 200 questions; the files that were read hold 200 of all 300 questions.",
            "不完整：只问了 200 题中的前 60 题；所读文件只有全部 300 题中的 200 题。",
        ),
        (
            "PARTIAL: 50 of 200 questions are answered; the files that were read hold 200 of all 300 questions.",
            "不完整：回答了 200 题中的 50 题；所读文件只有全部 300 题中的 200 题。",
        ),
        (
            "Ours on: revised data (made after the paper); /RGB (zh_refine.json: a part of the authors' own data, 200 "
            "of 300 questions), as prepared.",
            "本次数据：论文之后的修订数据；/RGB（zh_refine.json：作者数据的一部分，300 题中的 200 题），用已准备好的。",
        ),
        (
            "Ours on: /d (split_merged.json: unverified); corpus: /d (36 of 48 files, lacking "
            "documents_12_part_1 to documents_17_part_3, documents_2 and 3 more; the authors' own files).",
            "本次数据：/d（split_merged.json：未核实）；语料：/d（48 个文件中只有 36 个，缺少 "
            "documents_12_part_1 至 documents_17_part_3，documents_2 及另外 3 个；作者发布的原文件）。",
        ),
        ("/d; corpus: http://h/a", "/d；语料：http://h/a"),
        ("gold in passages 1, 3, 4 (by words)", "片段 1、3、4 含标准答案（按字词查找）"),
        ("all 5 splits/em, all 5 splits/f1, a/em, a/f1", "全部 5 个划分/em、全部 5 个划分/f1、a/em、a/f1"),
        ("Runs: good: runs/good; bad: /x/bad.", "good：runs/good；bad：/x/bad。"),
    ],
)
def test_parts_of_a_sentence_are_not_mixed(english, chinese):
    assert speak(english, "zh") == chinese


def test_what_one_types_stays_as_it_is():
    configs = {name: one for benchmark in catalogue.benchmarks() for name, one in catalogue.configs(benchmark).items()}
    splits = [split for one in configs.values() for split in one.splits]
    typed = {*catalogue.benchmarks(), *configs, *splits, *catalogue.metrics(), *catalogue.recipes(), *RETRIEVERS}
    assert {name for name in typed if speak(name, "zh") != name} == {"all"}, "a word of tables, too"


def test_no_slot_amid_words_takes_a_sign_between_parts():
    mixed, tried = [], 0
    for english, chinese in CHINESE.items():
        for slot in re.findall(r"({\d}) \w", english):
            told = SLOT.sub("x", english.replace(slot, "one; two"))
            found = phrases.match(english, chinese).fullmatch(told)
            mixed += [english] * bool(found and "; " in found[f"s{slot[1]}"] and f"“{slot}”" not in chinese)
            tried += 1
    assert mixed == [] and tried > 500


def test_a_table_keeps_its_numbers_names_and_shape():
    grid = Grid(
        "Table 7. Truthfulness of answers", "metric", ["not\nknown", "\n0.2"], [Line("  m (ours)", [Cell("1.0")])]
    )
    grid.notes = [Alarm("PARTIAL: the first 3 of 60 questions."), "mrr"]
    ours = speak_grid(grid, "zh")
    assert (ours.title, ours.corner, ours.columns) == ("表 7：回答的真实性", "指标", ["not\nknown", "\n0.2"])
    assert ours.lines == [Line("  m（本次）", [Cell("1.0")])]
    assert ours.notes == ["不完整：只问了 60 题中的前 3 题。", "mrr"] and isinstance(ours.notes[0], Alarm)
    assert speak_grid(grid, "en").lines == grid.lines


@pytest.mark.parametrize("name", ["all", "judge", "null", "v2: judge", "judge (ours)", "mine, tuned", "A: all"])
def test_what_the_user_named_is_shown_as_it_is(name):
    kept = keep_name(name)
    assert speak(f"rgb qa, {kept}, official profile", "zh") == f"rgb qa，{name}，官方口径"
    assert speak(f"Comparison: {kept} minus {kept}", "zh") == f"比较：{name} 减 {name}"
    assert speak(f"Comparison: {kept} minus {kept}", "en") == f"Comparison: {name} minus {name}"
    for labels in ("en", "zh"):
        grid = speak_grid(Grid(kept, kept, [kept], [Line(kept, [Cell(kept)])], [kept, f"{kept}: {kept}."]), labels)
        assert {grid.title, grid.corner, *grid.columns, grid.lines[0].label, grid.lines[0].cells[0].text} == {name}
        assert grid.notes[0] == name
    assert kept != name and keep_name("my_rag v2") == "my_rag v2"


def test_runs_keep_their_names_before_what_is_said_of_them():
    notes = [Alarm("all: PARTIAL: the first 3 of 60 questions."), "all, b: a, m; on: bundled sample."]
    notes.append("b: runs/b.")
    ours = speak_grid(Grid("", "", [], [], notes, names=["all", "b"]), "zh").notes
    assert ours.pop() == "b：runs/b。"
    whole = "b: by corrected worse than a on all 5 splits/em, -40.0 (95% -60.4 to -8.2; p 0.016)."
    assert speak_note(whole, "zh", ["a", "b"]) == (
        "b：按修正口径，在全部 5 个划分/em 上差于 a，-40.0（95% 区间 -60.4 至 -8.2；p 0.016）。"
    ), "a phrase that begins with a name"
    assert ours == ["all：不完整：只问了 60 题中的前 3 题。", "all、b：a、m；数据：自带样例。"] and isinstance(
        ours[0], Alarm
    )


def test_a_translation_has_what_the_english_has():
    slots = [[sorted(SLOT.findall(text.replace("…}", "}"))) for text in pair] for pair in CHINESE.items()]
    assert [pair for pair in slots if pair[0] != pair[1]] == []


def test_blanks_in_chinese_follow_one_rule():
    assert [text for text in CHINESE.values() if any(map(ILL_SPACED.search, SLOT.split(text)))] == []
    assert speak("f1: 10 of 12 answers are the same texts in both.", "zh") == "f1：12 个回答中有 10 个两次文本相同。"
    assert (
        speak("extractive; settings of its own: top_k 8; judge j.", "zh")
        == "extractive；此次运行独有的设置：top_k 8；裁判 j。"
    )
    assert speak("Ours: percent, official profile.", "zh") == "本次：百分数，官方口径。"
