import { type ItemId, itemId, type LogRecord, sessionId } from '@millrace/core';
import { exportSession, importSession, type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { diffSessions } from '../diff/diff-sessions.ts';
import { submitCommand } from '../input/submit-command.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { forkSession } from './fork-before.ts';
import { itemLabelOf, labelItem } from './item-labels.ts';

const session = sessionId('s');

async function recordsOf(log: Log, of: string): Promise<readonly LogRecord[]> {
  return (await log.read(of, { maxBytes: 10 ** 7 })).records;
}

/** Returns the labels of a session as the fold of its log. */
async function labelsOf(log: Log, of: string = session): Promise<Readonly<Record<string, string>>> {
  const labels = new Map<ItemId, string>();
  for (const record of await recordsOf(log, of)) {
    const { itemId: id, text } = itemLabelOf(record) ?? {};
    if (id === undefined) continue;
    if (text === undefined) labels.delete(id);
    else labels.set(id, text);
  }
  return Object.fromEntries(labels);
}

/** A session with two messages, and the ids of these messages. */
async function twoMessages() {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.', 'Three.']), log });
  const input = (id: string) => ({
    ...{ id: itemId(id), kind: 'user' as const, parts: [{ kind: 'text' as const, text: id }] },
  });
  await agent.run(input('a'), { session }).result;
  const between = (await log.info(session))?.through ?? 0;
  await agent.run(input('b'), { session }).result;
  return { log, agent, between };
}

describe('the label of an item', () => {
  test('is on the log, is replaced, is removed, and leaves no work', async () => {
    const { log } = await twoMessages();
    await labelItem(log, session, { itemId: itemId('a'), text: 'before the refactoring' });
    await labelItem(log, session, { itemId: itemId('b'), text: 'after it' });
    expect(await labelsOf(log)).toEqual({ a: 'before the refactoring', b: 'after it' });
    await labelItem(log, session, { itemId: itemId('a'), text: 'start' });
    await labelItem(log, session, { itemId: itemId('b') });
    expect(await labelsOf(log)).toEqual({ a: 'start' });
    expect((await log.info(session))?.hasWork).toBe(false);
    expect(findLogProblems(session, await recordsOf(log, session))).toEqual([]);
  });

  test('is one line of at most 100 characters without control characters', async () => {
    const { log } = await twoMessages();
    const text = `  a\n\u001b]52;c;x\u0007\u202eb\u2066 ${'é😀'.repeat(100)}`;
    await labelItem(log, session, { itemId: itemId('a'), text });
    const { a = '' } = await labelsOf(log);
    expect(a).toMatch(/^a \]52;c;x b é😀/);
    expect([...a]).toHaveLength(100);
    expect(a).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    await labelItem(log, session, { itemId: itemId('a'), text: ' \u0000 ' });
    expect(await labelsOf(log)).toEqual({});
    await log.submit(session, { type: 'label', itemId: 'a', text: 'x\u009b\nforged' }, 'k');
    expect(await labelsOf(log)).toEqual({ a: 'x forged' });
  });

  test('waits for the driver if another process drives the session, which consumes it without an answer', async () => {
    const { log, agent } = await twoMessages();
    const driver = await log.open(session, { holder: 'other' });
    await labelItem(log, session, { itemId: itemId('a'), text: 'kept' });
    await driver.release();
    expect(await labelsOf(log)).toEqual({ a: 'kept' });
    expect((await log.info(session))?.hasWork).toBe(true);
    await agent.resume(session).result;
    expect((await log.info(session))?.hasWork).toBe(false);
    const consumed = (await recordsOf(log, session)).flatMap(({ fact }) =>
      fact?.type === 'command_consumed' ? [fact.error] : [],
    );
    expect(consumed).toEqual([undefined]);
  });

  test('stays with the copied items of a fork, and goes with the others', async () => {
    const { log, between } = await twoMessages();
    await labelItem(log, session, { itemId: itemId('a'), text: 'old' });
    await labelItem(log, session, { itemId: itemId('a'), text: 'kept' });
    await labelItem(log, session, { itemId: itemId('b'), text: 'gone' });
    await forkSession(log, session, { into: 'fork', through: between });
    expect(await labelsOf(log, 'fork')).toEqual({ a: 'kept' });
    const { through = 0 } = (await log.info(session)) ?? {};
    await log.fork(session, { into: 'copy', through });
    expect(await labelsOf(log, 'copy')).toEqual({ a: 'kept', b: 'gone' });
    expect((await log.info('fork'))?.hasWork).toBe(false);
  });

  test('is no divergence between two copies', async () => {
    const { log } = await twoMessages();
    const { through = 0 } = (await log.info(session)) ?? {};
    await log.fork(session, { into: 'copy', through });
    await labelItem(log, 'copy', { itemId: itemId('a'), text: 'only here' });
    await log.submit('copy', { type: 'label', itemId: 'b', text: 'unread' }, 'k');
    const { divergence } = await diffSessions({ log, session }, { log, session: 'copy' });
    expect(divergence).toBeUndefined();
  });

  test('goes with a redaction of the item, and with an import', async () => {
    const { log } = await twoMessages();
    await labelItem(log, session, { itemId: itemId('a'), text: 'a secret' });
    await labelItem(log, session, { itemId: itemId('b'), text: 'kept' });
    await log.redact(session, 'a');
    expect(await labelsOf(log)).toEqual({ b: 'kept' });
    expect(JSON.stringify(await recordsOf(log, session))).not.toContain('a secret');
    const other = memoryLog();
    await importSession(other, exportSession(log, session));
    expect(await labelsOf(other)).toEqual({});
  });

  test.for([
    [{ type: 'label', itemId: '' }, 'label needs the field itemId'],
    [{ type: 'label', itemId: 'a', text: 1 }, 'the text of label must be a string'],
    [{ type: 'label', itemId: 'a', name: 'x' }, 'label has no field name'],
  ] as const)('submitCommand refuses %j', async ([command, why]) => {
    const { log } = await twoMessages();
    await expect(submitCommand(log, session, command as never)).rejects.toThrow(why);
  });

  test('a session that does not exist has no label', async () => {
    const labelled = labelItem(memoryLog(), 'none', { itemId: itemId('a'), text: 'x' });
    await expect(labelled).rejects.toMatchObject({ code: 'no_such_session' });
  });
});
