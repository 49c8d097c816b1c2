import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attemptOf, type DraftRecord, sessionId, toArray, transcript } from '@millrace/core';
import { memoryLog, sessionStates, snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../../providers/src/testing/virtual-clock.ts';
import type { JournalTurn } from '../contract/task-journal.ts';
import { messageDrafts } from '../messages/message-drafts.ts';
import { agentText, eventually, ids, userText } from '../testing/servers/task-harness.ts';
import { UpdateWriter } from '../updates/update-writer.ts';
import { JournalPool } from './journal-pool.ts';
import { LocalJournal } from './local-journal.ts';

const task = 'task1';
const session = sessionId(task);
const message = messageDrafts(userText('Hi'), ids);

function harness() {
  const clock = new VirtualClock();
  const log = memoryLog();
  const options = { log, clock, ids, idleMs: 1000 };
  return { clock, log, options, journal: new LocalJournal(task, options) };
}

/** An answer that is not finished. */
function half(turn: JournalTurn): readonly DraftRecord[] {
  const writer = new UpdateWriter({ turn: turn.turn, attempt: turn.attempt, ids });
  return writer.write({ type: 'delta', index: 0, delta: { type: 'text', text_delta: 'Half an' } });
}

test('takes the lease with the first write and releases it when idle', async () => {
  const { journal, log, clock } = harness();
  await journal.state();
  expect(await log.info(session)).toBeUndefined();
  await journal.append(message);
  expect((await log.info(session))?.lease?.holder).toBe('server');
  clock.advance(999);
  await journal.append([]);
  clock.advance(999);
  expect((await log.info(session))?.lease).toBeDefined();
  clock.advance(1);
  await eventually(async () => (await log.info(session))?.lease === undefined);
});

test('keeps the lease during a turn, even without writes', async () => {
  const { journal, log, clock } = harness();
  const turn = await journal.beginTurn();
  clock.advance(100_000);
  expect((await log.info(session))?.lease).toBeDefined();
  await turn.finish({ reason: 'stop' });
  clock.advance(1000);
  await eventually(async () => (await log.info(session))?.lease === undefined);
});

test('continues after the lease was released, with the records of other writers', async () => {
  const { journal, log, clock, options } = harness();
  await journal.append(message);
  clock.advance(1000);
  await eventually(async () => (await log.info(session))?.lease === undefined);
  const other = new LocalJournal(task, options);
  await other.append(messageDrafts(userText('From elsewhere'), ids));
  await expect(journal.append(message)).rejects.toMatchObject({ code: 'conflict' });
  await other.close();
  expect(transcript(await journal.state())).toHaveLength(2);
  await journal.append(messageDrafts(userText('And again'), ids));
  expect(transcript(await journal.state())).toEqual(transcript(await snapshot(log, session)));
});

test('concurrent appends are folded in order', async () => {
  const { journal, log } = harness();
  const texts = Array.from({ length: 20 }, (_, n) => `text ${n}`);
  await Promise.all(texts.map((text) => journal.append(messageDrafts(userText(text), ids))));
  const items = transcript(await journal.state());
  expect(items.map(({ parts: [part] }) => part?.kind === 'text' && part.text)).toEqual(texts);
  expect(items).toEqual(transcript(await snapshot(log, session)));
});

test('turns are numbered, and only one is active', async () => {
  const { journal } = harness();
  const first = await journal.beginTurn();
  await expect(journal.beginTurn()).rejects.toMatchObject({ code: 'conflict' });
  await first.finish({ reason: 'stop' });
  await expect(first.append(message)).rejects.toMatchObject({ code: 'bad_state' });
  expect([first.turn, (await journal.beginTurn()).turn]).toEqual([1, 2]);
});

test('ends what a crashed driver left before it writes anything else', async () => {
  const { journal, log, options } = harness();
  const turn = await journal.beginTurn();
  await turn.append(half(turn));
  const repaired: string[] = [];
  const dead = await log.open(session, { takeOver: true });
  await dead.release();
  const onRepaired = async (id: string) => void repaired.push(id);
  const next = new LocalJournal(task, { ...options, onRepaired });
  await next.append(messageDrafts(agentText('Next'), ids));
  const [stored] = transcript(await next.state());
  expect(stored).toMatchObject({
    parts: [{ text: 'Half an', partial: true }],
    stop: { reason: 'aborted', cause: 'interrupted' },
  });
  expect([repaired, (await log.info(session))?.hasWork]).toEqual([[task], false]);
  await expect(turn.append(message)).rejects.toMatchObject({ code: 'unavailable' });
});

test('commands stay queued until they are consumed', async () => {
  const { log, options } = harness();
  const journal = new LocalJournal(task, options);
  await log.submit(session, { type: 'event', id: 'a', content: null }, 'a');
  await log.submit(session, { type: 'event', id: 'b', content: null }, 'b');
  const keys = async () => (await journal.commands()).map(({ key }) => key);
  expect(await keys()).toEqual(['a', 'b']);
  await journal.consume('a');
  await log.submit(session, { type: 'event', id: 'c', content: null }, 'c');
  expect(await keys()).toEqual(['b', 'c']);
});

test('concurrent users of a task share one journal', async () => {
  const { options, log } = harness();
  const journals = new JournalPool(options);
  await journals.use(task, (one) => journals.use(task, async (two) => expect(two).toBe(one)));
  await journals.use(task, (journal) => journal.append(message));
  await journals.close();
  expect((await log.info(session))?.lease).toBeUndefined();
  await expect(journals.use(task, (journal) => journal.append(message))).rejects.toMatchObject({
    code: 'unavailable',
  });
});

test('21.B: reads a session again after its log was rewound, without a lease too', async () => {
  const { journal, log, clock, options } = harness();
  await journal.append(message);
  clock.advance(1000);
  await eventually(async () => (await log.info(session))?.lease === undefined);
  expect(transcript(await journal.state())).toHaveLength(1);
  // A session that was deleted and created again has a new incarnation, like a restored session.
  await log.delete(session);
  const other = new LocalJournal(task, options);
  await other.append(messageDrafts(userText('From elsewhere'), ids));
  expect(await journal.openWork()).toMatchObject({ isRunOpen: false, commands: [] });
  expect(transcript(await journal.state())).toEqual(transcript(await other.state()));
});

test('21.F: reads a session again if another process edited an item that the journal has dropped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const open = () => sqliteLog({ path: join(folder, 'log.db'), commitIntervalMs: 0 });
  const [log, other] = [open(), open()];
  onTestFinished(async () => void (await Promise.all([log.close(), other.close()])));
  const clock = new VirtualClock();
  for (let turns = 0; turns < 8; turns++) {
    sessionStates(log, { recordsPerSnapshot: 50 }).forget(session);
    const writer = new LocalJournal(task, { log, clock, ids });
    for (let turn = 0; turn < 12; turn++) {
      await writer.append(messageDrafts(userText('Hi'), ids));
      await (await writer.beginTurn()).finish({ reason: 'stop' });
    }
    await writer.close();
    await sessionStates(log).saved();
  }
  sessionStates(log).forget(session);
  const journals = [0, 1].map(() => new LocalJournal(task, { log, clock, ids }));
  for (const journal of journals) expect(await journal.commands()).toEqual([]);
  const { items, through } = await snapshot(other, session);
  const partId = toArray(items)[0]?.parts[0]?.id ?? expect.fail();
  const driver = await other.open(session, { from: through });
  const delta = { type: 'retract_part', partId, reason: 'edited' } as const;
  await driver.append([{ ...attemptOf(partId), delta }]);
  await driver.release();
  const [reader, writer] = journals;
  expect(await reader?.commands()).toEqual([]);
  await writer?.append(message);
  const whole = toArray((await writer?.state())?.items ?? expect.fail());
  expect(whole[0]?.parts).toEqual([]);
  for (const journal of journals) await journal.close();
});
