import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent, defineTool, systemClock } from '@millrace/agent';
import {
  type AgentEvent,
  type Batch,
  countingIds,
  findLast,
  type Item,
  itemId,
  type SessionId,
  sessionId,
} from '@millrace/core';
import {
  type Log,
  memoryLog,
  readRecords,
  sessionStates,
  snapshot,
  storedValue,
} from '@millrace/log';

import { sqliteLog } from '@millrace/log/sqlite';
import { type ScriptEntry, scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { todoTool } from '@millrace/tools';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { runSchedule, schedules } from '../../../../../packages/agent/src/testing/schedules.ts';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { storeTmpdir } from '../../../../../packages/core/src/testing/store-tmpdir.ts';
import { decodePart, encodePart } from '../../../../../packages/log/src/any-log/snapshot-codec.ts';
import { planNote, planOverNote } from '../../agent/session-mode.ts';
import { type Block, countBlocks } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';
import { EarlierBlocks } from './earlier-blocks.ts';
import { EventFolder, sessionStart } from './follow-session.ts';
import { lastMessage } from './rewind-points.ts';
import { SessionView } from './session-view.ts';
import { type ChatAt, isQuiet, placeOf, storedChat } from './stored-chat.ts';

const session = sessionId('s');
const folder = mkdtempSync(join(storeTmpdir(), 'millrace-chat-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** The messages of a session of the terminal, and what happens around them. */
interface ChatPlan {
  readonly messages: readonly {
    readonly folder: string;
    readonly note: string | undefined;
    readonly answers: readonly (keyof typeof answers)[];
    readonly after: 'nothing' | 'queue' | 'withdraw' | 'revoke' | 'redact' | 'settle' | 'abort';
  }[];
}

const tasks = [{ text: 'Read the orders', state: 'doing' }];
const answers = {
  text: 'A table:\n\n- one\n- two\n\nAnd the end.',
  empty: '',
  thought: [{ kind: 'reasoning', form: 'summary', text: 'I think.' }, 'So it is.'],
  look: ['I look.', toolCall('look', { file: 'a' }), toolCall('look', { file: 'b' })],
  ask: [toolCall('ask', { file: 'c' })],
  fail: [toolCall('fail', {})],
  todo: [toolCall('todo', { tasks })],
  overloaded: {
    content: { parts: ['Half an'] },
    fault: { type: 'error', after: 1, error: 'overloaded' },
  },
  refused: { content: { parts: ['No'] }, fault: { type: 'error', after: 1, error: 'auth' } },
  long: { content: { parts: ['Too long'] }, stop: { reason: 'length' } },
} as const satisfies Readonly<Record<string, ScriptEntry>>;

const names = Object.keys(answers) as (keyof typeof answers)[];

const chatPlans: fc.Arbitrary<ChatPlan> = fc.record({
  messages: fc.array(
    fc.record({
      folder: fc.constantFrom('/one', '/one', '/two', '/three'),
      note: fc.constantFrom(undefined, undefined, undefined, planNote, planOverNote),
      answers: fc.array(fc.constantFrom(...names), { maxLength: 4 }),
      after: fc.constantFrom(
        ...(['nothing', 'nothing', 'nothing', 'queue', 'withdraw', 'revoke'] as const),
        ...(['redact', 'settle', 'abort'] as const),
      ),
    }),
    { minLength: 1, maxLength: 8 },
  ),
});

const input = z.object({ file: z.string().optional() });

/** Runs a plan, so that the log has its session. Calls of the tool `ask` are approved for the session. */
async function runChatPlan(log: Log, { messages }: ChatPlan) {
  const script = messages.flatMap((message) => message.answers.map((name) => answers[name]));
  const rest = Array.from({ length: 6 * messages.length + 20 }, () => 'And so on.');
  const tool = (name: string, execute: () => Promise<string>) =>
    defineTool({ name, description: name, input, execute });
  const agent = createAgent({
    ...{ log, ids: countingIds(), random: () => 0, limits: { maxTurns: 8 } },
    provider: scriptedProvider([...script, ...rest]),
    tools: [
      tool('look', async () => 'a\nb'),
      tool('ask', async () => 'asked'),
      tool('fail', async () => {
        throw new Error('It broke.');
      }),
      todoTool(),
    ],
    approve: (call) => (call.tool.name === 'ask' ? { decision: 'ask', rule: 'ask *' } : 'allow'),
    retry: { maxAttempts: 2, maxDelayMs: 1 },
  });
  let count = 0;
  let commands = 0;
  const submit = (command: Parameters<Log['submit']>[1]) =>
    log.submit(session, command, `command-${++commands}`);
  for (const { folder, note, after } of messages) {
    const texts = [`Message ${++count}`, ...(note === undefined ? [] : [note])];
    const item: Item = {
      ...{ id: itemId(`message-${count}-of-the-session`), kind: 'user', metadata: { cwd: folder } },
      parts: texts.map((text) => ({ kind: 'text', text })),
    };
    const run = agent.run(item, { session });
    for await (const event of run.events) {
      if (event.type === 'approval_asked')
        await run.approve(event.toolCallId, { until: 'session' }).catch(() => {});
      if (event.type === 'turn_started' && after === 'abort')
        void run.abort('enough').catch(() => {});
    }
    await run.result;
    if (after === 'queue' || after === 'withdraw')
      await submit({ type: 'message', when: 'follow_up', items: [] });
    if (after === 'withdraw') await submit({ type: 'withdraw', key: `command-${commands}` });
    if (after === 'revoke') await submit({ type: 'revoke', rule: 'ask *' });
    if (after === 'redact') await log.redact(session, item.id, 'secret');
    if (after === 'settle') await log.settle(session, count);
  }
}

/** Folds events, and returns the state after them with the blocks. */
function foldEvents(start: ChatState, events: readonly AgentEvent[]) {
  const blocks: Block[] = [];
  let state = start;
  for (const event of events) {
    const step = foldChat(state, event);
    state = step.state;
    blocks.push(...step.blocks);
  }
  return { state, blocks };
}

interface FoldedBatch extends ChatAt {
  readonly isQuiet: boolean;
  readonly blocks: readonly Block[];
}

/** Folds a session record by record from a place, and returns the state after each record. */
async function foldFrom(log: Log, which: SessionId, start: ChatAt) {
  const events = new EventFolder(which, start.through === 0 ? sessionStart : placeOf(start));
  const steps: FoldedBatch[] = [];
  let { state, count, through: after } = start;
  for await (const record of readRecords(log, which)) {
    if (record.offset <= start.through) continue;
    const batch: Batch = { after, through: record.offset, records: [record] };
    const folded = events.add(batch);
    if (folded === undefined) throw new Error(`A gap at ${record.offset}`);
    const step = foldEvents(state, folded.events);
    ({ state } = step);
    count += countBlocks(step.blocks);
    after = record.offset;
    const { blocks } = step;
    steps.push({ through: after, state, count, blocks, isQuiet: isQuiet(folded, state) });
  }
  return steps;
}

/** Returns the value as the store returns it. */
function stored({ session: of, ...state }: ChatState): ChatState {
  return { ...emptyChat(of), ...(decodePart(encodePart(state)) as Omit<ChatState, 'session'>) };
}

const startOf = (which: SessionId): ChatAt => ({ through: 0, state: emptyChat(which), count: 0 });

/** Checks that a fold from any stored state and pages of earlier blocks have the content of a whole fold. */
async function checkCuts(log: Log, which: SessionId, at: number, minRecords: number) {
  const whole = await foldFrom(log, which, startOf(which));
  const quiet = whole.filter((step) => step.isQuiet);
  const cut = quiet[at % Math.max(1, quiet.length)];
  const last = whole.at(-1);
  if (cut === undefined || last === undefined) return quiet.length;
  const tail = await foldFrom(log, which, { ...cut, state: stored(cut.state) });
  const after = whole.filter(({ through }) => through > cut.through);
  expect(tail.flatMap(({ blocks }) => blocks)).toEqual(after.flatMap(({ blocks }) => blocks));
  expect(tail.at(-1)?.state ?? cut.state).toEqual(last.state);
  expect(tail.at(-1)?.count ?? cut.count).toBe(last.count);
  const pages = new EarlierBlocks({ log, session: which, through: cut.through, minRecords });
  const earlier: Block[] = [];
  while (!pages.isOver) earlier.unshift(...(await pages.read()));
  const before = whole.filter(({ through }) => through <= cut.through);
  expect(earlier).toEqual(before.flatMap(({ blocks }) => blocks));
  return quiet.length;
}

test('23.8: a state that was stored in any pause continues as if all records were folded', async () => {
  let pauses = 0;
  await fc.assert(
    fc.asyncProperty(
      schedules,
      fc.nat(),
      fc.integer({ min: 1, max: 40 }),
      async (plan, at, min) => {
        const { log } = await runSchedule(plan);
        pauses += await checkCuts(log, session, at, min);
      },
    ),
    { numRuns: runs(300) },
  );
  expect(pauses).toBeGreaterThan(0);
});

test('23.8: the same holds for sessions with several messages, folders, plans and queued messages', async () => {
  await fc.assert(
    fc.asyncProperty(
      chatPlans,
      fc.nat(),
      fc.integer({ min: 1, max: 40 }),
      async (plan, at, min) => {
        const log = memoryLog();
        await runChatPlan(log, plan);
        await checkCuts(log, session, at, min);
        const last = findLast((await snapshot(log, session)).items, ({ kind }) => kind === 'user');
        const { part } = last?.parts[0] ?? {};
        expect(await lastMessage(log, session)).toBe(part?.kind === 'text' ? part.text : '');
        await log.close();
      },
    ),
    { numRuns: runs(200) },
  );
});

/** Opens a session as the chat does, and returns its blocks and its state after all records are read. */
async function openView(
  log: Log,
  limits: { readonly afterStored: number; readonly lastRun: number },
) {
  const view = new SessionView({
    ...{ log, session, start: 'recent', limits: { whole: 0, spacing: 10, ...limits } },
    ...{ print: () => {}, onChange: () => {}, onEvent: () => {} },
    onError: (error) => {
      throw error;
    },
  });
  const { blocks, count, earlier } = await view.open();
  // The view can become whole while the test reads the earlier blocks. `count` is from before.
  const { state: first, approvals, isWhole } = view;
  const all = [...blocks];
  while (earlier?.isOver === false) all.unshift(...(await earlier.read()));
  await view.whole;
  const { state } = view;
  await view.close();
  return { all, count, first, state, approvals, isWhole };
}

/** A session whose last run is short enough, so that the chat opens only its end. */
const longPlan: ChatPlan = {
  messages: Array.from({ length: 8 }, () => ({
    ...{ folder: '/one', note: undefined, answers: [], after: 'nothing' as const },
  })),
};

test('23.8: a chat that opens at the end shows what a chat that read all records shows', async () => {
  let [cuts, stores] = [0, 0];
  await fc.assert(
    fc.asyncProperty(chatPlans, fc.nat(60), fc.nat(200), async (plan, afterStored, lastRun) => {
      const log = sqliteLog({ path: join(folder, `${++files}.db`), commitIntervalMs: 0 });
      sessionStates(log, { recordsPerSnapshot: 5 });
      await runChatPlan(log, plan);
      const last = (await foldFrom(log, session, startOf(session))).at(-1);
      const whole = { state: last?.state, count: last?.count };
      for (let time = 0; time < 3; time++) {
        const opened = await openView(log, { afterStored, lastRun });
        expect(opened.state).toEqual(whole.state);
        expect(countBlocks(opened.all)).toBe(whole.count);
        if (opened.isWhole) expect(opened.count).toBe(whole.count);
        expect(opened.first.run).toEqual(whole.state?.run);
        expect(opened.first.approvals).toEqual(whole.state?.approvals);
        if (!opened.isWhole) cuts++;
        const isStored = await storedValue(log, session, storedChat);
        if (isStored !== undefined) stores++;
      }
      await log.close();
    }),
    { numRuns: runs(200), examples: [[longPlan, 0, 200]] },
  );
  expect([cuts > 0, stores > 0]).toEqual([true, true]);
});

test('23.8: the stored state of a fixed session is the one of this version', async () => {
  const log = memoryLog({ clock: { now: () => 1000, after: systemClock.after } });
  const answers = ['thought', 'look', 'ask', 'todo', 'fail', 'overloaded', 'refused'] as const;
  const message = { folder: '/one', note: planNote, answers, after: 'queue' } as const;
  await runChatPlan(log, { messages: [message] });
  const last = (await foldFrom(log, session, startOf(session))).at(-1);
  const { session: _, ...state } = last?.state ?? emptyChat(session);
  // If this fails because the fold was changed: increase `version` in `storedChat`, so that no chat continues with a
  // state that an earlier program stored, and then the line below.
  const known = { version: 2, sum: 'abd3f3dc' };
  const sum = hash('sha1', encodePart(state)).slice(0, 8);
  expect({ version: storedChat.version, sum }).toEqual(known);
});
