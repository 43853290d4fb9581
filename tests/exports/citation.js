// Reads files as citation-js does, and prints what it makes of each: [{id, type, year, authors}].
const { readFileSync } = require("fs");
const Cite = require(`${process.argv[2]}/citation-js`);

for (const file of process.argv.slice(3)) {
  // It takes an "@" in a text for BibTeX, whatever the file is.
  const type = file.endsWith(".ris") ? { forceType: "@ris/file" } : {};
  const items = new Cite(readFileSync(file, "utf8"), { ...type, generateGraph: false }).data;
  console.log(JSON.stringify(items.map((item) => ({
    id: item.id,
    type: item.type,
    title: item.title,
    year: item.issued ? item.issued["date-parts"][0][0] : null,
    authors: (item.author || []).map((name) => name.family || name.literal),
  }))));
}
