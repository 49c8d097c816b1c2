import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createAgent } from '@millrace/agent';
import { matchesText, runExperiment } from '@millrace/agent/evals';
import { sessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { openStore } from '../store/open-store.ts';
import { findSession } from '../store/session-summaries.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { collect, withSubAgent } from '../testing/sessions.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { sessionsCommand } from './sessions-command.ts';

// Somebody sends an export that names another folder of the user. The daemon drives a session in its folder.

const folder = temporaryFolder('import-attack');

type Action = 'export' | 'import' | 'delete';

async function run(action: Action, store: string, input = '', exported = 'one') {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const operands = action === 'import' ? [] : [exported];
  await sessionsCommand({
    args: {
      ...{ command: 'sessions', action, operands, all: false, json: false },
      ...{ yes: action === 'delete', color: true },
    },
    config: { store },
    stdin: Readable.from([Buffer.from(input)]),
    ...{ stdout, stderr, cwd: '/srv/project', env: {}, signal: new AbortController().signal },
  });
  return stdout.text;
}

async function inStore<T>(store: string, use: (log: Log) => Promise<T>): Promise<T> {
  const { log, close } = await openStore({ config: { store }, env: {} });
  try {
    return await use(log);
  } finally {
    await close();
  }
}

test('18.196: attack: an imported session does not choose the folder in which it continues', async () => {
  const [source, target] = ['source.db', 'target.db'].map((name) => join(folder(), name)) as [
    string,
    string,
  ];
  const { session } = await inStore(source, (log) => withSubAgent(log, 'one', '/srv/private'));
  const imported = await run('import', target, await run('export', source));
  const child = imported.split('\n')[1] ?? '';
  const { summary, ofChild, records } = await inStore(target, async (log) => ({
    summary: await findSession(log, session, { cwd: '' }),
    ofChild: await findSession(log, child, { cwd: '' }),
    records: await collect(readRecords(log, sessionId('one'))),
  }));
  expect(summary.cwd).toBe('/srv/project');
  expect(ofChild.cwd).toBeUndefined();
  expect(JSON.stringify(records)).not.toContain('/srv/private');
});

// Somebody sends sessions with the ids of an experiment whose settings are public. The experiment would find all
// of its results on the log, and a gate in CI would pass without a run.
test('18.432: attack: imported sessions are not the results of an experiment', async () => {
  const source = join(folder(), 'experiment-source.db');
  const evaluate = (store: string, answer: string) =>
    inStore(store, (log) =>
      runExperiment({
        ...{ name: 'orders', log, cases: [{ id: 'late', input: 'My order?', expected: 'refund' }] },
        variants: { brief: createAgent({ log, provider: scriptedProvider([answer]) }) },
        scorers: [matchesText({ name: 'refund', compare: 'contains' })],
      }),
    );
  const [forged] = (await evaluate(source, 'You get a refund.')).runs;
  // The results alone, the runs alone, and both.
  const places = [['eval/orders'], [forged?.session ?? ''], ['eval/orders', forged?.session ?? '']];
  for (const [index, sessions] of places.entries()) {
    const target = join(folder(), `experiment-target-${index}.db`);
    for (const session of sessions)
      expect(await run('import', target, await run('export', source, '', session))).toBe(
        `imported/${session}\n`,
      );
    const { runs } = await evaluate(target, 'Go away.');
    expect(runs).toMatchObject([{ isReused: false, scores: { refund: { value: 0 } } }]);
  }
});

// The file names sessions that the user creates after the import, for example those of an experiment.
test('18.1090: attack: an imported session does not name a later session of the user as its sub-agent', async () => {
  const [source, target] = ['later-source.db', 'later-target.db'].map((name) =>
    join(folder(), name),
  ) as [string, string];
  const { session, child } = await inStore(source, (log) => withSubAgent(log, 'one', '/srv/a'));
  const exported = await run('export', source);
  // The file names the first session of the user as the sub-agent, with and without a session of this id.
  const forged = exported.replaceAll(child, 'eval/orders');
  const [parent = ''] = forged.split(/(?=\{"millrace":"session".*"eval\/orders")/);
  for (const [index, text] of [forged, parent].entries()) {
    const store = index === 0 ? target : `${target}-2.db`;
    const ids = (await run('import', store, text)).trim().split('\n');
    expect(ids[0]).toBe(session);
    await inStore(store, (log) =>
      runExperiment({
        ...{ name: 'orders', log, cases: [{ id: 'late', input: 'PRIVATE', expected: 'x' }] },
        variants: { brief: createAgent({ log, provider: scriptedProvider(['PRIVATE']) }) },
        scorers: [matchesText({ name: 'x', compare: 'contains' })],
      }),
    );
    const again = await run('export', store);
    expect(again).not.toContain('PRIVATE');
    // The sub-agent of the file still belongs to its session, so an export and a deletion include it.
    expect(again.match(/"millrace":"session"/g)).toHaveLength(ids.length);
    expect(ids).toHaveLength(2 - index);
    await run('delete', store);
    await inStore(store, async (log) => {
      expect(await log.info(sessionId('eval/orders'))).toBeDefined();
      for (const id of ids) expect(await log.info(sessionId(id))).toBeUndefined();
    });
  }
});

test('18.1091: attack: an imported session does not take a session of an earlier import as its sub-agent', async () => {
  const [source, target] = ['taken-source.db', 'taken-target.db'].map((name) =>
    join(folder(), name),
  ) as [string, string];
  const { child } = await inStore(source, (log) => withSubAgent(log, 'one', '/srv/a'));
  const exported = await run('export', source);
  const first = (await run('import', target, exported)).trim().split('\n');
  expect(first).not.toContain(child);
  const second = exported.replaceAll(child, first[1] ?? '').replaceAll('"one"', '"two"');
  const ids = (await run('import', target, second)).trim().split('\n');
  expect(ids).toEqual(['two', expect.any(String)]);
  await run('delete', target, '', 'two');
  await inStore(target, async (log) => {
    for (const id of first) expect(await log.info(sessionId(id))).toBeDefined();
  });
});
