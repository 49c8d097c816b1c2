import { type Agent, createAgent, defineTool } from '@millrace/agent';
import type { Log } from '@millrace/log';
import { type ScriptEntry, scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { z } from 'zod';

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }), effects: 'none' },
  execute: async ({ at }) => `Saw ${at} — "clearly"`,
});

/** A text of about 550 characters. MCP reports at most 2,000 characters of progress at once. */
const story = Array.from({ length: 50 }, (_, n) => `minute ${n} ✓`).join(' ');

const answers: readonly ScriptEntry[] = [
  {
    content: {
      parts: [
        { kind: 'reasoning', form: 'full', text: 'Where is it? 🤔 Let me think.' },
        'I look at both — 😀 clocks:\n\n"one" and\ttwo. ',
        toolCall('look', { at: 'the clöck' }),
        toolCall('look', { at: 'the sun' }),
      ],
    },
    // The client reads while the model writes.
    ...{ pieces: 'token', pauseMs: 0 },
  },
  [`Once more. ${story}`, toolCall('look', { at: 'data: [DONE]' })],
  { content: { parts: [`It is noon, and the ☀️ is high.\ndata: x\n\n${story}`] }, pieces: 'token' },
];

/** Answers by the number of turns since the message of the user, so a run can continue in another process. */
const answer: ScriptEntry = (request) => {
  const { items } = request;
  const asked = items.findLastIndex(({ kind }) => kind === 'user');
  const turn = items.slice(asked).filter(({ kind }) => kind === 'assistant').length;
  const next = answers[turn] ?? 'There is no more.';
  return typeof next === 'function' ? next(request) : next;
};

/** Returns an agent that thinks, writes and calls tools in three turns. */
export function doorAgent(log: Log, onInterrupted: 'keep' | 'retry' = 'keep'): Agent {
  const provider = scriptedProvider(new Array(5_000).fill(answer));
  return createAgent({ provider, log, tools: [look], onInterrupted });
}
