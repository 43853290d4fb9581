"""Posting to an incoming webhook: no threads, no history, and errors as bare words."""

from __future__ import annotations

from monitor.channels.slack.clients import HookClient
from monitor.channels.slack.errors import read_refusal, send_request
from monitor.model import Delivery, DeliveryState, Json, Outcome


class Webhook:
    def __init__(self, url: str, timeout: int) -> None:
        self._url = url
        self._client = HookClient(url, timeout)

    def post(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Outcome:
        body = {**message, "unfurl_links": False, "unfurl_media": False}
        answer = send_request(lambda: self._client.ask(body), self._url)
        if isinstance(answer, Outcome):
            return answer
        if answer.status == 200 and answer.code == "ok":
            return Outcome(DeliveryState.SENT)
        return read_refusal(answer, webhook=True)
