// Folds a log from PROTOCOL.md record by record. The left column shows each event. The right column
// shows the folded part after the event. Run it with
//   npx node --conditions=@millrace/source examples/00-fold-live.ts ["reasoning, then text"]
import { setTimeout } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import {
  type AgentEvent,
  agentEvents,
  decodeRecord,
  encodeTranscript,
  Folder,
  type FoldState,
  findItemOfPart,
  findOpen,
  livePart,
  type Part,
  type PartId,
  sessionId,
  transcript,
} from '@millrace/core';
import { protocolExamples } from '../scripts/protocol-examples.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const requested = positionals[0] ?? 'a tool call';
const examples = protocolExamples();
const example = examples.find(({ name }) => name === requested);
if (example === undefined) {
  const names = examples.map(({ name }) => `  ${name}`).join('\n');
  console.error(`There is no example “${requested}” in PROTOCOL.md. There are:\n${names}`);
  process.exit(2);
}

const pauseMs = process.stdout.isTTY ? 250 : 0;
const folder = new Folder(sessionId('demo'));

console.log(styleText('bold', `PROTOCOL.md, example “${example.name}”, folded record by record\n`));
for (const line of example.lines) {
  const record = decodeRecord(line);
  // A batch contains the offsets that it covers. Here each batch contains one record.
  const batch = { after: folder.state.through, through: record.offset, records: [record] };
  folder.addBatch(batch, (before, step, after) => {
    for (const event of agentEvents(before, step, after)) show(event, after);
  });
  await setTimeout(pauseMs);
}
console.log(styleText('bold', '\nThe resulting transcript\n'));
console.log(JSON.stringify(JSON.parse(encodeTranscript(transcript(folder.state))), null, 2));

function show(event: AgentEvent, state: FoldState): void {
  const left = `${String(event.offset).padStart(3)}  ${event.type.padEnd(26)} `;
  const isPart = 'partId' in event;
  const right = isPart ? partText(state, event.partId) : detailsOf(event);
  const width = Math.max(20, (process.stdout.columns ?? 120) - left.length - 1);
  const fitted = right.length > width ? `${right.slice(0, width - 1)}…` : right;
  console.log(styleText('cyan', left) + (isPart ? fitted : styleText('dim', fitted)));
}

/**
 * Returns the content of the part after this event. While the part is open, the text ends with a
 * cursor.
 */
function partText(state: FoldState, id: PartId): string {
  const open = findOpen(state, id);
  if (open !== undefined) return `${contentOf(livePart(open))}▌`;
  const part = findItemOfPart(state, id)?.parts.find((slot) => slot.id === id)?.part;
  return part === undefined ? 'retracted' : contentOf(part);
}

function contentOf(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
    case 'tool_result':
      return part.text;
    case 'tool_call':
      return `${part.name} ${part.arguments}`;
    case 'structured':
    case 'custom':
      return JSON.stringify(part.value);
    case 'media':
    case 'file':
      return part.source.type === 'bytes' ? `${part.source.bytes.length} bytes` : part.source.type;
  }
}

/** Returns the fields of an event, except the fields that every event has. */
function detailsOf(event: AgentEvent): string {
  const common = ['type', 'session', 'offset', 'time', 'turn', 'attempt'];
  const rest = Object.entries(event).filter(([key]) => !common.includes(key));
  return JSON.stringify(Object.fromEntries(rest));
}
