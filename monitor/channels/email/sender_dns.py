"""Checks of the DNS records by which receivers verify mail from a domain: SPF, DKIM and DMARC.

Gmail, Yahoo and Outlook ask for all three; they stand in the DNS of the domain in `smtp.from`,
where only its owner can put them (RFC 7208, RFC 6376, RFC 7489).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

# Names reserved for documentation and tests (RFC 2606, RFC 6761).
_NOBODYS = ("example", "example.com", "example.net", "example.org", "invalid", "localhost", "test")
PATIENCE = 5.0  # seconds for each answer


class NoAnswerError(Exception):
    """The DNS could not be asked, or did not answer."""


# The texts at a name: () where it has none, None where neither it nor anything below it is there.
Lookup = Callable[[str], Sequence[str] | None]


def is_somebodys(domain: str) -> bool:
    """Say whether a domain can be in the public DNS at all."""
    return "." in domain and not any(f".{domain}".endswith(f".{name}") for name in _NOBODYS)


def look(domain: str, lookup: Lookup) -> dict[str, tuple[bool, str]]:
    """Return of each of three records whether it is valid, and what to do. Raises NoAnswerError."""
    checks = {"SPF": _spf, "DKIM": _dkim, "DMARC": _dmarc}
    return {name: check(domain, lookup) for name, check in checks.items()}


def _spf(domain: str, lookup: Lookup) -> tuple[bool, str]:
    records = [text for text in lookup(domain) or () if _begins(text, "v=spf1")]
    if not records:
        problem = (
            f"{domain} has none: publish a TXT record that names the servers that send for you, "
            'such as "v=spf1 include:_spf.example.net -all"'
        )
    elif len(records) > 1:
        problem = f"{domain} has {len(records)}, so none counts: leave one"
    elif {"+all", "all"} & {*records[0].split()}:
        problem = f"“{records[0]}” lets anybody send for you: end it with -all"
    else:
        return True, f"“{records[0]}”: see that it names the server that sends for you"
    return False, problem


def _dkim(domain: str, lookup: Lookup) -> tuple[bool, str]:
    """A key is below `_domainkey`; where that name is missing, nothing is below it (RFC 8020)."""
    name = f"_domainkey.{domain}"
    if lookup(name) is None:
        advice = "let your mail server sign, and publish its key"
        return False, f"there is no key below {name}: {advice}"
    return True, f"{name} is there: look for “dkim=pass” in the source of a mail of `send-test`"


def _dmarc(domain: str, lookup: Lookup) -> tuple[bool, str]:
    """The domain's own record, or that of a domain above it."""
    labels = domain.split(".")
    for above in range(len(labels) - 1):
        name = f"_dmarc.{'.'.join(labels[above:])}"
        for text in lookup(name) or ():
            if _begins(text, "v=DMARC1"):
                return True, f"“{text}” at {name}"
    advice = f'publish a TXT record at _dmarc.{domain}, at least "v=DMARC1; p=none"'
    return False, f"{domain} has none: {advice}"


def _begins(text: str, word: str) -> bool:
    return text.replace(";", " ").split()[:1] == [word]


def ask(name: str, server: tuple[str, int] | None = None) -> Sequence[str] | None:
    """Return the texts at a name, by the machine's resolver or `server`. Raises NoAnswerError."""
    from dns import exception, resolver  # asked by `doctor` alone

    try:
        asking = resolver.Resolver(configure=server is None)
        if server:
            asking.nameservers = [server[0]]
            asking.port = server[1]
        answer = asking.resolve(name, "TXT", lifetime=PATIENCE, search=False)
    except resolver.NXDOMAIN:
        return None
    except resolver.NoAnswer:
        return ()
    except (exception.DNSException, OSError) as fault:
        raise NoAnswerError(str(fault)) from fault
    return ["".join(part.decode("utf-8", "replace") for part in row.strings) for row in answer]
