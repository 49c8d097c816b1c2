// One turn of a model, told as it comes. Run it with
//   npx node --conditions=@millrace/source examples/01-stream-a-turn/main.ts "Why is the sky blue?"
// It takes the first it finds of: --base-url (any OpenAI-compatible server), a key in the environment,
// a model server on this machine. Without any of them a scripted model answers.
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

const { question, ...asked } = readArguments(process.argv.slice(2));
const { provider, why } = await findProvider(asked);
console.log(styleText('dim', `${provider.id}, ${provider.model}: ${why}\n`));

const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
const ask: Item = {
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
const head = () =>
  ({
    v: recordVersion,
    offset: ++offset,
    time: Date.now(),
    turn: 1,
    attempt: 1,
    producer: 'model',
  }) as const;
tell([{ ...head(), fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } }]);

const stream = provider.stream({ items: [ask] }, { item, ids, signal: controller.signal });
for await (const { deltas, end } of stream) {
  tell(deltas.map((delta) => ({ ...head(), delta })));
  if (end !== undefined) sayEnd(end);
}

/** What a log does: number the records, fold them, and tell everybody what they mean. */
function tell(records: readonly LogRecord[]): void {
  const after = folder.state.through;
  folder.addBatch({ after, through: offset, records }, (before, record, state) => {
    for (const event of agentEvents(before, record, state)) show(event);
  });
}

function show(event: AgentEvent): void {
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

/** With a blank line wherever the model goes over to something else. */
function write(kind: 'reasoning' | 'text' | 'call', said: string): void {
  if (lastKind !== undefined && lastKind !== kind) process.stdout.write('\n\n');
  lastKind = kind;
  process.stdout.write(said);
}

function sayEnd({ stop, usage, error }: ResponseEnd): void {
  const roughly = usage.estimated ? 'about ' : '';
  const tokens = `${roughly}${usage.input} tokens in, ${usage.output} out`;
  console.log(styleText('dim', `\n\n${stop.reason}; ${tokens}`));
  if (error === undefined) return;
  console.error(`${error.kind}: ${error.message}`);
  process.exitCode = error.kind === 'aborted' ? 130 : 1;
}
