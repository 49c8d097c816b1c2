import { expect, test } from 'vitest';
import type { Guardrail } from '../contract/guardrail.ts';
import { outputGuardrail } from '../guardrails/define-guardrail.ts';
import { submitCommand } from '../input/submit-command.ts';
import { createTestAgent, problemsLeftIn, session } from '../testing/test-agent.ts';

// A client wants to read a text that an output guardrail refuses. It asks for a compaction, so that the model writes
// the text into the summary.

type Check = Parameters<typeof outputGuardrail>[0]['check'];

const checks: Readonly<Record<string, Check>> = {
  stops: ({ text }) => (text.includes('magic') ? { verdict: 'stop', reason: 'refused' } : 'pass'),
  changes: ({ text }) =>
    text.includes('magic') ? { verdict: 'change', to: text.replaceAll('magic', '[gone]') } : 'pass',
  'asks about': ({ text }) => (text.includes('magic') ? { verdict: 'ask' } : 'pass'),
  'cannot check': ({ text }) => {
    if (text.includes('magic')) throw new Error('no connection');
    return 'pass';
  },
};

const answers = ['One.', 'Two.', 'Three.', 'Four.', 'The magic summary', 'Five.', 'Six.'];

/** Runs four times, compacts, and runs again. Returns the last results. */
async function compacted(guardrails: readonly Guardrail[]) {
  const made = createTestAgent(answers, { guardrails }, { pieces: 'token' });
  const { agent, end, log } = made;
  for (const input of ['a', 'b', 'c', 'd']) await end(agent.run(input, { session }));
  await submitCommand(log, session, { type: 'compact' });
  const after = [await end(agent.run('e', { session })), await end(agent.run('f', { session }))];
  const { records } = await log.read(session);
  return { ...made, after, isOnLog: JSON.stringify(records).includes('magic') };
}

const cases = Object.keys(checks).flatMap((verb) => [
  [verb, false] as const,
  [verb, true] as const,
]);

test.each(cases)(
  '18.1100: attack: a summary contains a text that an output guardrail %s (hold: %s)',
  async (verb, hold) => {
    const check = checks[verb] as Check;
    const { agent, after, isOnLog, log, provider } = await compacted([
      outputGuardrail({ name: 'calm', hold, check }),
    ]);
    expect(provider.requests).toHaveLength(7);
    expect(isOnLog).toBe(false);
    const sent = JSON.stringify(provider.requests.map(({ request }) => request.items));
    expect(sent).not.toContain('magic');
    expect(sent.includes('The [gone] summary')).toBe(verb === 'changes');
    expect(after.map(({ reason, text }) => [reason, text])).toEqual([
      ['stop', 'Five.'],
      ['stop', 'Six.'],
    ]);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  },
);

test('18.1100: a summary that all output guardrails pass replaces the old items', async () => {
  const calm = outputGuardrail({ name: 'calm', check: () => 'pass' });
  const { agent, provider } = await compacted([calm]);
  expect((await agent.replay(session)).divergence).toBeUndefined();
  const items = provider.requests.at(-1)?.request.items ?? [];
  expect(JSON.stringify(items[0])).toContain('The magic summary');
});
