// The financial table: a statement or metrics as an MCP host shows them beside the answer.

import "../shared/theme.css";
import "../shared/table.css";
import { mount } from "../shared/mount";
import { readTable } from "./table";
import { TableView } from "./view";

await mount({ name: "financial-table", read: readTable, show: (table, host, asked) => new TableView(table, host, asked).element });
