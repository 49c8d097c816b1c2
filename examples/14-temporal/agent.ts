import { type Agent, createAgent, defineTool } from '@millrace/agent';
import { type ToolCallPart, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';

const level = defineTool({
  ...{
    name: 'level',
    description: 'How high the water stands',
    input: z.object({ at: z.string() }),
  },
  replay: 'safe',
  execute: async ({ at }) => (at === 'weir' ? '212 cm' : '87 cm'),
});

const ask = (id: string, at: string): ToolCallPart => ({
  kind: 'tool_call',
  toolCallId: toolCallId(id),
  name: 'level',
  arguments: JSON.stringify({ at }),
});

/** The same agent as anywhere else: it does not know that its turns and tools are activities. */
export function miller(log: Log): Agent {
  const provider = scriptedProvider(
    [
      { content: { parts: ['Let me look at both. ', ask('c1', 'weir'), ask('c2', 'race')] } },
      'The weir has 212 cm and the race 87: open the gate by a hand.',
    ],
    { pieces: 'token', pauseMs: 5 },
  );
  return createAgent({ name: 'miller', provider, tools: [level], log });
}
