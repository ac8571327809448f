"""Names that a person may have meant."""

import pytest

from restow.advice.similar import similar

KNOWN = ("billing", "payments", "payments-v2", "orders", "team-a.payments")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("paymnts", ["payments", "payments-v2", "team-a.payments"]),
        ("pay", ["payments", "payments-v2", "team-a.payments"]),
        ("orders-9", ["orders"]),
        ("zzz", []),
    ],
)
def test_typing_errors_and_parts_of_names_are_found(name: str, found: list[str]) -> None:
    assert sorted(similar(name, KNOWN)) == sorted(found)
