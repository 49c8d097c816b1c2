// One of several servers. All of them serve the same agent and share one store.
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { z } from 'zod';
import { openStore } from './open-store.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ order: z.number() }),
  execute: async ({ order }) => `order ${order} refunded`,
});
const call = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'refund' } as const;
/**
 * The scripted answer. It depends only on the items of the conversation, so every server gives the
 * same answer.
 */
const answer: ScriptEntry = ({ items }) =>
  items.some(({ kind }) => kind === 'tool')
    ? 'Your order is refunded.'
    : { content: { parts: ['I can refund it. ', { ...call, arguments: '{"order":17}' }] } };
const provider = scriptedProvider([answer, answer], { pieces: 'token', pauseMs: 10 });

const store = await openStore();
const { log, rows } = store;
const agent = createAgent({ provider, tools: [refund], log, approve: () => 'ask' });
const { TOKEN: token = '' } = process.env;
const agents = [{ type: 'loop', name: 'refunds', agent }] as const;
const server = createServer({ agents, log, rows, tokens: [token] });
const { url } = await server.listen({ port: 0 });
process.send?.(url);
process.once('disconnect', async () => {
  await server.close();
  await store.close();
});
