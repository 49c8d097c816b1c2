import { type Agent, createAgent, defineTool } from '@millrace/agent';
import { type ToolCallPart, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

const level = defineTool({
  ...{
    name: 'level',
    description: 'Returns the water level at a place',
    input: z.object({ at: z.string() }),
  },
  afterCrash: 'repeat',
  execute: async ({ at }) => (at === 'weir' ? '212 cm' : '87 cm'),
});

const call = (id: string, at: string): ToolCallPart => ({
  kind: 'tool_call',
  toolCallId: toolCallId(id),
  name: 'level',
  arguments: JSON.stringify({ at }),
});

/**
 * Creates a normal agent. The agent does not depend on Temporal. Temporal runs its turns and tools
 * as activities.
 */
export function waterAgent(log: Log): Agent {
  const provider = scriptedProvider(
    [
      { content: { parts: ['Let me look at both. ', call('c1', 'weir'), call('c2', 'race')] } },
      'The weir has 212 cm and the race 87: open the gate by a hand.',
    ],
    { pieces: 'token', pauseMs: 5 },
  );
  return createAgent({ name: 'water', provider, tools: [level], log });
}
