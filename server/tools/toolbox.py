"""The toolbox: the table of all tools.

A description tells a model what the tool answers, what to call before it, and one call that works on the demo books.
"""

from server.tools.charts import CHARTING
from server.tools.discovery import DISCOVERY
from server.tools.files import ARTIFACTS, UPLOADS
from server.tools.ingestion import INGESTION
from server.tools.orientation import ORIENTATION
from server.tools.reporting import REPORTING
from server.tools.tool import Tool

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (*ORIENTATION, *DISCOVERY, *REPORTING, *INGESTION, *CHARTING, *ARTIFACTS, *UPLOADS)
}
