"""Whether a port is named in the answer."""

import evaluate

from quadrag.metrics._shared.module import TEXTS, Shared, info

from .scorer import SCORER


class PortNamedMetric(Shared, evaluate.Metric):
    """Whether an accepted port is named."""

    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info("Whether an accepted port is named.", "", TEXTS)
