"""Reads XML responses of services that also answer in JSON: each record as its JSON would be."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar
from xml.etree.ElementTree import Element

from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.api.windows import ApiSource
from monitor.sources.base import failure, reading
from monitor.sources.xml.repair import read_elements
from monitor.sources.xml.safe_input import XmlError

_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?!!doctype html|html)|\x1f\x8b", re.IGNORECASE)


class XmlApiSource(ApiSource):
    """A kind whose service answers in JSON and in XML.

    `xml_records` are the names of records and of values about the whole response; `xml_heads` have
    such values as attributes. `xml_marked` may have mark-up in their text.
    """

    xml_roots: ClassVar[tuple[str, ...]]
    xml_records: ClassVar[tuple[str, ...]]
    xml_heads: ClassVar[tuple[str, ...]] = ()
    xml_marked: ClassVar[tuple[str, ...]]

    def read(self, document: Document) -> Reading:
        """Read a response in JSON or XML."""
        if not _XML.match(document.content):
            return super().read(document)
        found: list[Paper | Rejected] = []
        values: dict[str, object] = {}
        whole, now = True, self._clock()
        for element in read_elements(
            document.content, self.xml_records, self.xml_heads, roots=self.xml_roots
        ):
            if isinstance(element, XmlError):
                found.append(Rejected(f"record {len(found) + 1}", str(element)))
                whole = False
            elif element.tag in self.xml_heads or not len(element):
                values[element.tag] = self.value_of_element(element)
            else:
                found.append(self._record(self.value_of_element(element), len(found) + 1, now))
        if whole and (error := self._check(self.listing(self.response(values, found))).error):
            return failure(error)
        return reading(found, whole)

    @abstractmethod
    def response(self, values: Mapping[str, object], records: Sequence[object]) -> object:
        """Return the JSON response that has these values and records."""

    def value_of_element(self, element: Element) -> object:
        """Return the text of an element, or an object of its attributes and parts."""
        if element.tag in self.xml_marked or not (len(element) or element.tag in self.xml_heads):
            return "".join(element.itertext())
        parts: dict[str, list[object]] = {f"@{name}": [v] for name, v in element.attrib.items()}
        for child in element:
            parts.setdefault(child.tag, []).append(self.value_of_element(child))
        return {name: values[0] if len(values) == 1 else values for name, values in parts.items()}
