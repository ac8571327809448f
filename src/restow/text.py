"""Numbers in sentences."""


def counted(number: int, what: str) -> str:
    """1 record, 2,000 records."""
    return f"{number:,} {what if number == 1 else f'{what}s'}"
