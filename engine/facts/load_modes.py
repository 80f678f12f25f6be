"""The modes of a load; it stands alone because the service names them and knows nothing else of the store."""

from enum import Enum


class LoadMode(Enum):
    """What a load does to the rows of its feed's earlier loads."""

    FULL = "full"  # replaces all rows
    REPLACE_PERIODS = "replace_periods"  # replaces the requested periods
    APPEND = "append"  # adds rows, each extract once
