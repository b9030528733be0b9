"""What a run came to, as data: scores with their status, notes by code, what is odd of its judges.

Nothing here makes a sentence: `reporting/messages.py` does.
"""

from .record import *  # noqa: F403  # all that these define without an underscore is public
from .run import *  # noqa: F403
