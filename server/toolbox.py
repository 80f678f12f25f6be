"""The toolbox: the table of all tools.

A description tells a model what the tool answers, what to call before it, and one call that works on the demo books.
"""

from server.offers.artifacts import ARTIFACTS
from server.offers.charts import CHARTS
from server.offers.discovery import DISCOVERY
from server.offers.ingestion import INGESTION
from server.offers.reporting import REPORTING
from server.offers.uploads import UPLOADS
from server.tool import Tool

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (*DISCOVERY, *REPORTING, *INGESTION, *CHARTS, *ARTIFACTS, *UPLOADS)
}
