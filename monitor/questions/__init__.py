"""What people ask of the store, from the command line and from pages."""

from monitor.questions.doctor import SERVICE, Check, doctor, vital_signs
from monitor.questions.explain import Explanation, explain
from monitor.questions.search import FoundPaper, Sample, Trial, search, try_topic
from monitor.questions.status import Status, status

__all__ = [
    "SERVICE",
    "Check",
    "Explanation",
    "FoundPaper",
    "Sample",
    "Status",
    "Trial",
    "doctor",
    "explain",
    "search",
    "status",
    "try_topic",
    "vital_signs",
]
