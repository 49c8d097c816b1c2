// A log from PROTOCOL.md, folded live: what a reader of a stream sees while a model speaks.
// Run it with `npm start`, or `npm start -- "reasoning, then text"` for another example.
import { setTimeout } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import {
  type AgentEvent,
  agentEvents,
  decodeRecord,
  encodeTranscript,
  Folder,
  sessionId,
  transcript,
} from '@millrace/core';
import { protocolExamples } from '../scripts/protocol-examples.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const wanted = positionals[0] ?? 'a tool call';
const examples = protocolExamples();
const example = examples.find(({ name }) => name === wanted);
if (example === undefined) {
  const names = examples.map(({ name }) => `  ${name}`).join('\n');
  console.error(`There is no example “${wanted}” in PROTOCOL.md. There are:\n${names}`);
  process.exit(2);
}

const pauseMs = process.stdout.isTTY ? 150 : 0;
const folder = new Folder(sessionId('demo'));

console.log(styleText('bold', `PROTOCOL.md, example “${example.name}”, folded as it comes\n`));
for (const line of example.lines) {
  const record = decodeRecord(line);
  // A batch says how far the log is known; here each record comes with all that was before it.
  const batch = { after: folder.state.through, through: record.offset, records: [record] };
  folder.addBatch(batch, (before, step, after) => agentEvents(before, step, after).forEach(show));
  await setTimeout(pauseMs);
}
console.log(styleText('bold', '\nThe transcript it comes to\n'));
console.log(JSON.stringify(JSON.parse(encodeTranscript(transcript(folder.state))), null, 2));

function show({
  type,
  offset,
  session: _,
  time: __,
  turn: ___,
  attempt: ____,
  ...event
}: AgentEvent): void {
  const details = JSON.stringify(event, (_key, value) =>
    value instanceof Uint8Array ? `${value.length} bytes` : value,
  );
  const line = `${String(offset).padStart(3)}  ${type.padEnd(26)}`;
  console.log(`${styleText('cyan', line)} ${styleText('dim', details.slice(0, 160))}`);
}
