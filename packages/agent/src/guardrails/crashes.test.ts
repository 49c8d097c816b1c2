import { type GuardrailFact, itemId, type LogRecord, sessionId, transcript } from '@millrace/core';
import { exportSession, importSession, type Log, memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { commandStep } from '../steps/index.ts';
import { call } from '../testing/model-script.ts';
import { StepRunner } from '../testing/step-runner.ts';
import {
  answer,
  createTestAgent,
  never,
  problemsLeftIn,
  session,
  textsOf,
} from '../testing/test-agent.ts';
import { clientTool } from '../tool/client-tool.ts';
import { defineTool } from '../tool/define-tool.ts';
import { inputGuardrail, outputGuardrail, toolGuardrail } from './define-guardrail.ts';

const card = /\b\d{16}\b/g;
const number = '4111111111111111';

const pay = (ran: unknown[]) =>
  defineTool({
    name: 'pay',
    description: 'Pays an amount',
    input: z.object({ amount: z.number() }),
    execute: async (input) => {
      ran.push(input);
      return `Paid ${input.amount}.`;
    },
  });

async function recordsOf(log: Log): Promise<readonly LogRecord[]> {
  return (await log.read(session, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

const verdictsIn = (records: readonly LogRecord[]): readonly GuardrailFact[] =>
  records.flatMap(({ fact }) => (fact?.type === 'guardrail_applied' ? [fact] : []));

describe('a guardrail that fails', () => {
  const thrown = new Error('key sk-123 is wrong');
  const faults = {
    throws: () => {
      throw thrown;
    },
    rejects: () => Promise.reject(thrown),
    'returns nothing': () => undefined,
    'returns something else': () => ({ verdict: 'maybe' }),
    'changes to nothing': () => ({ verdict: 'change' }),
    'changes to something else': () => ({ verdict: 'change', to: new Map() }),
    'takes too long': () => never(),
  };
  const places = {
    input: (check: () => never) => inputGuardrail({ name: 'bad', check }),
    output: (check: () => never) => outputGuardrail({ name: 'bad', check }),
    'held output': (check: () => never) => outputGuardrail({ name: 'bad', hold: true, check }),
    'tool call': (check: () => never) => toolGuardrail({ name: 'bad', check }),
  };
  const cases = Object.keys(places).flatMap((place) =>
    Object.keys(faults).map((fault) => [place, fault] as const),
  );

  test.each(cases)('on %s: one that %s ends the run with an error', async (place, fault) => {
    const ran: unknown[] = [];
    let isMended = false;
    const check = () => (isMended ? 'pass' : faults[fault as keyof typeof faults]()) as never;
    const guardrails = [places[place as keyof typeof places](check)];
    const script = [answer(call('c1', 'pay', { amount: 1 })), 'Then this.', 'Then that.'];
    const { agent, end, log } = createTestAgent(script, { guardrails, tools: [pay(ran)] });
    const result = await end(agent.run('Go', { session }));
    expect(result).toMatchObject({
      ...{ reason: 'error', stop: { cause: 'guardrail_failed' } },
      error: { code: 'guardrail_failed', message: expect.stringContaining('Guardrail bad failed') },
    });
    expect(ran).toEqual([]);
    if (fault === 'throws' || fault === 'rejects') expect(result.cause).toBe(thrown);
    expect(JSON.stringify(await recordsOf(log))).not.toContain('sk-123');
    expect(verdictsIn(await recordsOf(log)).map(({ verdict }) => verdict)).toEqual(['error']);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
    // Nothing is lost: the run can be tried again.
    isMended = true;
    expect((await end(agent.resume(session))).reason).toBe('stop');
  });

  test('an abort does not wait for a check', async () => {
    const guardrails = [inputGuardrail({ name: 'endless', check: () => never() })];
    const { agent, end, until, log } = createTestAgent(['No.'], { guardrails });
    const run = agent.run('Go', { session });
    await until('turn_started');
    await run.abort('enough');
    expect((await end(run)).reason).toBe('aborted');
    expect(await problemsLeftIn(log)).toEqual([]);
  });
});

describe('after a crash at any record', () => {
  /** The model pays once, and then says no. */
  const model: ScriptEntry = ({ items }) =>
    items.some(({ kind }) => kind === 'tool')
      ? 'no'
      : answer('I pay.', call('c1', 'pay', { amount: 9 }));

  test.each([[false], [true]])('verdicts stand and tools run once (hold: %s)', async (hold) => {
    const checks: string[] = [];
    const ran: unknown[] = [];
    const paying = pay(ran);
    const noted = (name: string, about: string | undefined) => void checks.push(`${name} ${about}`);
    const guardrails = [
      inputGuardrail({
        name: 'mask',
        check: ({ text, item }) => {
          noted('mask', item.id);
          return { verdict: 'change', to: text.replace(card, '[card]') };
        },
      }),
      outputGuardrail({
        ...{ name: 'polite', hold },
        check: ({ text, item }) => {
          noted('polite', item.id);
          return text === 'no' ? { verdict: 'change', to: 'No, thank you.' } : 'pass';
        },
      }),
      toolGuardrail({
        name: 'small',
        check: ({ call: { toolCallId: id } }) => {
          noted('small', id);
          return { verdict: 'change', to: { amount: 1 } };
        },
      }),
    ];
    const log = memoryLog();
    const create = () =>
      createTestAgent([model, model, model], {
        ...{ log, guardrails, tools: [paying], onInterrupted: 'retry' },
      });
    const whole = create();
    await whole.end(whole.agent.run(`Card ${number}`, { session }));
    const records = await recordsOf(log);
    for (const [index, { offset }] of records.entries()) {
      const before = records.slice(0, index + 1);
      const has = (type: string) => before.some(({ fact }) => fact?.type === type);
      if (!has('turn_started') || has('run_finished')) continue;
      const into = sessionId(`fork-${offset}`);
      await log.fork(session, { into, through: offset });
      checks.length = 0;
      ran.length = 0;
      const next = create();
      const { reason } = await next.end(next.agent.resume(into));
      const last = transcript(await snapshot(log, into)).findLast(
        ({ kind }) => kind === 'assistant',
      );
      expect([offset, reason, last && textsOf(last).join('')]).toEqual([
        offset,
        'stop',
        'No, thank you.',
      ]);
      // No verdict that is on the log is asked for again.
      for (const { name, itemId, toolCallId: id } of verdictsIn(before))
        expect(checks).not.toContain(`${name} ${itemId ?? id}`);
      const lost = before.some(({ fact }) => fact?.type === 'tool_execution_started');
      expect(ran).toEqual(lost ? [] : [{ amount: 1 }]);
      for (const { request } of next.provider.requests)
        expect(JSON.stringify(request.items)).not.toContain(number);
      expect(await problemsLeftIn(log, into)).toEqual([]);
    }
  });
});

describe('verdicts in other places', () => {
  test('redacting an input also removes what a guardrail made of it', async () => {
    const guardrails = [
      inputGuardrail({
        name: 'upper',
        check: ({ text }) => ({ verdict: 'change', to: text.toUpperCase(), reason: text }),
      }),
    ];
    const { agent, end, log, provider } = createTestAgent(['Yes.', 'No.'], { guardrails });
    await end(
      agent.run({ id: 'q', kind: 'user', parts: [{ kind: 'text', text: 'secret' }] }, { session }),
    );
    expect(JSON.stringify(provider.requests[0]?.request.items)).toContain('SECRET');
    await log.redact(session, itemId('q'));
    expect(JSON.stringify(await recordsOf(log))).not.toMatch(/secret/i);
    await end(agent.run('More', { session }));
    expect(JSON.stringify(provider.requests[1]?.request.items)).not.toMatch(/secret/i);
  });

  test('an imported session has no verdicts for what is still to do', async () => {
    const checks: string[] = [];
    const guardrails = [
      toolGuardrail({
        name: 'count',
        check: ({ name }) => {
          checks.push(name);
          return 'pass';
        },
      }),
    ];
    const options = {
      guardrails,
      tools: [pay([])],
      approve: (): 'ask' => 'ask',
      whileAsking: 'park',
    } as const;
    const script = [answer(call('c1', 'pay', { amount: 1 })), 'Done.'];
    const { agent, end, log } = createTestAgent(script, options);
    await end(agent.run('Go', { session }));
    const target = memoryLog();
    await importSession(target, exportSession(log, session));
    const other = createTestAgent(script.slice(1), { ...options, log: target });
    expect((await other.end(other.agent.resume(session))).reason).toBe('parked');
    expect(checks).toEqual(['pay', 'pay']);
  });

  test.each([[false], [true]])('steps of a workflow check the same (hold: %s)', async (hold) => {
    const ran: unknown[] = [];
    const form = clientTool({
      name: 'form',
      description: 'A form',
      input: z.object({}),
      output: z.string(),
    });
    const guardrails = [
      inputGuardrail({
        name: 'mask',
        check: ({ text }) => ({ verdict: 'change', to: text.replace(card, '[card]') }),
      }),
      outputGuardrail({
        ...{ name: 'polite', hold },
        check: ({ text }) => (text === 'no' ? { verdict: 'change', to: 'No, thank you.' } : 'pass'),
      }),
      toolGuardrail({
        name: 'small',
        tools: [pay([])],
        check: () => ({ verdict: 'change', to: { amount: 1 } }),
      }),
    ];
    const calls = answer(call('c1', 'pay', { amount: 9 }), call('c2', 'form', {}));
    const log = memoryLog();
    const provider = scriptedProvider([calls, 'no']);
    const agent = createAgent({ provider, log, guardrails, tools: [pay(ran), form] });
    const runner = new StepRunner(agent, session);
    await runner.submitMessage(`Card ${number}`, 'k1');
    const first = await runner.advance();
    await runner.request(first.do === 'request' ? first.turn : 0);
    const plan = await runner.advance();
    const outcomes = await runner.calls(plan);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['answered', 'asked']);
    const waiting = await commandStep(agent, runner.held);
    expect(waiting.asked).toEqual(['c2']);
    await agent.provideToolResult(session, 'c2', { output: 'filled in' });
    expect((await commandStep(agent, runner.held)).asked).toEqual([]);
    expect((await runner.drive()).text).toBe('No, thank you.');
    expect(ran).toEqual([{ amount: 1 }]);
    const sent = provider.requests.map(({ request }) => JSON.stringify(request.items)).join();
    expect(sent).not.toContain(number);
    expect(sent).toContain('filled in');
    expect(await problemsLeftIn(log)).toEqual([]);
  });
});
