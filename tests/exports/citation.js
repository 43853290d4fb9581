// Reads files as citation-js does, and prints what it makes of each: [{id, type, year, authors}].
const { readFileSync } = require("fs");
const Cite = require(`${process.argv[2]}/citation-js`);

for (const file of process.argv.slice(3)) {
  const forceType = file.endsWith(".ris") ? "@ris/file" : undefined;
  const items = new Cite(readFileSync(file, "utf8"), { forceType, generateGraph: false }).data;
  console.log(JSON.stringify(items.map((item) => ({
    id: item.id,
    type: item.type,
    title: item.title,
    year: item.issued ? item.issued["date-parts"][0][0] : null,
    authors: (item.author || []).map((name) => name.family || name.literal),
  }))));
}
