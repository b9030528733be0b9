r"""Our benchmarks as tasks of Inspect AI: questions, messages, values and verdicts are those of `quadrag run`.

`tasks` has a task for every config. They are found by name, as ``quadrag/rgb_noise_robustness_en``, or by file, as
``$(quadrag harness inspect)/tasks.py@rgb_noise_robustness_en``::

    inspect eval quadrag/crag_task_1_2 --model openai-api/local/M --model-role grader=openai-api/local/J

Settings come with ``-T``: those of `quadrag.harnesses.examination`, and ``noise`` as short for ``noise_ratio``. Judged
metrics ask the role ``grader``, which may be several models; without one they are reported as not run.

A system of your own takes the place of the solver, with ``--solver rag.py``. Every sample's metadata has the ``query``
and, where the benchmark brings some, the ``passages`` with their ``id``, ``title`` and ``text``::

    from inspect_ai.model import ChatMessageUser, get_model
    from inspect_ai.solver import solver

    @solver
    def rag():
        async def solve(state, generate):
            found = my_search(state.metadata["query"])
            prompt = "\n".join([*found, state.metadata["query"]])
            state.output = await get_model().generate([ChatMessageUser(content=prompt)])
            return state

        return solve

Nothing here but these words is imported with the package; Inspect loads `_registry`.
"""
