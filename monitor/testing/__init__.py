"""The contracts of sources and channels as tests, for packages that bring their own.

    from monitor.testing import ChannelContract, SourceContract

pytest finds the tests in a class derived from one. They need no network.
"""

from monitor.testing.channels import ChannelContract as ChannelContract
from monitor.testing.sources import NOW as NOW
from monitor.testing.sources import SourceContract as SourceContract
