// Agents of the OpenAI Agents SDK, with a tool and a hand-off, on a provider of Millrace's: served as a sync
// agent, whose run is converted, and as an async one, whose models and hooks write by themselves. Run it with
//   npx node --conditions=@millrace/source examples/15-openai-agents/main.ts
import { createClient } from '@millrace/client';
import { toolCallId } from '@millrace/core';
import { convertRunEvents, millraceModels, runHooks } from '@millrace/openai-agents';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { type AsyncAgent, createServer, type SyncAgent, type Update } from '@millrace/server';
import { Agent, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { rpc } from '../09-sync-agent/rpc.ts';

const weather = tool({
  name: 'weather',
  description: 'The weather in a town, now',
  parameters: z.object({ town: z.string() }),
  execute: async ({ town }) => `${town}: rain`,
});
const baker = new Agent({ name: 'Baker', instructions: 'You bake.' });
const miller = Agent.create({ name: 'Miller', tools: [weather], handoffs: [baker] });

// With a key it is anthropic({ model: '…' }), openaiResponses({ model: '…' }) … instead of a script.
const call = (id: string, name: string, input: string) =>
  ({ kind: 'tool_call', toolCallId: toolCallId(id), name, arguments: input }) as const;
const script: readonly Scripted[] = [
  { content: { parts: ['Let me look. ', call('c1', 'weather', '{"town":"Bath"}')] } },
  { content: { parts: ['It rains, so there is flour. ', call('c2', 'transfer_to_Baker', '{}')] } },
  'The bread is in the oven.',
];
const tell = () => scriptedProvider(script, { pieces: 'token' });

const quiet = { tracingDisabled: true };
const syncMill: SyncAgent = {
  type: 'sync',
  name: 'sync-mill',
  async *onMessage(_question, { signal }) {
    const runner = new Runner({ modelProvider: millraceModels({ provider: tell() }), ...quiet });
    yield* convertRunEvents(await runner.run(miller, 'Bread?', { stream: true, signal }));
  },
};
const asyncMill: AsyncAgent = {
  type: 'async',
  name: 'async-mill',
  async onEvent(_event, context) {
    await using hooks = runHooks(context);
    const modelProvider = millraceModels({ provider: tell(), stream: hooks });
    const runner = new Runner({ modelProvider, ...quiet });
    hooks.attach(runner);
    await runner.run(miller, 'Bread?', { signal: context.signal });
  },
};

const server = createServer({ agents: [syncMill, asyncMill] });
const { url } = await server.listen({ port: 0 });
const content = { type: 'text', author: 'user', content: 'Bread?' };

const updates = await rpc<Update>(`${url}/agents/name/sync-mill`, 'message/send', {
  ...{ content, stream: true },
});
const pieces = updates.map((update) => {
  if (update.type === 'delta' && update.delta?.type === 'text') return update.delta.text_delta;
  if (update.type !== 'full') return '';
  const { content: whole } = update;
  if (whole.type === 'tool_request') return `\n  ${whole.name} ${JSON.stringify(whole.arguments)}`;
  return whole.type === 'tool_response' ? ` → ${JSON.stringify(whole.content)}\n` : '';
});
console.log(pieces.join(''));

const client = createClient({ url });
const task = await client.createTask({ agent: 'async-mill' });
await rpc(`${url}/agents/name/async-mill`, 'event/send', { task_id: task.id, content });
const { items } = await task.until(({ items, isRunning }) => items.length > 0 && !isRunning);
const kinds = items.flatMap(({ parts }) => parts.map(({ kind }) => kind));
console.log(`The async one has it as: ${kinds.join(', ')}`);
client.close();
await server.close();
