import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { createTestAgent, problemsLeftIn, session } from '../testing/test-agent.ts';
import { handOff } from '../tool/agent-tools.ts';
import { inputGuardrail } from './define-guardrail.ts';

// A client sends a text to an agent, and asks for a compaction. The summary repeats the text. After a hand-off, the
// next agent has an input guardrail that refuses the text.

type Check = Parameters<typeof inputGuardrail>[0]['check'];

async function hand(check: Check) {
  const next = scriptedProvider(['I see.', 'And again.']);
  const other = createAgent({
    ...{ name: 'other', provider: next },
    guardrails: [inputGuardrail({ name: 'calm', check })],
  });
  const made = createTestAgent(
    ['One.', 'Two.', 'Three.', 'Four.', 'A magic summary', toolCall('transfer_to_other', {})],
    { name: 'first', tools: [handOff({ to: other, description: 'Other' })] },
  );
  const { agent, end, log } = made;
  for (const input of ['a', 'b', 'c', 'd']) await end(agent.run(input, { session }));
  await submitCommand(log, session, { type: 'compact' });
  const handed = await end(agent.run('e', { session }));
  const later = await end(agent.run('f', { session }));
  expect((await agent.replay(session)).divergence).toBeUndefined();
  const sent = JSON.stringify(next.requests.map(({ request }) => request.items));
  return { handed, later, sent, log };
}

test.each([
  ['stops', { verdict: 'stop', reason: 'refused' }, 'blocked'],
  ['cannot check', undefined, 'error'],
] as const)(
  '18.1107: attack: a summary reaches the next agent although a guardrail %s it',
  async (_, verdict, reason) => {
    const { handed, sent, log } = await hand(({ text }) =>
      text.includes('magic') ? (verdict as never) : 'pass',
    );
    expect(handed.reason).toBe(reason);
    expect(sent).not.toContain('magic');
    expect(await problemsLeftIn(log)).toEqual([]);
  },
);

test('18.1107: a guardrail of the next agent changes the summary, or lets it pass', async () => {
  const changed = await hand(({ text }) =>
    text.includes('magic') ? { verdict: 'change', to: text.replace('magic', 'calm') } : 'pass',
  );
  expect([changed.handed.reason, changed.later.reason]).toEqual(['stop', 'stop']);
  expect(changed.sent).toContain('A calm summary');
  expect(changed.sent).not.toContain('magic');
  const texts: string[] = [];
  const passed = await hand(({ text }) => {
    texts.push(text);
    return 'pass';
  });
  expect(passed.sent).toContain('A magic summary');
  // Each text is checked one time.
  expect(texts.filter((text) => text === 'A magic summary')).toHaveLength(1);
});
