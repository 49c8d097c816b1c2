import { type Item, sessionId, transcript } from '@millrace/core';
import { spansOf } from '@millrace/core/spans';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { type LogIndex, openLogIndex, queryTables } from '@millrace/log/query';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../core/src/testing/runs.ts';
import { call } from './testing/model-script.ts';
import { fails } from './testing/replay-scenarios.ts';
import { runSchedule, schedules } from './testing/schedules.ts';
import { answer, createTestAgent, session, tool } from './testing/test-agent.ts';

// Queries need the same rows, no matter when the index read the records of a run.

function rowsOf(index: LogIndex) {
  return queryTables.map(({ name, columns }) => {
    const { rows } = index.query(`SELECT ${Object.keys(columns).join(', ')} FROM ${name}`);
    return [name, rows.map((row) => JSON.stringify(row)).toSorted()] as const;
  });
}

async function freshRows(log: Log) {
  const index = await openLogIndex(log);
  const rows = rowsOf(index);
  index.close();
  return rows;
}

test('the index of a session that grows equals an index that is built at its end', async () => {
  let mostRuns = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('text', 'call', 'fail', 'ask'), { minLength: 2, maxLength: 6 }),
      fc.array(fc.nat(200), { maxLength: 8 }),
      async (kinds, refreshAt) => {
        const script = kinds.flatMap((kind, at) => {
          if (kind === 'fail') return [fails('overloaded', 2), answer(`After a fault ${at}`)];
          if (kind === 'text') return [answer(`Only text ${at}`)];
          return [answer(call(`c${at}`, kind, { at })), answer(`Done ${at}`)];
        });
        const refreshes: Promise<void>[] = [];
        let index: LogIndex | undefined;
        const test = createTestAgent(script, {
          tools: [tool('call', () => 'called'), tool('ask', () => 'asked')],
          approve: ({ tool: { name } }) => (name === 'ask' ? 'ask' : 'allow'),
          observers: [
            ({ offset }) => {
              if (refreshAt.includes(offset) && index) refreshes.push(index.refresh());
            },
          ],
        });
        index = await openLogIndex(test.log);
        for (const [at, kind] of kinds.entries()) {
          const run = test.agent.run(`Message ${at}`, { session });
          if (kind === 'ask') {
            const asked = kinds.slice(0, at + 1).filter((one) => one === 'ask').length;
            await test.until('approval_asked', asked);
            const { fact } =
              test.records.findLast((one) => one.fact?.type === 'approval_asked') ?? {};
            if (fact?.type === 'approval_asked') await run.approve(fact.toolCallId);
          }
          await test.end(run);
        }
        await Promise.all(refreshes);
        await index.refresh();
        expect(rowsOf(index)).toEqual(await freshRows(test.log));
        mostRuns = Math.max(
          mostRuns,
          Number(index.query('SELECT count(*) n FROM runs').rows[0]?.['n']),
        );
        index.close();
      },
    ),
    { numRuns: runs(200) },
  );
  expect(mostRuns).toBeGreaterThan(1);
});

test('the tables contain the spans and the texts of the folds', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (plan) => {
      const { log, records } = await runSchedule(plan);
      const index = await openLogIndex(log);
      const spans = spansOf(records);
      for (const [table, kinds] of [
        ['runs', ['run']],
        ['turns', ['turn']],
        ['attempts', ['attempt']],
        ['calls', ['call', 'agent']],
        ['approvals', ['approval']],
        ['retries', ['retry']],
      ] as const) {
        const { rows } = index.query(`SELECT span FROM ${table}`);
        const expected = spans.filter(({ kind }) => (kinds as readonly string[]).includes(kind));
        expect(rows.map(({ span }) => span).toSorted()).toEqual(
          expected.map(({ id }) => id).toSorted(),
        );
      }
      const texts = transcript(await snapshot(log, session)).flatMap(textsOf);
      const { rows } = index.query('SELECT text FROM items');
      for (const text of texts)
        expect(rows.some((row) => String(row['text']).includes(text))).toBe(true);
      index.close();
    }),
    { numRuns: runs(200) },
  );
});

const textsOf = ({ parts }: Item): readonly string[] =>
  parts.flatMap((part) => (part.kind === 'text' ? part.text : []));

test('redacted content disappears from all tables, and a deleted session has no rows', async () => {
  const test = createTestAgent([answer('The code is swordfish'), answer('Nothing to say')]);
  const { agent, log } = test;
  await test.end(agent.run('Tell me', { session }));
  const index = await openLogIndex(log);
  const found = () => index.query("SELECT item FROM search WHERE search MATCH 'swordfish'").rows;
  expect(found()).toHaveLength(1);
  const { item } = found()[0] ?? {};
  await log.redact(session, item as never);
  await index.refresh();
  expect(found()).toEqual([]);
  expect(index.query('SELECT text FROM items WHERE is_redacted = 1').rows).toEqual([{ text: '' }]);
  await log.delete(session);
  await index.refresh();
  expect(rowsOf(index).flatMap(([, rows]) => rows)).toEqual([]);
  index.close();
});

test('a fork adds only its own work', async () => {
  const test = createTestAgent([answer('One'), answer('Two')]);
  await test.end(test.agent.run('First', { session }));
  const into = sessionId('fork');
  const { through = 0 } = (await test.log.info(session)) ?? {};
  await test.log.fork(session, { into, through });
  await test.end(test.agent.run('Second', { session: into }));
  const index = await openLogIndex(test.log);
  const { rows } = index.query(
    'SELECT session, count(*) n FROM attempts GROUP BY session ORDER BY session',
  );
  expect(rows).toEqual([
    { session: 'fork', n: 1 },
    { session: 's', n: 1 },
  ]);
  expect(index.query("SELECT forked_from FROM sessions WHERE session = 'fork'").rows).toEqual([
    { forked_from: 's' },
  ]);
  index.close();
});

test('only queries are accepted, and nothing can be changed', async () => {
  const index = await openLogIndex(memoryLog());
  for (const sql of [
    'DELETE FROM spans',
    "ATTACH 'file.db' AS other",
    'PRAGMA query_only = OFF',
    'WITH x AS (SELECT 1) INSERT INTO sessions (session) SELECT 1 FROM x',
    'SELECT * FROM nothing',
    'SELECT',
    '',
  ])
    expect(() => index.query(sql), sql).toThrow(expect.objectContaining({ code: 'bad_query' }));
  expect(index.query('SELECT ? AS a', [1]).rows).toEqual([{ a: 1 }]);
  expect(index.query('SELECT :a AS a', { a: 'x' })).toEqual({ columns: ['a'], rows: [{ a: 'x' }] });
  await expect(openLogIndex(memoryLog(), { sinc: 1 } as never)).rejects.toThrow(
    expect.objectContaining({ code: 'bad_option' }),
  );
  index.close();
});

test('the requests of an agent have its version', async () => {
  const versions: (string | null)[] = [];
  for (const version of ['2026-11-18', undefined]) {
    const test = createTestAgent([answer('Sunny')], { version });
    await test.end(test.agent.run('What is the weather?', { session }));
    const index = await openLogIndex(test.log);
    for (const row of index.query('SELECT agent_version FROM attempts').rows)
      versions.push(row['agent_version'] as string | null);
    index.close();
  }
  expect(versions).toEqual(['2026-11-18', null]);
  expect(() => createTestAgent([], { version: '' })).toThrow('a text of 1 to 256 characters');
});
