import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { createAgent, defineTool } from '@millrace/agent';
import { type Item, type Part, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { createProvider, type ModelRequest } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';
import type { ServedAgent } from '../../contract/served-agent.ts';

export const clusterAgentName = 'cluster-agent';
const pauseMs = 12;
const words = Array.from({ length: 24 }, (_, n) => `w${n + 1}`).join(' ');

/** The texts that the agent sends before its tool calls and after their results. */
export const expectedBegin = (message: string): string => `Begin ${message}: ${words}.`;
export const expectedEnd = (message: string): string => `End ${message}: ${words}.`;

/**
 * Returns the agent that every process of the cluster serves. Each call of its tools appends a line to a
 * file.
 */
export function clusterAgent(log: Log, doneFile: string): ServedAgent {
  const tool = (name: string, afterCrash: 'repeat' | 'fail') =>
    defineTool({
      ...{ name, afterCrash, description: `Does it, with afterCrash ${afterCrash}` },
      input: z.object({ message: z.string() }),
      execute: async ({ message }, { toolCallId: id, signal }) => {
        appendFileSync(doneFile, `${name} ${id} ${message}\n`);
        await setTimeout(120, undefined, { signal });
        return `${name} did ${message}`;
      },
    });
  const agent = createAgent({
    ...{ log, provider, name: `process ${process.pid}`, onInterrupted: 'retry' },
    tools: [tool('charge', 'fail'), tool('look', 'repeat')],
    approve: ({ input }) => (isAsked(input) ? 'ask' : 'allow'),
    whileAsking: 'wait',
    // The default limits are too low, because the test sends many messages.
    limits: { maxRepeats: 1000, maxTurns: 10_000 },
  });
  return { type: 'loop', name: clusterAgentName, agent };
}

/** Returns whether a message contains the word that makes its call need an approval. */
const isAsked = (input: unknown) => JSON.stringify(input).includes('asking');

/** The provider derives the answer only from the request, so that any process can continue a run. */
const provider = createProvider('cluster', 'cluster', (request, context) =>
  scriptedProvider([() => ({ content: { parts: partsFor(request) } })], {
    ...{ id: 'cluster', model: 'cluster', pieces: 'token', pauseMs },
  }).stream(request, context),
);

function partsFor({ items }: ModelRequest): readonly (Part | string)[] {
  const at = items.findLastIndex(({ kind }) => kind === 'user');
  const message = textOf(items[at]);
  const hasResults = items.slice(at).some(({ kind }) => kind === 'tool');
  if (hasResults) return [expectedEnd(message)];
  const call = (name: string): Part => ({
    ...{ kind: 'tool_call', name, arguments: JSON.stringify({ message }) },
    toolCallId: toolCallId(`${name}-${crypto.randomUUID()}`),
  });
  return [expectedBegin(message), call('charge'), call('look')];
}

/** Returns the text of an item. */
export function textOf(item: Pick<Item, 'parts'> | undefined): string {
  return (item?.parts ?? []).map((part) => (part.kind === 'text' ? part.text : '')).join('');
}
