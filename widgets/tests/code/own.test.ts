// The properties that are built with short names: every use of one is of a type of the widgets, never JSON or the browser.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import ts from "typescript";
import own from "../../own.json";

const FOLDERS = ["financial-table", "inspection-grid", "shared"];
const FILES = FOLDERS.flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`));
const NAMES = new Set(own);
const { config } = ts.readConfigFile("tsconfig.json", (path) => ts.sys.readFile(path)) as { config: unknown };
const program = ts.createProgram(FILES, ts.parseJsonConfigFileContent(config, ts.sys, ".").options);
const checker = program.getTypeChecker();

const isOwn = (symbol: ts.Symbol | undefined): boolean => {
  const declared = symbol?.declarations ?? [];
  return declared.length > 0 && declared.every((declaration) => FILES.some((file) => declaration.getSourceFile().fileName.endsWith(file)));
};

/** What is read of a property by an own name: its name, and whether its type is of the widgets. */
function uses(node: ts.Node): readonly (readonly [name: string, isOwn: boolean])[] {
  const inside: (readonly [string, boolean])[] = [];
  node.forEachChild((child) => { inside.push(...uses(child)); });
  if (ts.isPropertyAccessExpression(node)) return [...inside, [node.name.text, isOwn(checker.getSymbolAtLocation(node.name))]];
  const name = ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent) ? (node.propertyName ?? node.name) : undefined;
  if (!name || !ts.isIdentifier(name)) return inside;
  return [...inside, [name.text, isOwn(checker.getPropertyOfType(checker.getTypeAtLocation(node.parent), name.text))]];
}

test("no own name is read from JSON or from the browser, and each is of use", () => {
  const found = FILES.flatMap((file) => uses(program.getSourceFile(file) as ts.Node)).filter(([name]) => NAMES.has(name));
  assert.deepEqual(found.filter(([, isOwnType]) => !isOwnType), []);
  const used = new Set(found.map(([name]) => name));
  assert.deepEqual(own.filter((name) => !used.has(name)), []);
});
