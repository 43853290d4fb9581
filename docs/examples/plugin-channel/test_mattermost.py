from mattermost import Mattermost

from monitor.testing import ChannelContract


class TestMattermost(ChannelContract):
    kind = Mattermost
    settings = {"webhook": "https://chat.example.org/hooks/a"}

    def posting_to(self, folder, url):
        return self.open(folder, webhook=url, allow_private=True)
