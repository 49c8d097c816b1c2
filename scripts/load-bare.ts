// Loads core in a context that has only the ECMAScript globals. There is no process, Buffer,
// TextDecoder or console. Prints the folded transcript. Run it with --experimental-vm-modules.
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { createContext, type Module, SourceTextModule } from 'node:vm';

const context = createContext(Object.create(null));
const loaded = new Map<string, SourceTextModule>();

function load(url: URL): SourceTextModule {
  const known = loaded.get(url.href);
  if (known !== undefined) return known;
  const code = stripTypeScriptTypes(readFileSync(url, 'utf8'));
  const module = new SourceTextModule(code, { context, identifier: url.href });
  loaded.set(url.href, module);
  return module;
}

function link(specifier: string, from: Module): Module {
  if (!specifier.startsWith('.')) throw new Error(`${from.identifier} imports ${specifier}`);
  return load(new URL(specifier, from.identifier));
}

const program = `
import { DeltaWriter, Folder, agentEvents, countingIds, decodeRecord, encodeRecord, encodeTranscript, itemId, sessionId, transcript } from './index.ts';
const writer = new DeltaWriter({ itemId: itemId('i1'), turn: 1, attempt: 1, ids: countingIds() });
const text = writer.text();
text.append('bare');
text.commit();
writer.media('image/png').append(Uint8Array.of(1, 2, 3));
for (const part of writer.open) part.commit();
const started = { fact: { type: 'item_started', itemId: itemId('i1'), kind: 'assistant' } };
const bodies = [started, ...writer.take().map((delta) => ({ delta }))];
const records = bodies.map((body, index) => decodeRecord(encodeRecord({ v: 1, offset: index + 1, time: 0, turn: 1, attempt: 1, producer: 'p', ...body })));
const folder = new Folder(sessionId('s1'));
let events = 0;
folder.addBatch({ after: 0, through: records.length, records }, (...step) => { events += agentEvents(...step).length; });
export const result = encodeTranscript(transcript(folder.state)) + ' ' + events;
`;

const core = new URL('../packages/core/src/', import.meta.url);
const main = new SourceTextModule(program, { context, identifier: new URL('main.ts', core).href });
await main.link(link);
await main.evaluate();
console.log((main.namespace as { readonly result: string }).result);
