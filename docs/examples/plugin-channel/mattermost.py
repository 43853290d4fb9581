"""A channel of kind `mattermost`: digests as messages of an incoming webhook."""

import json
from socket import gaierror
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from monitor.channels.base import Channel, ChannelOptions
from monitor.model import DeliveryState, Outcome, Rendered
from monitor.setting_types import SecretUrl


class MattermostOptions(ChannelOptions):
    """In monitor.yaml: `kind: mattermost` and `webhook:`, which is masked wherever it is shown."""

    webhook: SecretUrl


class Mattermost(Channel):
    kind = "mattermost"
    Options = MattermostOptions
    min_interval = 0.5  # seconds between two messages

    def render(self, digest, templates):
        """Return the parts of a digest; they are stored, and sent later, perhaps twice."""
        titles = [entry.paper.title for group in digest.groups for entry in group.entries]
        text = "\n".join([f"{digest.subscription}: {len(titles)} papers", *titles])
        return (Rendered(0, {"text": text}),)

    def send(self, delivery, commit_handoff):
        """Post one part. Nothing may be posted when `commit_handoff` returns False."""
        body = json.dumps({"text": delivery.rendered.body["text"]}).encode()
        headers = {"Content-Type": "application/json"}
        request = Request(self.options.webhook.reveal(), body, headers)
        if not commit_handoff():
            return Outcome(DeliveryState.RETRY, "another process has taken this delivery over")
        try:
            with urlopen(request, timeout=30):
                return Outcome(DeliveryState.SENT)
        except HTTPError as error:  # an answer that is no: nothing was posted
            return Outcome(DeliveryState.RETRY, f"HTTP {error.code}", channel_down=True)
        except OSError as error:
            reason = getattr(error, "reason", error)  # urllib wraps it in a URLError
            if isinstance(reason, ConnectionRefusedError | gaierror):  # nothing was posted
                return Outcome(DeliveryState.RETRY, f"no connection: {reason}", channel_down=True)
            return Outcome(DeliveryState.UNKNOWN, f"no answer: {reason}")  # it may be posted
