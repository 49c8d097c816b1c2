import type { FormQuestion, JsonObject } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { inputGuardrail } from '../guardrails/define-guardrail.ts';
import { readPendingApprovals } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import { answer, createTestAgent, never, session, tool } from '../testing/test-agent.ts';

// A person answers a question by its id. Models, servers and clients choose parts of these ids.

const long = 'x'.repeat(1023);

test('18.1030: attack: one answer to a guardrail allows two inputs with long ids', async () => {
  const guardrail = inputGuardrail({ name: 'ask', check: () => ({ verdict: 'ask' }) });
  const stage = createTestAgent(['Done.'], { guardrails: [guardrail] });
  const items = [`${long}1`, `${long}2`].map((id) => {
    return { id, kind: 'user' as const, parts: [{ kind: 'text' as const, text: 'Pay' }] };
  });
  const run = stage.agent.run(items, { session });
  for (const [at, { id }] of items.entries()) {
    await stage.until('approval_asked', at + 1);
    const { asked } = await snapshot(stage.log, session);
    expect(asked.map(({ from }) => from?.itemId)).toEqual([id]);
    await run.approve(asked[0]?.toolCallId ?? expect.fail());
  }
  expect((await stage.end(run)).text).toBe('Done.');
});

const schema: JsonObject = { type: 'object', properties: {} };

test('18.1031: attack: after a crash, a form has the id of the form that the user answered', async () => {
  const [first, second] = twins();
  const ask = (message: string, answers: unknown[]) =>
    tool(
      'pay',
      async (_, context) => {
        const form: FormQuestion = { message, schema };
        const given = await context.ask?.(form);
        answers.push(given);
        // The process dies before the tool ends.
        return message === first ? never() : 'Paid.';
      },
      { afterCrash: 'repeat' },
    );
  const before: unknown[] = [];
  const stage = createTestAgent([answer(call('c1', 'pay', {}))], { tools: [ask(first, before)] });
  const run = stage.agent.run('Pay', { session });
  await stage.until('approval_asked');
  const [asked = expect.fail()] = await readPendingApprovals(stage.log, session);
  await run.approve(asked.toolCallId, { input: {} });
  await stage.until('approval_answered');
  const log = memoryLog({ clock: stage.clock });
  const driver = await log.open(session);
  for (const { turn, attempt, fact, delta } of (await stage.log.read(session, {})).records)
    await driver.append([{ turn, attempt, ...(fact ? { fact } : { delta }) } as never]);
  await driver.release();
  const after: unknown[] = [];
  const options = { log, clock: stage.clock, tools: [ask(second, after)] };
  const next = createTestAgent(['Done.'], options);
  const resumed = next.agent.resume(session);
  await next.until('tool_execution_started');
  await next.until('approval_asked');
  expect(after).toEqual([]);
  const [again = expect.fail()] = await readPendingApprovals(log, session);
  await resumed.deny(again.toolCallId);
  await next.end(resumed);
  expect(after).toEqual([{ action: 'decline' }]);
});

/**
 * Returns two texts with the same 64 bits of a hash that multiplies its state by p = 2^40 + 435 for each
 * character. (p - 435)² is 0 modulo 2^64, so three characters with the differences 1, -870 and 435² are enough.
 */
function twins(): readonly [string, string] {
  const step = (state: bigint, code: number) =>
    BigInt.asUintN(64, (state ^ BigInt(code)) * 0x100000001b3n + 1n);
  const start = [...'["Pay '].reduce((state, char) => step(state, char.codePointAt(0) ?? 0), 0n);
  let states = [start, start] as const;
  const texts: [string, string] = ['Pay ', 'Pay '];
  for (const change of [1, -870, 435 ** 2]) {
    const [low, twinLow] = [Number(states[0] & 0x1fffffn), Number(states[1] & 0x1fffffn)] as const;
    const twinOf = (code: number) => ((low ^ code) + change + twinLow - low) ^ twinLow;
    const isUsable = (code: number) => code >= 0x10000 && code <= 0x10ffff;
    let code = 0x10000;
    while (!isUsable(twinOf(code)) || (low ^ code) + change + twinLow - low >= 2 ** 21) code++;
    expect(isUsable(code)).toBe(true);
    states = [step(states[0], code), step(states[1], twinOf(code))];
    texts[0] += String.fromCodePoint(code);
    texts[1] += String.fromCodePoint(twinOf(code));
  }
  expect(states[0]).toBe(states[1]);
  return texts;
}
