import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { finishedSession, withSubAgent } from '../testing/sessions.ts';
import { findSession, listSummaries, userItem } from './session-summaries.ts';

const here = '/here';

describe('the sessions of a store', () => {
  test('have the first words, the folder and the time, the newest first', async () => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    for (const [name, cwd] of [
      ['old', here],
      ['other', '/there'],
      ['new', here],
    ] as const) {
      await finishedSession(log, name, `What is\n  ${name}?`, { cwd });
      clock.advance(1000);
    }
    const start = clock.now() - 3000;
    const rest = { hasWork: false, holder: undefined, through: expect.any(Number) };
    expect(await listSummaries(log)).toEqual([
      { id: 'new', title: 'What is new?', cwd: here, changedAt: start + 2000, ...rest },
      { id: 'other', title: 'What is other?', cwd: '/there', changedAt: start + 1000, ...rest },
      { id: 'old', title: 'What is old?', cwd: here, changedAt: start, ...rest },
    ]);
    const own = await listSummaries(log, { cwd: here });
    expect(own.map(({ id }) => id)).toEqual(['new', 'old']);
  });

  test('of sub-agents and of other programs have no folder', async () => {
    const log = memoryLog();
    const { session, child } = await withSubAgent(log, 'parent', here);
    const cwds = new Map((await listSummaries(log)).map(({ id, cwd }) => [id, cwd]));
    expect([cwds.get(session), cwds.get(child)]).toEqual([here, undefined]);
  });

  test('25.4: of experiments have the variant, the case and the repeat in their title', async () => {
    const log = memoryLog();
    const run = 'eval/refunds/brief/late/1/0123456789abcdef';
    for (const id of ['eval/refunds', run, `${run}/polite/0123456789abcdef/2`])
      await finishedSession(log, id, 'The same text', { cwd: here });
    const found = (await listSummaries(log)).map(({ title, cwd }) => [title, cwd]);
    expect(found.toSorted()).toEqual([
      ['Experiment refunds', undefined],
      ['refunds: brief, late, run 1', undefined],
      ['refunds: brief, late, run 1, vote 2 of polite', undefined],
    ]);
  });

  test('say who drives them, and that something is not finished', async () => {
    const log = memoryLog();
    await finishedSession(log, 'driven', 'One', { cwd: here });
    const driver = await log.open(sessionId('driven'), { holder: 'Ada' });
    const provider = scriptedProvider(['x']);
    const agent = createAgent({ provider, log, limits: { maxTurns: 1 } });
    await agent.run('Two', { session: sessionId('waiting') }).result;
    await log.submit(sessionId('waiting'), { type: 'compact' }, 'key');
    const found = new Map((await listSummaries(log)).map((one) => [one.id, one]));
    expect(found.get(sessionId('driven'))).toMatchObject({ holder: 'Ada', hasWork: false });
    expect(found.get(sessionId('waiting'))).toMatchObject({ holder: undefined, hasWork: true });
    await driver.release();
  });

  test('have a title even where the first words are long, and a picture comes first', async () => {
    const log = memoryLog();
    const picture = { kind: 'media', mimeType: 'image/png' } as const;
    const bytes = new Uint8Array(100_000);
    const said = userItem([`Look ${'at it '.repeat(100)}`], { cwd: here });
    const parts = [{ ...picture, source: { type: 'bytes', bytes } } as const, ...said.parts];
    const agent = createAgent({ provider: scriptedProvider(['Yes']), log });
    await agent.run({ ...said, parts }, { session: sessionId('s') }).result;
    const [{ title = '' } = {}] = await listSummaries(log);
    expect(title).toHaveLength(200);
    expect(title.startsWith('Look at it at it')).toBe(true);
  });
});

describe('a session is found', () => {
  const filled = async () => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    for (const name of ['abcdef', 'abcxyz', 'zzz']) {
      await finishedSession(log, name, name, { cwd: name === 'zzz' ? '/there' : here });
      clock.advance(1000);
    }
    return log;
  };

  test('by its id, by how that begins, and as the last of its folder', async () => {
    const log = await filled();
    expect((await findSession(log, 'abcdef', { cwd: here })).id).toBe('abcdef');
    expect((await findSession(log, 'abcx', { cwd: here })).id).toBe('abcxyz');
    expect((await findSession(log, 'last', { cwd: here })).id).toBe('abcxyz');
    expect((await findSession(log, 'last', { cwd: '/there' })).id).toBe('zzz');
  });

  test('though another id begins with the whole of its own', async () => {
    const log = await filled();
    await finishedSession(log, 'abc', 'Short', { cwd: here });
    expect((await findSession(log, 'abc', { cwd: here })).title).toBe('Short');
  });

  test('or an error says what there is instead', async () => {
    const log = await filled();
    const error = (which: string, cwd = here) =>
      findSession(log, which, { cwd }).catch((thrown: unknown) => thrown);
    expect(await error('abc')).toMatchObject({
      code: 'ambiguous_session',
      message: expect.stringContaining('abcdef, abcxyz'),
    });
    for (const which of ['nope', '', '\0'])
      expect(await error(which)).toMatchObject({ code: 'no_such_session' });
    expect(await error('last', '/empty')).toMatchObject({
      code: 'no_such_session',
      message: expect.stringContaining('millrace sessions --all'),
    });
  });
});
