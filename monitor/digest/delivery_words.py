"""The words about deliveries: for readers, and in the sentences of `status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.model import DeliveryState


@dataclass(frozen=True, slots=True)
class DeliveryWords:
    # For the reader to whom it goes, on "My digests". The operator sees the name of the state.
    to_reader: str
    # Behind "the digest of 26 Nov", in `status`; there a delivery that waits also has a time.
    in_status: str


WORDS: Mapping[DeliveryState, DeliveryWords] = {
    DeliveryState.PLANNED: DeliveryWords("waiting", "will be sent"),
    DeliveryState.CLAIMED: DeliveryWords("waiting", "is being sent"),
    DeliveryState.HANDING_OFF: DeliveryWords("being sent", "is being sent"),
    DeliveryState.SENT: DeliveryWords("sent", "was sent"),
    DeliveryState.RETRY: DeliveryWords("waiting", "will be retried"),
    DeliveryState.FAILED: DeliveryWords("could not be sent", "could not be sent"),
    DeliveryState.UNKNOWN: DeliveryWords("may not have arrived", "may or may not have arrived"),
    DeliveryState.SUPPRESSED: DeliveryWords("not sent", "will not be sent"),
    DeliveryState.SUPERSEDED: DeliveryWords(
        "not sent; a later digest has its papers",
        "was not delivered; its papers are in the next digest",
    ),
}
