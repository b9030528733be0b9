"""A chat model loaded in this process with transformers and accelerate, behind the chat client's interface.

Chats are sorted by their length and answered in batches, padded on the left; where memory ends, a batch is halved. A
batch is kept whole or not at all, so a run that was stopped goes on with the batches of one that was not. In float32
padding leaves greedy answers as they are; in half precision a near tie may fall otherwise. Where tokens are drawn, a
batch has one seed. A model without a chat template gets system message, blank line, user message.

What lies here, a folder or a GGUF file, is known by its name and its bytes, wherever it lies. Weights of a GGUF file
are float32 when they are loaded, whatever they were quantized to.
"""

import gc
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from quadrag.chat.client import Completer
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Calls, Failure, Messages, Outcome, Reply, read_message
from quadrag.data.files import sum_weights
from quadrag.errors import QuadragError, one_line, tell_extra
from quadrag.parts import Pins, Trust, refuse_code
from quadrag.paths import name_place
from quadrag.printing import is_terminal

BATCH_SIZE = 16
_MAX_TOKENS = 512
_SAMPLING = ("temperature", "top_p", "top_k", "repetition_penalty")
_PARAMETERS = {*_SAMPLING, "max_tokens", "seed"}

Call = tuple[bytes, list[int]]  # its key and its tokens


class LocalModel(Completer):
    """A model of transformers; `model` is its name on the Hub, or that of its folder or file."""

    def __init__(
        self,
        model: str,
        *,
        ledger: Ledger | None = None,
        replay: bool = False,
        parameters: Mapping[str, Any],
        trust: Trust | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        """Name the model, on the Hub, a folder or a GGUF file; it is loaded at the first call without a kept reply.

        `replay` answers from the ledger alone. Parameters are temperature (0: greedy), top_p, top_k,
        repetition_penalty, max_tokens (512 when absent) and seed. `batch_size` is the most chats at once.
        """
        self._asked_for, self._place = model, Path(model).expanduser()
        self._is_here = self._place.exists()
        name = name_place(model)
        super().__init__(name, ledger, replay, parameters, f"local:{name}")
        if unknown := set(self.parameters) - _PARAMETERS:
            raise QuadragError(f"local models take {', '.join(sorted(_PARAMETERS))}, not {', '.join(sorted(unknown))}")
        # `seconds` are of generation.
        self.spent |= {"calls": 0, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0, "seconds": 0.0}
        self._trust, self._batch_size = trust or Trust(), batch_size
        # Other weights are another model, for the ledger and for `run.json`.
        pins = self._trust.pins.get(model, Pins())
        self.parameters |= {name: commit for name, commit in pins._asdict().items() if commit is not None}
        if self._is_here:
            self.parameters["weights"] = sum_weights(self._place, "model")[:16]
        elif model.startswith((".", "~", "/")) or model.endswith(".gguf"):
            raise QuadragError(
                f"{self.known_as} is not there; expected a model's folder, its GGUF file, or its name on the Hub"
            )

    def close(self) -> None:
        vars(self).pop("_loaded", None)

    def _ask(self, calls: Calls, outcomes: dict[bytes, Outcome]) -> None:
        kept = set(outcomes)
        encoded = [(key, self._encode(chat)) for key, (chat, _) in calls.items()]
        # The longest first: where memory ends, it does at once. Batches are of all calls, so that a run that goes on
        # makes those that it would have made.
        if context := getattr(self._loaded[1].config, "max_position_embeddings", None):
            reply = self.parameters.get("max_tokens", _MAX_TOKENS)
            self._tell_long([len(tokens) + reply for key, tokens in encoded if key not in kept], context)
        encoded.sort(key=lambda call: (-len(call[1]), call[0]))
        parts = [encoded[start : start + self._batch_size] for start in range(0, len(encoded), self._batch_size)]
        parts = [part for part in ([call for call in part if call[0] not in kept] for part in parts) if part]
        has_answered = bool(kept)
        if self.on_progress:
            self.on_progress(len(kept), len(calls))
        for part in parts:
            new = dict(zip((key for key, _ in part), self._generate(part), strict=True))
            replies = {key: outcome for key, outcome in new.items() if isinstance(outcome, Reply)}
            has_answered = has_answered or bool(replies)
            if not has_answered:
                details = [outcome.detail for outcome in new.values() if isinstance(outcome, Failure)]
                raise QuadragError(f"the first {len(part)} calls of {self.known_as} all failed: {details[0]}")
            if self.ledger is not None:
                self.ledger.put_many(replies.items())
            outcomes |= new
            self.spent["calls"] += len(part)
            for reply in replies.values():
                self.spent["seconds"] += reply.latency
                for name, tokens in (reply.usage or {}).items():
                    self.spent[name] += tokens
            if self.on_progress:
                self.on_progress(len(outcomes), len(calls))

    def _encode(self, chat: Messages) -> list[int]:
        tokenizer, _ = self._loaded
        if not tokenizer.chat_template:
            return list(tokenizer("\n\n".join(turn["content"] for turn in chat))["input_ids"])
        from jinja2 import TemplateError

        try:
            return list(tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"])
        except TemplateError as error:
            why = f"the chat template of {self.known_as} refuses the messages ({one_line(error)})"
            raise QuadragError(f"{why}; name prompts that it takes with --prompts, or another model") from None

    def _generate(self, calls: Sequence[Call]) -> list[Outcome]:
        """Answer calls at once, or by halves where that fails: what fails alone is the failure of that call."""
        try:
            return list(self._generate_batch(calls))
        except (RuntimeError, MemoryError, ValueError, IndexError) as error:
            if len(calls) == 1:
                return [Failure("api_error", one_line(f"{type(error).__name__}: {error}"))]
        gc.collect()  # of what the failed attempt held
        half = (len(calls) + 1) // 2
        return self._generate(calls[:half]) + self._generate(calls[half:])

    def _generate_batch(self, calls: Sequence[Call]) -> Iterator[Reply]:
        tokenizer, model = self._loaded
        import torch

        started = time.perf_counter()
        width = max(len(tokens) for _, tokens in calls)
        # Padded by a token of the call's own, since a penalty on repetition looks at what is hidden, too.
        padded = [[tokens[0]] * (width - len(tokens)) + tokens for _, tokens in calls]
        shown = [[0] * (width - len(tokens)) + [1] * len(tokens) for _, tokens in calls]
        ends = model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        drawn = bool(self.parameters.get("temperature"))
        names = _SAMPLING if drawn else _SAMPLING[-1:]
        torch.manual_seed(int.from_bytes(calls[0][0][:4]))
        with torch.inference_mode():
            output = model.generate(
                input_ids=torch.tensor(padded, device=model.device),
                attention_mask=torch.tensor(shown, device=model.device),
                max_new_tokens=self.parameters.get("max_tokens", _MAX_TOKENS),
                pad_token_id=next((end for end in (tokenizer.pad_token_id, *ends) if end is not None), 0),
                do_sample=drawn,
                **{name: self.parameters[name] for name in names if name in self.parameters},
            )
        seconds = (time.perf_counter() - started) / len(calls)
        for (_, tokens), made in zip(calls, output[:, width:].tolist(), strict=True):
            last = next((place for place, token in enumerate(made) if token in ends), None)
            new = made if last is None else made[: last + 1]
            message = {"content": tokenizer.decode(new, skip_special_tokens=True).strip()}
            usage = {"prompt_tokens": len(tokens), "completion_tokens": len(new)}
            reply = read_message(message, "length" if last is None else "stop", usage)
            yield replace(reply, latency=seconds, created=time.time())

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        pins = self._trust.find(self._asked_for, self._place.is_dir())
        # Said either way: left open, transformers asks at the terminal.
        options: dict[str, Any] = {"trust_remote_code": pins is not None}
        options |= {name: value for name, value in (pins._asdict() if pins else {}).items() if value is not None}
        place = str(self._place) if self._is_here else self._asked_for
        if self._place.is_file():
            # By its whole path: a name alone is first looked for in the current folder.
            options["gguf_file"], place = str(self._place.absolute()), str(self._place.parent)
        try:
            from transformers import AutoModelForCausalLM, AutoTokenizer
            from transformers.utils import logging

            if not is_terminal(sys.stderr):
                logging.disable_progress_bar()
            tokenizer = AutoTokenizer.from_pretrained(place, **options)
            options |= {"device_map": "auto", "dtype": "auto", "output_loading_info": True}
            model, loading_info = AutoModelForCausalLM.from_pretrained(place, **options)
        except Exception as error:  # whatever a foreign file makes the loaders raise
            if pins is None and "trust_remote_code" in str(error):
                raise refuse_code("model", self._asked_for, self._place.is_dir()) from None
            remedy = f"; {tell_extra('local')}" if isinstance(error, ImportError) else ""
            raise QuadragError(f"cannot load {self.known_as} ({one_line(error, 300)}){remedy}") from None
        if faults := [f"{len(keys)} {kind}" for kind, keys in loading_info.items() if keys and kind.endswith("_keys")]:
            way = "its files are of another model, or need code of their own (--trust-remote-code)"
            raise QuadragError(f"{self.known_as} was not loaded as it was saved ({', '.join(faults)}); {way}")
        return tokenizer, model.eval()
