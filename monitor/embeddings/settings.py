"""Settings of the server that is asked how near papers are to the texts of `like:` topics."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from monitor.setting_types import Section, WebAddress, require_encryption


def _without_slash(url: str) -> str:
    return url.rstrip("/")


_Model = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class EmbeddingSettings(Section):
    """Which server and model are asked how near papers are to the texts of topics."""

    url: Annotated[WebAddress, AfterValidator(_without_slash)] = Field(
        description="the address of an API like OpenAI's, mostly up to and with `/v1`; "
        "`/embeddings` is added",
    )
    model: _Model = Field(description="the model, by the server's name for it")
    api_key: SecretStr = Field(SecretStr(""), description="your key (a secret), if it needs one")
    a_day: int = Field(
        2_000, ge=0, le=1_000_000, description="requests a day, from midnight to midnight UTC"
    )
    allow_private: bool = Field(
        False,
        description="allow the host and port in `url:` to be private or non-standard (not 80 or "
        "443), as of a server on this machine",
    )

    @model_validator(mode="after")
    def _is_encrypted(self) -> EmbeddingSettings:
        require_encryption(self.url, "texts and key", self.allow_private)
        return self
