import {
  clientTool,
  createAgent,
  defineTool,
  readUIMessages,
  subAgent,
  submitCommand,
  toolGuardrail,
  type UiMessage,
} from '@millrace/agent';
import { type LogRecord, toolCallId, toolCallPart } from '@millrace/core';
import { UiMessages } from '@millrace/core/streams';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { resumeAt, runSchedule, schedules, session } from '../../../agent/src/testing/schedules.ts';
import { randomLog, testSession } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import {
  approvalsIn,
  comparable,
  isValid,
  messagesOf,
  streamed,
} from '../testing/stored-messages.ts';

describe('20.F3: the messages of a stored session', () => {
  test('equal those that the AI SDK’s reader has at any moment of any session', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.nat(), async (plan, at) => {
        const { records, ends } = await runSchedule(plan);
        const until = (count: number) => ({ session, records: records.slice(0, count) });
        // Readers receive only complete batches.
        for (const log of [until(records.length), until(ends[at % ends.length] ?? 0)]) {
          const messages = messagesOf(log);
          const shown = await streamed(log);
          expect(comparable(messages)).toEqual(comparable(shown));
          const approvals = approvalsIn(messages);
          for (const [call, approval] of approvalsIn(shown))
            expect(approvals.get(call)).toEqual(approval);
          expect(await isValid(messages)).toBe(true);
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test('are the same, however the records are paged, and always valid', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(255), { maxLength: 120 }), async (numbers) => {
        const records = randomLog(numbers);
        const paged = new UiMessages(testSession);
        for (const record of records) paged.add(pageOf(record));
        const messages = messagesOf({ session: testSession, records });
        expect(paged.list()).toEqual(messages);
        expect(await isValid(messages)).toBe(true);
      }),
      { numRuns: runs(200) },
    );
  });
});

const pageOf = (record: LogRecord) => ({
  after: record.offset - 1,
  through: record.offset,
  records: [record],
});

const refund = defineTool({
  ...{ name: 'refund', description: 'Refunds', input: z.object({ euros: z.number() }) },
  execute: async ({ euros }) => `Paid ${euros}.`,
});
const asks = {
  content: { parts: ['Let me see.', toolCallPart(toolCallId('r'), 'refund', { euros: 5 })] },
};
const toolsIn = (messages: readonly UiMessage[]) =>
  messages.map(({ parts }) => parts.filter(({ type }) => type.startsWith('tool-')));

describe('20.F3: readUIMessages', () => {
  test('has the question while a call waits, and one message with the answer after the run continued', async () => {
    const log = memoryLog();
    const agent = createAgent({
      provider: scriptedProvider([asks, 'You get 5 €.', 'Good day.']),
      ...{ log, tools: [refund], whileAsking: 'park' as const },
      approve: () => ({ decision: 'ask', reason: 'Pay 5 €?' }) as const,
    });
    await agent.run('My kettle is broken', { session }).result;
    const asked = { id: 'r', requestReason: 'Pay 5 €?' };
    expect(toolsIn(await readUIMessages(log, session))).toEqual([
      [],
      [expect.objectContaining({ state: 'approval-requested', approval: asked })],
    ]);
    await agent.approve(session, 'r', { by: 'Ada' });
    await agent.resume(session).result;
    await agent.run('Thank you', { session }).result;
    const messages = await readUIMessages(log, session);
    expect(
      messages.map(({ role, parts }) => [
        role,
        parts.flatMap((part) => (part.type === 'text' ? part.text : [])),
      ]),
    ).toEqual([
      ['user', ['My kettle is broken']],
      ['assistant', ['Let me see.', 'You get 5 €.']],
      ['user', ['Thank you']],
      ['assistant', ['Good day.']],
    ]);
    expect(toolsIn(messages)[1]).toEqual([
      {
        ...{ type: 'tool-refund', toolCallId: 'r', state: 'output-available' },
        ...{ input: { euros: 5 }, output: 'Paid 5.', approval: { ...asked, approved: true } },
      },
    ]);
    expect(await isValid(messages)).toBe(true);
  });

  test('31.M1: ends with the messages that are queued, for example while a call waits', async () => {
    const log = memoryLog();
    const agent = createAgent({
      provider: scriptedProvider([asks, 'You get 5 €.', 'Good day.']),
      ...{ log, tools: [refund], approve: () => 'ask' as const, whileAsking: 'park' as const },
    });
    await agent.run('My kettle is broken', { session }).result;
    const typed = {
      id: 'typed',
      kind: 'user',
      parts: [{ kind: 'text', text: 'Be quick' }],
    } as const;
    await agent.run(typed, { session }).result;
    const { key } = await submitCommand(log, session, { type: 'message', input: 'Never mind' });
    await submitCommand(log, session, { type: 'withdraw', key });
    const queued = { id: 'typed', role: 'user', parts: [{ type: 'text', text: 'Be quick' }] };
    const waiting = await readUIMessages(log, session);
    expect(waiting.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(waiting[2]).toEqual(queued);
    expect(await isValid(waiting)).toBe(true);
    await agent.approve(session, 'r');
    await agent.resume(session).result;
    const answered = await readUIMessages(log, session);
    expect(JSON.stringify(answered).split('Be quick')).toHaveLength(2);
    expect(answered).not.toContainEqual(queued);
  });

  test('has the question of a sub-agent in the open message only', async () => {
    const log = memoryLog();
    const desk = createAgent({
      provider: scriptedProvider([asks, 'Done.']),
      ...{ name: 'desk', tools: [refund], log, approve: () => 'ask' as const },
    });
    const task = toolCallPart(toolCallId('t'), 'help', { task: 'Refund it' });
    const agent = createAgent({
      provider: scriptedProvider(['Hello.', { content: { parts: [task] } }, 'Bye.']),
      tools: [subAgent({ name: 'help', description: 'Helps', agent: desk })],
      ...{ log, whileAsking: 'park' as const },
    });
    await agent.run('Hello', { session }).result;
    await agent.run('Refund it', { session }).result;
    const states = toolsIn(await readUIMessages(log, session)).map((parts) =>
      parts.map((part) => [part.type, 'state' in part && part.state]),
    );
    const waiting = [
      ['tool-help', 'output-available'],
      ['tool-refund', 'approval-requested'],
    ];
    expect(states).toEqual([[], [], [], waiting]);
  });

  test('has the changed input of a call that the page runs', async () => {
    const log = memoryLog();
    const form = clientTool({
      ...{ name: 'refund', description: 'A form', input: z.object({ euros: z.number() }) },
    });
    const atMost3 = toolGuardrail({
      ...{ name: 'at-most-3', tools: [form] },
      check: () => ({ verdict: 'change', to: { euros: 3 } }) as const,
    });
    const agent = createAgent({
      provider: scriptedProvider([asks, 'Done.']),
      ...{ log, tools: [form], guardrails: [atMost3], whileAsking: 'park' as const },
    });
    await agent.run('My kettle is broken', { session }).result;
    expect(toolsIn(await readUIMessages(log, session))[1]).toEqual([
      { type: 'tool-refund', toolCallId: 'r', state: 'input-available', input: { euros: 3 } },
    ]);
  });

  test('has files of the user, and nothing of a redacted item', async () => {
    const log = memoryLog();
    const agent = createAgent({ provider: scriptedProvider(['A cat.']), log });
    const picture = { type: 'bytes', bytes: Uint8Array.of(1, 2) } as const;
    const result = await agent.run(
      {
        id: 'q',
        kind: 'user',
        parts: [{ kind: 'file', name: 'cat.png', mimeType: 'image/png', source: picture }],
      },
      { session },
    ).result;
    const [question, answer] = await readUIMessages(log, session);
    const url = 'data:image/png;base64,AQI=';
    expect(question).toEqual({
      ...{ id: 'q', role: 'user' },
      parts: [{ type: 'file', mediaType: 'image/png', url, filename: 'cat.png' }],
    });
    expect(answer?.parts).toContainEqual({ type: 'text', text: 'A cat.', state: 'done' });
    const item = result.items.at(-1)?.id ?? expect.fail('there is no answer');
    await log.redact(session, item);
    expect(JSON.stringify(await readUIMessages(log, session))).not.toContain('A cat.');
  });

  test('has no messages of a session that does not exist', async () => {
    expect(await readUIMessages(memoryLog(), 'none')).toEqual([]);
  });
});

test('a session that a crash cut and another process continued has valid messages', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, fc.nat(), async (plan, at) => {
      const { all, into } = await resumeAt(plan, at, 'keep');
      expect(await isValid(messagesOf({ session: into, records: all }))).toBe(true);
    }),
    { numRuns: runs(100) },
  );
});
