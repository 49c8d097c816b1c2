// Streams one turn of a model to the terminal. Run it with
//   npx node --conditions=@millrace/source examples/01-stream-a-turn/main.ts "Why is the sky blue?"
// It uses the first provider that it finds: the server of --base-url (any OpenAI-compatible
// server), a provider with a key in the environment, or a model server on this machine. Otherwise a
// scripted model answers.
import { styleText } from 'node:util';
import {
  type AgentEvent,
  agentEvents,
  Folder,
  type Item,
  itemId,
  type LogRecord,
  randomIds,
  recordVersion,
} from '@millrace/core';
import type { ResponseEnd } from '@millrace/providers';
import { findProvider } from './find-provider.ts';
import { readArguments } from './read-arguments.ts';

const { question, ...options } = readArguments(process.argv.slice(2));
const { provider, reason } = await findProvider(options);
console.log(styleText('dim', `${provider.id}, ${provider.model}: ${reason}\n`));

const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
const userMessage: Item = {
  id: itemId('question'),
  kind: 'user',
  parts: [{ kind: 'text', text: question }],
};
const item = { id: ids.item(), turn: 1, attempt: 1 };
const folder = new Folder(ids.session());
const controller = new AbortController();
process.once('SIGINT', () => controller.abort());

let lastKind: 'reasoning' | 'text' | 'call' | undefined;
let offset = 0;
const recordHead = () =>
  ({
    v: recordVersion,
    offset: ++offset,
    time: Date.now(),
    turn: 1,
    attempt: 1,
    producer: 'model',
  }) as const;
publish([{ ...recordHead(), fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } }]);

const stream = provider.stream({ items: [userMessage] }, { item, ids, signal: controller.signal });
for await (const { deltas, end } of stream) {
  publish(deltas.map((delta) => ({ ...recordHead(), delta })));
  if (end !== undefined) printEnd(end);
}

/** Does the same as a log: numbers the records, folds them and emits their events. */
function publish(records: readonly LogRecord[]): void {
  const after = folder.state.through;
  folder.addBatch({ after, through: offset, records }, (before, record, state) => {
    for (const event of agentEvents(before, record, state)) printEvent(event);
  });
}

function printEvent(event: AgentEvent): void {
  switch (event.type) {
    case 'reasoning_delta':
      return write('reasoning', styleText('dim', event.text));
    case 'assistant_text_delta':
      return write('text', event.text);
    case 'tool_call_arguments_delta':
      return write('call', styleText('cyan', event.delta));
    default:
  }
}

/** Writes a blank line whenever the kind of output changes. */
function write(kind: 'reasoning' | 'text' | 'call', text: string): void {
  if (lastKind !== undefined && lastKind !== kind) process.stdout.write('\n\n');
  lastKind = kind;
  process.stdout.write(text);
}

function printEnd({ stop, usage, error }: ResponseEnd): void {
  const prefix = usage.estimated ? 'about ' : '';
  const tokens = `${prefix}${usage.input} tokens in, ${usage.output} out`;
  console.log(styleText('dim', `\n\n${stop.reason}; ${tokens}`));
  if (error === undefined) return;
  console.error(`${error.kind}: ${error.message}`);
  process.exitCode = error.kind === 'aborted' ? 130 : 1;
}
