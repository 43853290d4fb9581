"""A channel of kind `mattermost`: digests as messages of an incoming webhook."""

from monitor.channels.base import Channel, ChannelOptions
from monitor.channels.post import post
from monitor.digest.layout import batches
from monitor.model import Rendered
from monitor.setting_types import SecretUrl


class MattermostOptions(ChannelOptions):
    """In monitor.yaml: `kind: mattermost` and `webhook:`, which is masked wherever it is shown."""

    webhook: SecretUrl
    allow_private: bool = False


class Mattermost(Channel):
    kind = "mattermost"
    Options = MattermostOptions
    min_interval = 0.5  # seconds between two messages

    def render(self, digest, templates):
        """Return the parts of a digest; they are stored, and sent later, perhaps twice."""
        titles = [entry.paper.title for group in digest.groups for entry in group.entries]
        lines = [f"{digest.subscription}: {len(titles)} papers", *titles]
        parts = batches(lines, 15_000, len, most=500)  # within Mattermost's 16,383 characters
        return tuple(Rendered(n, {"text": "\n".join(part)}) for n, part in enumerate(parts))

    def send(self, delivery, commit_handoff):
        """Post one part; `post` calls `commit_handoff` and says what became of it."""
        options, message = self.options, {"text": delivery.rendered.body["text"]}
        private = options.allow_private
        return post(options.webhook.reveal(), message, commit_handoff, allow_private=private)
