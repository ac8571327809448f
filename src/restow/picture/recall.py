"""What a picture has of what its controller had learned, as the event with which the next controller begins."""

from restow.controller.events import LearningRecalled
from restow.model import SortedMapping
from restow.picture.picture import Picture


def recalled(picture: Picture) -> LearningRecalled:
    known = {consumer: status.learned for consumer, status in picture.consumers.items() if status.learned is not None}
    return LearningRecalled(SortedMapping(known), picture.overview.costs)
