import {
  clientTool,
  defineTool,
  type Guardrail,
  inputGuardrail,
  outputGuardrail,
  toolGuardrail,
} from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { toolCall } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { TaskHandle, TaskSnapshot } from '../contract/task-handle.ts';
import { looping } from '../testing/agents.ts';
import { serving } from '../testing/serving.ts';

const pickTown = clientTool({
  ...{ name: 'pick_town', description: 'Asks the user for a town' },
  input: z.object({ country: z.string() }),
  output: z.object({ town: z.string() }),
});
const asksForTown = { content: { parts: [toolCall('pick_town', { country: 'CH' }, 'c1')] } };

const textsOf = ({ transcript }: TaskHandle) =>
  transcript.flatMap(({ parts }) => parts.flatMap((part) => ('text' in part ? part.text : [])));
const says =
  (text: string) =>
  ({ items, isRunning }: TaskSnapshot) =>
    !isRunning && JSON.stringify(items).includes(text);

/** Creates a task whose call waits for a client, and a second client of the same task. */
async function waitingForTown() {
  const log = memoryLog();
  const agent = looping(log, [asksForTown, 'It is sunny.'], { tools: [pickTown] });
  const { client } = await serving([agent], { log });
  const task = await client().createTask({ agent: 'looper' });
  await task.send('What is the weather?');
  const { pendingToolCalls } = await task.until((now) => now.pendingToolCalls.length > 0);
  return { task, other: client().task(task.id), pendingToolCalls };
}

describe('20: a call of a client tool over a server', () => {
  test('waits in every client, and continues with the output of one of them', async () => {
    const { task, other, pendingToolCalls } = await waitingForTown();
    expect(pendingToolCalls).toMatchObject([{ toolCallId: 'c1', name: 'pick_town' }]);
    await other.until((now) => now.pendingToolCalls.length > 0);
    const output = { town: 'Bern' };
    expect((await other.provideToolResult('c1', { output, by: 'Ada' })).offset).toBeGreaterThan(0);
    const end = await task.until(says('It is sunny.'));
    expect(end.pendingToolCalls).toEqual([]);
    const [part] = task.transcript.flatMap(({ kind, parts }) => (kind === 'tool' ? parts : []));
    expect(part).toMatchObject({ toolCallId: 'c1', isError: false, value: output });
  });

  test('refuses an output that does not fit, and still waits', async () => {
    const { task } = await waitingForTown();
    const wrong = task.provideToolResult('c1', { output: { city: 'Bern' } });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid', status: 422 });
    const unknown = task.provideToolResult('c9', { output: { town: 'Bern' } });
    await expect(unknown).rejects.toMatchObject({ code: 'bad_state', status: 400 });
    expect(task.snapshot().pendingToolCalls).toHaveLength(1);
    await task.provideToolResult('c1', { output: { town: 'Bern' } });
    await task.until(says('It is sunny.'));
  });

  test('has one output: the same again has no effect, another one is a conflict', async () => {
    const { task, other } = await waitingForTown();
    const output = { town: 'Bern' };
    const first = await task.provideToolResult('c1', { output });
    expect(await other.provideToolResult('c1', { output })).toMatchObject({ offset: first.offset });
    const second = other.provideToolResult('c1', { output: { town: 'Basel' } });
    await expect(second).rejects.toMatchObject({ code: 'conflict', status: 409 });
    await task.until(says('It is sunny.'));
    expect(JSON.stringify(task.transcript)).not.toContain('Basel');
  });

  test('can fail with an error, which the model gets', async () => {
    const { task } = await waitingForTown();
    await task.provideToolResult('c1', { error: 'The user closed the form' });
    await task.until(says('It is sunny.'));
    const [part] = task.transcript.flatMap(({ kind, parts }) => (kind === 'tool' ? parts : []));
    expect(part).toMatchObject({ toolCallId: 'c1', isError: true });
    expect(JSON.stringify(part)).toContain('The user closed the form');
  });
});

const refund = defineTool({
  ...{ name: 'refund', description: 'Refunds money', input: z.object({ euros: z.number() }) },
  execute: async ({ euros }) => `refunded ${euros}`,
});
const check = () => ({ verdict: 'ask', reason: 'It is odd' }) as const;
const guards: Readonly<Record<'input' | 'output' | 'call', Guardrail>> = {
  input: inputGuardrail({ name: 'careful', check }),
  output: outputGuardrail({ name: 'careful', check }),
  call: toolGuardrail({ name: 'careful', check }),
};

/** Creates a task in which a guardrail asks, and returns the question. */
async function asked(on: keyof typeof guards, whileAsking: 'wait' | 'park') {
  const log = memoryLog();
  const script =
    on === 'call' ? [{ content: { parts: [toolCall('refund', { euros: 5 }, 'c1')] } }] : [];
  const agent = looping(log, [...script, 'Fine.'], {
    ...{ tools: [refund], guardrails: [guards[on]], whileAsking },
  });
  const { client } = await serving([agent], { log });
  const task = await client().createTask({ agent: 'looper' });
  await task.send('Give me 5 euros');
  const { pendingApprovals } = await task.until((now) => now.pendingApprovals.length > 0);
  const [question] = pendingApprovals;
  if (question === undefined) throw new Error('Nothing is asked');
  return { task, question };
}

describe.each(['wait', 'park'] as const)('20: a guardrail that asks (%s)', (whileAsking) => {
  test.each(['input', 'output', 'call'] as const)(
    'on the %s goes on if it is approved',
    async (on) => {
      const { task, question } = await asked(on, whileAsking);
      expect(question).toMatchObject({ reason: 'It is odd' });
      await task.approve(question.toolCallId, { by: 'Ada' });
      // A parked session already contains the answer about which the guardrail asks.
      await task.until((now) => says('Fine.')(now) && now.pendingApprovals.length === 0);
      expect(textsOf(task)).toEqual(
        on === 'call' ? ['Give me 5 euros', 'refunded 5', 'Fine.'] : ['Give me 5 euros', 'Fine.'],
      );
    },
  );

  test.each(['input', 'output'] as const)(
    'on the %s blocks the run if it is denied',
    async (on) => {
      const { task, question } = await asked(on, whileAsking);
      await task.deny(question.toolCallId, { reason: 'No money' });
      await task.until((now) => !now.isRunning && now.pendingApprovals.length === 0);
      const { stop } = await task.digest();
      expect(stop).toMatchObject({ reason: 'blocked' });
      expect(textsOf(task)).not.toContain('Fine.');
    },
  );

  test('on a call keeps the tool from running if it is denied, and the model gets the reason', async () => {
    const { task, question } = await asked('call', whileAsking);
    await task.deny(question.toolCallId, { reason: 'No money' });
    await task.until(says('Fine.'));
    expect(textsOf(task).join('\n')).toContain('No money');
    expect(textsOf(task)).not.toContain('refunded 5');
  });
});
