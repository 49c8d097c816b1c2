import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Run } from '../contract/run.ts';
import { createAgent } from '../create-agent.ts';
import { handOff } from '../tool/agent-tools.ts';
import { clientTool } from '../tool/client-tool.ts';
import { defineTool } from '../tool/define-tool.ts';
import { inputGuardrail } from './define-guardrail.ts';

// A client may write texts into results of calls. It wants the model to read such a text although an input guardrail
// refuses it.

const card = '4111111111111111';
const noCards = inputGuardrail({
  name: 'no-cards',
  check: ({ text }) => (text.includes(card) ? { verdict: 'stop', reason: 'a card' } : 'pass'),
});
const form = {
  message: 'Who are you?',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
} as const;
const given = z.object({ name: z.string() });
const described = { name: 'note', description: 'Notes', input: given };
const note = defineTool({ ...described, execute: async ({ name }) => `noted ${name}` });
const asking = defineTool({
  ...described,
  execute: async (_input, { ask }) => JSON.stringify(await ask?.(form)),
});
const ask = { approve: () => 'ask' as const };

async function idOfQuestion(log: ReturnType<typeof memoryLog>, run: Run): Promise<string> {
  for await (const event of run.events) if (event.type === 'approval_asked') break;
  const [asked] = (await snapshot(log, 's')).asked;
  return asked?.toolCallId ?? expect.fail('Nothing is asked');
}

/** The ways in which a client writes a text into the result of a call. */
const ways = {
  'the reason of a denial': [note, ask, (run: Run, id: string) => run.deny(id, { reason: card })],
  'changed arguments': [
    note,
    ask,
    (run: Run, id: string) => run.approve(id, { input: { name: card } }),
  ],
  'the answer to a form': [
    asking,
    {},
    (run: Run, id: string) => run.approve(id, { input: { name: card } }),
  ],
  'the reason against a form': [
    asking,
    {},
    (run: Run, id: string) => run.deny(id, { reason: card }),
  ],
} as const;

test.each(Object.entries(ways))(
  '18.1027: attack: %s reaches the next agent after a hand-off',
  async (_way, [tool, options, answer]) => {
    const log = memoryLog();
    onTestFinished(() => log.close());
    const asked = scriptedProvider(['I see.', 'And again.']);
    const billing = createAgent({ name: 'billing', provider: asked, guardrails: [noCards], log });
    const front = createAgent({
      ...{ name: 'front', log, ...options },
      provider: scriptedProvider([
        toolCall('note', { name: 'a' }),
        'Noted.',
        toolCall('transfer_to_billing', { reason: 'r' }),
      ]),
      tools: [tool, handOff({ to: billing, description: 'Bills' })],
    });
    const run = front.run('Hello', { session: 's' });
    await answer(run, await idOfQuestion(log, run));
    await run.result;
    const next = front.run('Bills', { session: 's' });
    if ('approve' in options) await next.approve(await idOfQuestion(log, next));
    expect((await next.result).reason).toBe('blocked');
    expect(asked.requests).toEqual([]);
  },
);

test('18.1027: attack: the output of a client reaches the next agent after a hand-off', async () => {
  const log = memoryLog();
  onTestFinished(() => log.close());
  const asked = scriptedProvider(['I see.', 'And again.']);
  const billing = createAgent({ name: 'billing', provider: asked, guardrails: [noCards], log });
  const front = createAgent({
    ...{ name: 'front', log },
    provider: scriptedProvider([
      toolCall('note', { name: 'a' }, 'c1'),
      toolCall('transfer_to_billing', { reason: 'r' }),
    ]),
    tools: [clientTool(described), handOff({ to: billing, description: 'Bills' })],
  });
  const run = front.run('Hello', { session: 's' });
  for await (const event of run.events) if (event.type === 'tool_output_asked') break;
  await run.provideToolResult('c1', { output: `card ${card}` });
  expect((await run.result).reason).toBe('blocked');
  expect(asked.requests).toEqual([]);
});
