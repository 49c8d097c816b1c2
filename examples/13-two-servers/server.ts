// One of any number of servers: the same agent, on a store that all of them share.
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { z } from 'zod';
import { openStore } from './open-store.ts';

const grind = defineTool({
  name: 'grind',
  description: 'Grinds a sack of grain',
  input: z.object({ sacks: z.number() }),
  execute: async ({ sacks }) => `${sacks} sacks of flour`,
});
const asks = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'grind' } as const;
/** It goes by what was said so far, whichever server asks. */
const answer: Scripted = ({ items }) =>
  items.some(({ kind }) => kind === 'tool')
    ? 'Three sacks of flour, and the wheel still turns.'
    : { content: { parts: ['I would grind three. ', { ...asks, arguments: '{"sacks":3}' }] } };
const provider = scriptedProvider([answer, answer], { pieces: 'token', pauseMs: 10 });

const store = await openStore();
const { log, rows } = store;
const agent = createAgent({ provider, tools: [grind], log, approve: () => 'ask' });
const server = createServer({ agents: [{ type: 'loop', name: 'miller', agent }], log, rows });
const { url } = await server.listen({ port: 0 });
process.send?.(url);
process.once('disconnect', async () => {
  await server.close();
  await store.close();
});
