// Builds each view into one self-contained file, dist/NAME.html: script and style stand inside it.
//
//     node build.mjs [--watch]

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";
import esbuild from "esbuild";

const VIEWS = readdirSync(".").filter((folder) => existsSync(`${folder}/main.ts`));
// Properties of the widgets' own, which no JSON and no browser has: they are built with names of a letter or two.
const OWN = new RegExp(`^(${JSON.parse(readFileSync("own.json", "utf8")).join("|")})$`);
const inside = (text, tag) => text.replaceAll(`</${tag}`, `<\\/${tag}`);

// So are the custom properties that a style sheet declares for itself.
const shortened = (css, js) => {
  const own = [...new Set(css.match(/--[\w-]+(?=:)/g))].filter((name) => !js.includes(name));
  return css.replace(/--[\w-]+/g, (name) => (own.includes(name) ? `--${own.indexOf(name).toString(36)}` : name));
};

const inlined = (view) => ({
  name: "inlined",
  setup(build) {
    build.onEnd(({ errors, outputFiles }) => {
      if (errors.length > 0) return;
      const made = (kind) => outputFiles.find((file) => file.path.endsWith(kind))?.text ?? "";
      const page = readFileSync(`${view}/index.html`, "utf8")
        .replace(/>\s+</g, "><")
        .replace("<!-- style -->", () => `<style>${inside(shortened(made(".css"), made(".js")).trim().replace(/(?<=--[\w-]+:|,) /g, ""), "style")}</style>`)
        .replace("<!-- script -->", () => `<script type="module">${inside(made(".js"), "script")}</script>`);
      mkdirSync("dist", { recursive: true });
      writeFileSync(`dist/${view}.html`, page);
      console.log(`dist/${view}.html ${(Buffer.byteLength(page) / 1024).toFixed(1)} kB`);
    });
  },
});

for (const view of VIEWS) {
  const options = {
    entryPoints: [`${view}/main.ts`],
    bundle: true,
    minify: true,
    write: false,
    outdir: "dist",
    format: "esm",
    target: "es2022",
    legalComments: "none",
    charset: "utf8",
    plugins: [inlined(view)],
    ...(existsSync(`${view}/view.ts`) && { mangleProps: OWN }),
  };
  if (argv.includes("--watch")) await (await esbuild.context(options)).watch();
  else await esbuild.build(options);
}
