"""The toolbox: the table of all tools, and of the requests of the protocol that are answered as tools are.

A description tells a model what the tool answers, what to call before it, and one call that works on the demo books.
"""

from server.tools.charts import CHARTING
from server.tools.discovery import DISCOVERY
from server.tools.files import ARTIFACTS, UPLOADS
from server.tools.ingestion import INGESTION
from server.tools.orientation import ORIENTATION
from server.tools.prompts import COMPLETE, GET_PROMPT
from server.tools.reporting import REPORTING
from server.tools.resources import LIST_RESOURCES, READ_RESOURCE
from server.tools.tool import Tool

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (*ORIENTATION, *DISCOVERY, *REPORTING, *INGESTION, *CHARTING, *ARTIFACTS, *UPLOADS)
}
REQUESTS: dict[str, Tool] = {
    **TOOLS,
    **{tool.name: tool for tool in (LIST_RESOURCES, READ_RESOURCE, GET_PROMPT, COMPLETE)},
}
