import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';

// A hostile model makes more calls in one answer than the log can have open parts.

const manyCalls = 1030;

function hostileAgent(
  execute: (signal: AbortSignal) => string | Promise<string>,
  effects: 'none' | 'external' = 'external',
  count = manyCalls,
) {
  const log = memoryLog();
  const calls = Array.from({ length: count }, (_, at) => toolCall('look', { at }));
  const agent = createAgent({
    ...{ log, provider: scriptedProvider([calls, 'Done.'], { pieces: 'whole' }) },
    approve: () => 'allow',
    retry: { maxAttempts: 1 },
    tools: [
      defineTool({
        ...{ name: 'look', description: 'Looks', input: z.looseObject({}), effects },
        execute: async (_input, { signal }) => execute(signal),
      }),
    ],
  });
  const results = async () => {
    const { records } = await log.read('s', { from: 0, maxBytes: 100_000_000 });
    return records.flatMap(({ delta }) =>
      delta?.type === 'commit_part' && delta.part?.kind === 'tool_result' ? delta.part : [],
    );
  };
  return { agent, results };
}

// The calls of a tool without effects start while the answer still streams.
test.each(['none', 'external'] as const)(
  'attack 18.414: an answer with more calls than open parts gets all results (effects: %s)',
  async (effects) => {
    const { agent, results } = hostileAgent(() => 'ok', effects);
    expect(await agent.run('Hi', { session: 's' }).text()).toBe('Done.');
    const all = await results();
    expect(all).toHaveLength(manyCalls);
    expect(all.every(({ text }) => text === 'ok')).toBe(true);
    expect(new Set(all.map(({ toolCallId }) => toolCallId)).size).toBe(manyCalls);
  },
);

test('attack 18.414: a stop ends a run with more calls than open parts', async () => {
  const { agent, results } = hostileAgent(
    (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve('stopped'));
        stop.abort();
      }),
  );
  const stop = new AbortController();
  const run = agent.run('Hi', { session: 's', signal: stop.signal });
  expect((await run.result).reason).toBe('aborted');
  expect(await results()).toHaveLength(manyCalls);
});

test.each(['none', 'external'] as const)(
  '18.1038: attack: an answer has thousands of calls (effects: %s)',
  async (effects) => {
    let ran = 0;
    const { agent } = hostileAgent(() => `${ran++}`, effects, 4000);
    const { reason, error } = await agent.run('Hi', { session: 's' }).result;
    expect(reason).toBe('error');
    expect(error?.message).toContain('more than 1500 calls');
    // Tools without effects start while the answer streams.
    if (effects === 'external') expect(ran).toBe(0);
    expect(ran).toBeLessThanOrEqual(1500);
  },
);
