// The inspection grid: the rows behind a figure as an MCP host shows them beside the answer.

import "../shared/theme.css";
import "../shared/table.css";
import "./grid.css";
import { mount } from "../shared/mount";
import { readInspection } from "./inspection";
import { InspectionView } from "./view";

await mount({
  name: "inspection-grid",
  read: readInspection,
  show: (inspection, host) => new InspectionView(inspection, host).element,
});
