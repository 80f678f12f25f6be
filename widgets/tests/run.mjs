// Bundles one TypeScript file of the tests and runs it: node tests/run.mjs FILE, from widgets/.

import { basename } from "node:path";
import { argv } from "node:process";
import { pathToFileURL } from "node:url";
import esbuild from "esbuild";

const [, , file] = argv;
const outfile = `dist/tests/${basename(file, ".ts")}.mjs`;
await esbuild.build({
  entryPoints: [`tests/${file}`],
  outfile,
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  logLevel: "error",
});
await import(pathToFileURL(outfile).href);
