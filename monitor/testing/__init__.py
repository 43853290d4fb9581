"""The contracts of sources and channels as tests, for packages that bring their own.

    from monitor.testing import ChannelContract, SourceContract

pytest finds the tests in a class derived from one. They need no network.
"""

from monitor.testing.channels import ChannelContract as ChannelContract
from monitor.testing.channels import a_digest as a_digest
from monitor.testing.sources import HOSTILE as HOSTILE
from monitor.testing.sources import NOW as NOW
from monitor.testing.sources import PLACES as PLACES
from monitor.testing.sources import SourceContract as SourceContract
from monitor.testing.sources import keeps_the_contract as keeps_the_contract
