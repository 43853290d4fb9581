"""Settings of looking up papers: which services are asked, and for how long digests wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator

from monitor.errors import nearest
from monitor.look_up import SERVICES
from monitor.setting_types import SOME, Duration, Section, Unset, WebAddress
from monitor.sources.api.windows import ApiKey


class ServiceOptions(Section):
    """Settings of a service that is asked about papers."""

    url: Annotated[WebAddress | None, Unset("that of the service")] = Field(
        None, description="another address of the service, such as a mirror's"
    )
    api_key: ApiKey = SecretStr("")
    a_day: Annotated[int | None, Unset("2,000; 800 of OpenAlex")] = Field(
        None, ge=0, le=1_000_000, description="requests a day, from midnight to midnight UTC"
    )
    allow_private: bool = Field(
        False,
        description="allow the host and port in `url:` to be private or non-standard (not 80 or "
        "443); redirects are still checked",
    )


def _service(name: str) -> str:
    if name not in SERVICES:
        near = nearest(name, SERVICES, f"there are {', '.join(SERVICES)}")
        raise ValueError(f"“{name}” is not a service that can be asked{near}")
    return name


def _with_settings(value: object) -> object:
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list):
        if not all(isinstance(name, str) for name in value):
            raise ValueError("should be names, or names with settings: {crossref: {url: ...}}")
        return {name: {} for name in value}
    if isinstance(value, Mapping):
        return {name: {} if options is None else options for name, options in value.items()}
    return value


_Name = Annotated[str, AfterValidator(_service)]
Services = Annotated[dict[_Name, ServiceOptions], SOME, BeforeValidator(_with_settings)]


class LookUpSettings(Section):
    """Which services are asked what the records of papers do not say."""

    services: Services = Field(
        description="the [services](look-up.md#the-services) that are sent titles, in the order "
        "of asking: a list of names, or names with settings",
    )
    wait: Duration = Field(
        timedelta(minutes=10),
        le=timedelta(hours=6),
        description="how long a digest that is due waits for answers, at most; one that is sent "
        "`immediately`, a minute",
    )

    @field_validator("services")
    @classmethod
    def _check_keys(cls, services: dict[str, ServiceOptions]) -> dict[str, ServiceOptions]:
        for name, options in services.items():
            if options.api_key.get_secret_value() and not SERVICES[name].takes_key:
                raise ValueError(f"{name} has no keys; remove its api_key:")
        return services
