"""The settings of the Slack bot, which all its channels share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from monitor.setting_types import HttpsUrl, Secret, Section

BASE_URL = "https://slack.com/api/"


def _app_token(secret: Secret) -> Secret:
    if not secret.reveal().startswith("xapp-"):
        raise ValueError("is no app-level token: these begin with xapp-")
    return secret


class SlackSettings(Section):
    """The bot that posts to channels, and how it hears what is chosen in menus there.

    With `app_token`, by a connection that it opens itself (Socket Mode). With `signing_secret`,
    by requests that Slack sends to `public_url` with /slack/actions.
    """

    base_url: HttpsUrl = BASE_URL
    token: Secret
    app_token: Annotated[Secret, AfterValidator(_app_token)] | None = None
    signing_secret: Secret | None = None
