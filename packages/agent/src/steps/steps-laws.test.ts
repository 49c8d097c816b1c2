import { sessionId, transcript } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createProvider, type Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../../core/src/testing/runs.ts';
import { createAgent } from '../create-agent.ts';
import { readRecords } from '../history/fork-before.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { foldRecords } from '../testing/read-log.ts';
import { StepRunner } from '../testing/step-runner.ts';
import { defineTool } from '../tool/define-tool.ts';
import { commandStep, type Plan, submitStep } from './index.ts';

const session = sessionId('s');

/**
 * A model with this many calls in each turn, then an end. It repeats the same answer on every
 * request.
 */
function stubborn(calls: readonly number[]): Provider {
  return createProvider('p', 'm', (request, context) => {
    const { turn } = context.item;
    const count = calls[turn - 1];
    const parts = Array.from({ length: count ?? 0 }, (_none, at) =>
      call(`c${turn}.${at}`, 'do', {}),
    );
    const said = count === undefined ? 'Done.' : { content: { parts: ['Hm. ', ...parts] } };
    return scriptedProvider([said], { pieces: 'token' }).stream(request, context);
  });
}

/** The possible fates of a step: it runs once, twice at the same time, is left, or is aborted. */
const fates = ['once', 'twice', 'left', 'aborted'] as const;
const schedule = fc.array(fc.constantFrom('once', 'once', ...fates), { maxLength: 20 });
const turns = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 });

async function play(calls: readonly number[], fate: (typeof fates)[number][]) {
  const log = memoryLog();
  const ran = new Map<string, number>();
  const tool = defineTool({
    ...{ name: 'do', description: 'Does it', input: z.object({}) },
    execute: async (_input, { toolCallId }) => {
      ran.set(toolCallId, (ran.get(toolCallId) ?? 0) + 1);
      return 'done';
    },
  });
  const agent = createAgent({ provider: stubborn(calls), tools: [tool], log });
  const hand = new StepRunner(agent, session);
  await hand.submitMessage('Go.');
  const work = (plan: Plan, leave?: AbortSignal): Promise<unknown> =>
    plan.do === 'request'
      ? hand.request(plan.turn, leave ? { leave } : {})
      : Promise.allSettled([hand.calls(plan)]);
  for (let plan = await hand.advance(); plan.do !== 'done'; plan = await hand.advance()) {
    const next = fate.shift() ?? 'once';
    const leaving = new AbortController();
    const done = [work(plan, leaving.signal)];
    if (next === 'twice') done.push(work(plan));
    if (next === 'left') queueMicrotask(() => leaving.abort(new Error('left')));
    if (next === 'aborted') {
      await submitStep(agent, { session, command: { type: 'abort' }, key: `stop ${fate.length}` });
      await commandStep(agent, hand.held);
    }
    await Promise.allSettled(done);
  }
  return { log, ran };
}

test('for any fate of its steps, a run ends, every call has one result, and none runs twice', () =>
  fc.assert(
    fc.asyncProperty(turns, schedule, async (calls, fate) => {
      const isStopped = fate.includes('aborted');
      const { log, ran } = await play(calls, [...fate]);
      const records = await readRecords(log, session);
      expect(findLogProblems(session, records)).toEqual([]);
      expect([...ran.values()].every((count) => count === 1)).toBe(true);
      const said = transcript(foldRecords(session, records)).at(-1);
      if (!isStopped) expect(said?.parts).toMatchObject([{ text: 'Done.' }]);
      expect((await log.info(session))?.lease).toBeUndefined();
    }),
    { numRuns: runs(1000) },
  ));
