"""A chat model loaded in this process with transformers and accelerate, behind the chat client's interface.

One prompt at a time: padding a batch changes the last digits of a model's scores, and with them now and then an answer,
so a resumed run would differ from an undisturbed one. Sampling is seeded by the call itself, not by its turn. A model
without a chat template gets system message, blank line, user message, as RGB's code does.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag import parallel
from quadrag.chat.ledger import Ledger, Shelf, call_key
from quadrag.chat.reply import Failure, Reply, as_verdict, read_message, read_row
from quadrag.errors import QuadragError, tell_extra
from quadrag.printing import is_terminal
from quadrag.trust import Pins, Trust, refuse_code

_MAX_TOKENS = 512
_PARAMETERS = {"temperature", "top_p", "top_k", "repetition_penalty", "max_tokens", "seed"}


class LocalModel(parallel.Travels):
    """A model of transformers; `model` is its name or folder, as requested."""

    stays = ("ledger", "replay")

    def __init__(
        self,
        model: str,
        *,
        ledger: Ledger | Shelf | None = None,
        replay: bool = False,
        parameters: Mapping[str, Any],
        trust: Trust | None = None,
    ) -> None:
        """Name the model; it is loaded at the first call that the ledger does not answer.

        Args:
            model: a Hub name or a folder.
            ledger: where replies are kept.
            replay: answer from the ledger alone.
            parameters: temperature (0: greedy), top_p, top_k, repetition_penalty, max_tokens (512 when absent) and
                seed; None values are dropped.
            trust: whether code of its own may run; None: it may not.
        """
        self.model = model
        self.parameters = {name: value for name, value in parameters.items() if value is not None}
        unknown = set(self.parameters) - _PARAMETERS
        if unknown:
            raise QuadragError(f"local models take {', '.join(sorted(_PARAMETERS))}, not {', '.join(sorted(unknown))}")
        self.on_progress: Callable[[int, int], None] | None = None
        self.spent: dict[str, Any] = {"calls": 0, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self.shelf, self.known_as = ledger, f"local:{model}"  # the name in the ledger
        self._replay, self._trust = replay, trust or Trust()
        # Another commit is another model, for the ledger and for `run.json`.
        pins = self._trust.pins.get(model, Pins())
        self.parameters |= {name: commit for name, commit in pins._asdict().items() if commit is not None}
        self._loaded: tuple[Any, Any] | None = None

    def complete(
        self, batch: Sequence[list[dict[str, str]]], *, samples: Sequence[int] | None = None
    ) -> list[Reply | Failure]:
        """Answer a batch of chats in order; see `quadrag.chat.client.ChatClient.complete`."""
        numbers = samples if samples is not None else [0] * len(batch)
        name = self.known_as
        keys = [call_key(name, chat, self.parameters, n) for chat, n in zip(batch, numbers, strict=True)]
        known = self.shelf.get_many(dict.fromkeys(keys)) if self.shelf is not None else {}
        missing = sum(key not in known for key in keys)
        if missing and self._replay and not known:
            raise QuadragError(f"the ledger lacks {missing} of {len(keys)} replies of {name}; run without --replay")
        calls = {} if self._replay else {key: chat for key, chat in zip(keys, batch, strict=True) if key not in known}
        done = len(keys) - missing
        self.spent["cached"] += done
        new: dict[bytes, dict[str, Any]] = {}
        for key, row in zip(calls, parallel.each(self.generate, calls.items()), strict=True):
            new[key] = row
            if self.shelf is not None:
                self.shelf.put_many([(key, row)], model=name)
            self.spent["calls"] += 1
            for count in ("prompt_tokens", "completion_tokens"):
                self.spent[count] += row["usage"][count]
            if self.on_progress:
                self.on_progress(done + len(new), len(keys))
        rows = {**new, **known}
        lost = Failure("api_error", "not asked: the ledger has no reply to replay")
        return [read_row(rows[key], key in known, None) if key in rows else lost for key in keys]

    def __call__(self, batch: Sequence[list[dict[str, str]]]) -> list[str | Failure]:
        """Answer as a judge does; a reply cut by length is a failure."""
        return [as_verdict(reply) for reply in self.complete(batch)]

    def close(self) -> None:
        """Let the model go."""
        self._loaded = None

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            try:
                from transformers import AutoModelForCausalLM, AutoTokenizer
                from transformers.utils import logging
            except ImportError as error:
                said = f"local:{self.model} needs transformers ({error})"
                raise QuadragError(f"{said}; {tell_extra('local')}") from None
            if not is_terminal(sys.stderr):
                logging.disable_progress_bar()
            folder = Path(self.model).expanduser().is_dir()
            pins = self._trust.find(self.model, folder)
            # Said either way: left open, transformers asks at the terminal.
            how: dict[str, Any] = {"trust_remote_code": pins is not None}
            how |= {name: value for name, value in (pins._asdict() if pins else {}).items() if value is not None}
            try:
                tokenizer = AutoTokenizer.from_pretrained(self.model, **how)
                how |= {"device_map": "auto", "dtype": "auto", "output_loading_info": True}
                model, told = AutoModelForCausalLM.from_pretrained(self.model, **how)
            except (OSError, ValueError, ImportError) as error:
                if pins is None and "trust_remote_code" in str(error):
                    raise refuse_code("model", self.model, folder) from None
                first = " ".join(str(error).split())[:300]
                raise QuadragError(f"cannot load local:{self.model} ({first})") from None
            if faults := [f"{len(keys)} {kind}" for kind, keys in told.items() if keys and kind.endswith("_keys")]:
                raise QuadragError(
                    f"local:{self.model} was not loaded as it was saved ({', '.join(faults)}), so what it gives is of "
                    "no use; its files are of another model, or need code of their own (--trust-remote-code)"
                )
            self._loaded = tokenizer, model.eval()
        return self._loaded

    def generate(self, call: tuple[bytes, list[dict[str, str]]]) -> dict[str, Any]:
        """Answer one call, of its key and its chat; return the ledger's row."""
        key, chat = call
        tokenizer, model = self._load()
        import torch

        if tokenizer.chat_template:
            from jinja2 import TemplateError

            try:
                prompt = tokenizer.apply_chat_template(
                    chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
                )
            except TemplateError as error:
                why = " ".join(str(error).split())
                raise QuadragError(
                    f"the chat template of local:{self.model} refuses the messages ({why}); "
                    "name prompts that it takes with --prompts, or another model"
                ) from None
        else:
            prompt = tokenizer("\n\n".join(turn["content"] for turn in chat), return_tensors="pt")
        prompt = prompt.to(model.device)
        temperature = self.parameters.get("temperature", 0)
        sampling: dict[str, Any] = (
            {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
        )
        for name in ("top_p", "top_k") if temperature else ():
            if name in self.parameters:
                sampling[name] = self.parameters[name]
        if "repetition_penalty" in self.parameters:
            sampling["repetition_penalty"] = self.parameters["repetition_penalty"]
        torch.manual_seed(int.from_bytes(key[:8], "big"))
        start = time.perf_counter()
        with torch.inference_mode():
            output = model.generate(
                **prompt,
                max_new_tokens=self.parameters.get("max_tokens", _MAX_TOKENS),
                pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
                **sampling,
            )
        length = prompt["input_ids"].shape[1]
        new = output[0, length:].tolist()
        ends = model.generation_config.eos_token_id
        ended = bool(new) and new[-1] in (ends if isinstance(ends, list) else [ends])
        usage = {"prompt_tokens": length, "completion_tokens": len(new)}
        said = {"content": tokenizer.decode(new, skip_special_tokens=True).strip()}
        row = read_message(said, "stop" if ended else "length", usage)
        return {**row, "latency": time.perf_counter() - start, "created": time.time()}
