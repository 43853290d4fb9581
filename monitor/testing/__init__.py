"""The contracts of sources and channels as tests, for packages that bring their own.

    from monitor.testing import ChannelContract, SourceContract

pytest finds the tests in a class derived from one. They need no network.
"""

from monitor.testing.channels import ChannelContract, a_digest
from monitor.testing.sources import HOSTILE, NOW, PLACES, SourceContract, keeps_the_contract

__all__ = [
    "HOSTILE",
    "NOW",
    "PLACES",
    "ChannelContract",
    "SourceContract",
    "a_digest",
    "keeps_the_contract",
]
