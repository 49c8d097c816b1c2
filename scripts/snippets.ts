// Runs the snippets of documents and compares their output:
//   npm run snippets -- docs/guides/tools.md
// With --write, it writes the output into the document. With --types, it also checks the types.
// Without a document, it runs the snippets of all documents.
import { readFileSync, writeFileSync } from 'node:fs';
import {
  type RanSnippet,
  runSnippets,
  typeErrors,
  writeSnippets,
} from './snippets/check-snippets.ts';
import { documents, readSnippets } from './snippets/read-snippets.ts';

const words = process.argv.slice(2);
const chosen = words.filter((word) => !word.startsWith('--'));
const unknown = words.filter((word) => word.startsWith('--') && !/^--(?:write|types)$/.test(word));
if (unknown.length > 0) throw new Error(`Unknown option ${unknown[0]}. Use --write or --types`);

const read = (chosen.length > 0 ? chosen : documents).map(readSnippets);
for (const { document, line, problem } of read.flatMap(({ bad }) => bad))
  report(`${document}:${line}: ${problem}`);
const written = writeSnippets(read.flatMap(({ snippets }) => snippets));
try {
  const ran = await runSnippets(written);
  for (const { snippet, error } of ran)
    if (error !== undefined) report(`${snippet.document}:${snippet.line}: ${error}`);
  const changed = ran.filter(
    ({ error, printed, snippet }) => !error && printed !== snippet.printed,
  );
  // Changes are made from the end of each document to its start, so that the line numbers of
  // earlier snippets stay correct.
  if (words.includes('--write'))
    for (const run of changed.toSorted((a, b) => b.snippet.line - a.snippet.line)) writeOutput(run);
  else
    for (const { snippet, printed } of changed)
      report(`${snippet.document}:${snippet.line} prints:\n${printed}`);
  if (words.includes('--types')) for (const error of await typeErrors(written)) report(error);
  console.log(`${ran.length} snippets ran, ${changed.length} with another output than documented`);
} finally {
  written.remove();
}

function report(text: string): void {
  process.exitCode = 1;
  console.log(text);
}

/** Replaces the output below a snippet. If there is none, adds it. */
function writeOutput({ snippet, printed }: RanSnippet): void {
  const lines = readFileSync(snippet.document, 'utf8').split('\n');
  const end = snippet.line - 1 + snippet.code.split('\n').length;
  const rest = lines.slice(end).join('\n');
  const old = /^\nIt prints:\n\n```text\n[\s\S]*?^```\n/m.exec(rest);
  const after = old?.index === 0 ? rest.slice(old[0].length) : rest;
  const output = printed === '' ? '' : `\nIt prints:\n\n\`\`\`text\n${printed}\`\`\`\n`;
  writeFileSync(snippet.document, `${lines.slice(0, end).join('\n')}\n${output}${after}`);
}
