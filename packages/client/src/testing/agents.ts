import { createAgent, defineTool } from '@millrace/agent';
import { type Part, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import type { ServedAgent } from '@millrace/server';
import { z } from 'zod';

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ where: z.string().optional() }) },
  execute: async ({ where }) => `Nothing ${where ?? 'there'}`,
});

/** A call of the tool that the agent loop `looping` has. */
export const looks: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
};

/** Creates an agent loop with scripted answers. */
export function looping(
  log: Log,
  script: readonly ScriptEntry[],
  options: Partial<Parameters<typeof createAgent>[0]> = {},
): ServedAgent {
  const agent = createAgent({ provider: scriptedProvider(script), log, tools: [look], ...options });
  return { type: 'loop', name: 'looper', agent };
}

/** A script entry that streams a little text and then waits until it is stopped. */
export const stalls: ScriptEntry = {
  content: { parts: ['One moment please'] },
  fault: { type: 'stall', after: 2 },
};

/** An agent that streams the received message back in pieces. */
export const echo: ServedAgent = {
  ...{ type: 'sync', name: 'echo' },
  async *onMessage(content) {
    const said = content.type === 'text' ? content.content : content.type;
    for (const text_delta of said)
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta } };
    if (said === 'fail') throw new Error('as it was told');
  },
};

/** An agent that records the events that it receives. */
export const listener: ServedAgent = {
  ...{ type: 'async', name: 'listener' },
  async onEvent({ content }, { messages }) {
    if (content !== null) await messages.create({ ...content, author: 'user' });
  },
};
