import { type Agent, createAgent, defineTool } from '@millrace/agent';
import { DeltaWriter, noUsage, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { createProvider } from '@millrace/providers';
import { todoTool } from '@millrace/tools';
import { z } from 'zod';

const words =
  'The parser reads a line, checks its length and adds it to the table of orders. '.split(/(?<= )/);
/** The output of a tool: 120 lines of source code. */
const source = Array.from(
  { length: 120 },
  (_, line) => `${line + 1}\texport const row${line} = readRow(orders, ${line * 17}, 'total');`,
).join('\n');

/** The turns of a message: two calls that read, one that changes the task list, and the answer. */
const turns = ['read', 'read', 'todo', undefined] as const;

let calls = 0;

/** A model that works like a coding agent: it thinks, reads files, and writes an answer with a list. */
const provider = createProvider('coder', 'coder', async function* (request, { item, ids }) {
  const { items, tools = [] } = request;
  const writer = new DeltaWriter({ itemId: item.id, ...item, ids });
  // A request for a summary has no tools.
  const name = tools.length === 0 ? undefined : turns[calls++ % turns.length];
  const thought = writer.reasoning('summary');
  for (let word = 0; word < 30; word++) thought.append(words[word % words.length] ?? '');
  thought.commit();
  const text = writer.text();
  const length = name === undefined ? 240 : 40;
  for (let word = 0; word < length; word++)
    text.append(word % 40 === 39 ? '\n\n- `src/orders.ts` ' : (words[word % words.length] ?? ''));
  text.commit();
  if (name !== undefined) {
    const tasks = [{ text: `Read the orders of day ${calls}`, state: 'doing' }];
    const input = name === 'todo' ? { tasks } : { path: `src/orders-${calls}.ts` };
    const call = writer.toolCall(toolCallId(ids.toolCall()), name);
    for (const piece of JSON.stringify(input).match(/.{1,12}/gs) ?? []) call.append(piece);
    call.commit();
  }
  const usage = { ...noUsage, input: items.length * 400, output: length };
  yield { deltas: writer.take(), end: { stop: { reason: name ? 'tool_use' : 'stop' }, usage } };
});

const read = defineTool({
  name: 'read',
  description: 'Reads a file.',
  input: z.object({ path: z.string() }),
  execute: async () => source,
});

/** An agent whose sessions look like those of the terminal. */
export function chatAgent(log: Log): Agent {
  const compaction = { whenTokens: 40_000, keepSteps: 6 };
  return createAgent({ log, provider, tools: [read, todoTool()], compaction });
}
