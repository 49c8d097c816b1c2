// Runs agents of the OpenAI Agents SDK on a Millrace provider, with a tool and a hand-off. The sync
// agent converts the events of a run. The async agent writes messages through its model and its
// hooks. Run it with
//   npx node --conditions=@millrace/source examples/15-openai-agents/main.ts
import { createClient } from '@millrace/client';
import { toolCallId } from '@millrace/core';
import { convertRunEvents, millraceModels, runHooks } from '@millrace/openai-agents';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import {
  type AsyncAgent,
  createServer,
  createToken,
  type SyncAgent,
  type Update,
} from '@millrace/server';
import { Agent, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { rpc } from '../09-sync-agent/rpc.ts';

const weather = tool({
  name: 'weather',
  description: 'Returns the current weather in a town',
  parameters: z.object({ town: z.string() }),
  execute: async ({ town }) => `${town}: rain`,
});
const flights = new Agent({ name: 'Flights', instructions: 'You book flights.' });
const travel = Agent.create({ name: 'Travel', tools: [weather], handoffs: [flights] });

// With an API key, replace the script by anthropic({ model: '…' }), openaiResponses({ model: '…' })
// or a different provider.
const call = (id: string, name: string, input: string) =>
  ({ kind: 'tool_call', toolCallId: toolCallId(id), name, arguments: input }) as const;
const script: readonly ScriptEntry[] = [
  { content: { parts: ['Let me check. ', call('c1', 'weather', '{"town":"Bath"}')] } },
  { content: { parts: ['It rains in Bath. ', call('c2', 'transfer_to_Flights', '{}')] } },
  'Your flight to Lisbon is booked.',
];
const newProvider = () => scriptedProvider(script, { pieces: 'token' });

const question = 'Where is it sunny?';
const options = { tracingDisabled: true };
const syncTravel: SyncAgent = {
  type: 'sync',
  name: 'sync-travel',
  async *onMessage(_message, { signal }) {
    const runner = new Runner({
      modelProvider: millraceModels({ provider: newProvider() }),
      ...options,
    });
    yield* convertRunEvents(await runner.run(travel, question, { stream: true, signal }));
  },
};
const asyncTravel: AsyncAgent = {
  type: 'async',
  name: 'async-travel',
  async onEvent(_event, context) {
    await using hooks = runHooks(context);
    const modelProvider = millraceModels({ provider: newProvider(), stream: hooks });
    const runner = new Runner({ modelProvider, ...options });
    hooks.attach(runner);
    await runner.run(travel, question, { signal: context.signal });
  },
};

const token = createToken();
const server = createServer({ agents: [syncTravel, asyncTravel], tokens: [token] });
const { url } = await server.listen({ port: 0 });
const content = { type: 'text', author: 'user', content: question };

const agent = (name: string) => ({ url: `${url}/agents/name/${name}`, token });
const updates = await rpc<Update>(agent('sync-travel'), 'message/send', {
  ...{ content, stream: true },
});
const pieces = updates.map((update) => {
  if (update.type === 'delta' && update.delta?.type === 'text') return update.delta.text_delta;
  if (update.type !== 'full') return '';
  const { content: full } = update;
  if (full.type === 'tool_request') return `\n  ${full.name} ${JSON.stringify(full.arguments)}`;
  return full.type === 'tool_response' ? ` → ${JSON.stringify(full.content)}\n` : '';
});
console.log(pieces.join(''));

const client = createClient({ url, token });
const task = await client.createTask({ agent: 'async-travel' });
await rpc(agent('async-travel'), 'event/send', { task_id: task.id, content });
const { items } = await task.until(({ items, isRunning }) => items.length > 0 && !isRunning);
const kinds = items.flatMap(({ parts }) => parts.map(({ kind }) => kind));
console.log(`The async agent stored: ${kinds.join(', ')}`);
client.close();
await server.close();
