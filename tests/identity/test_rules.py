"""Each rule of `same_work` is needed: without it, some pair of the other tests would be joined."""

from monitor.identity.features import compare_identifiers, gather
from monitor.identity.same_work import RULES
from tests.identity import test_kept_apart, test_other_sets, test_same_work

PAIRS = [
    *test_kept_apart.DIFFERENT.values(),
    *test_other_sets.DIFFERENT.values(),
    *test_same_work.DIFFERENT.values(),
    *test_same_work.NOT_SURE.values(),
]
# The others only give reasons: neither of their conditions is set.
SEPARATING = {rule.name for rule in RULES if rule.vetoes is not rule.contradicts}


def test_each_rule_that_separates_is_the_only_one_for_some_pair():
    only = set()
    for a, b in PAIRS:
        if evidence := gather(a, b, compare_identifiers(a, b)[1]):
            holding = [rule for rule in RULES if rule.holds(evidence)]
            against = [r.name for r in holding if r.vetoes(evidence) or r.contradicts(evidence)]
            only |= set(against) if len(against) == 1 else set()
    assert only == SEPARATING


def test_no_two_rules_have_one_name():
    assert len({rule.name for rule in RULES}) == len(RULES)
