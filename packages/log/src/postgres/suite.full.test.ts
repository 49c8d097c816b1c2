import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { fewOf, runs } from '../../../core/src/testing/runs.ts';
import type { Bus } from '../contract/bus.ts';
import { type LogSubject, logCases } from '../suite/index.ts';
import { casesBehindLayer, modelRuns, resumeRuns } from '../testing/law-runs.ts';
import { LossyBus } from '../testing/lossy-bus.ts';
import { describeOnPostgres, usePostgres } from '../testing/start-postgres.ts';
import { PostgresStoreLog } from './postgres-log.ts';

const describe = describeOnPostgres();

const server = usePostgres();

const subject = (bus?: () => Bus): LogSubject => ({
  isDurable: true,
  async create(clock) {
    const schema = `s_${randomUUID().replaceAll('-', '')}`;
    // Shorter than the delays that the test clock controls, so that commits happen without moving
    // it.
    const options = { url: server().url, schema, clock, commitIntervalMs: 2, bus: bus?.() };
    const logs: PostgresStoreLog[] = [];
    return {
      async open() {
        const log = new PostgresStoreLog(options);
        logs.push(log);
        return log;
      },
      remove: () => server().dropSchema(schema),
      async whenIdle() {
        for (const log of logs) await log.quiet();
      },
    };
  },
});

const postgres = subject();
const fates = ['arrives', 'is lost', 'comes twice', 'comes late', 'comes without records'] as const;

function unreliableBus(): Bus {
  const bus = new LossyBus();
  let notices = 0;
  bus.deliverAs(() => fates[notices++ % fates.length] ?? 'arrives');
  return bus;
}

describe('the Postgres log passes the conformance suite', () => {
  for (const { name, run } of logCases(postgres)) test(name, run);
});

describe('the Postgres log with a bus that loses, repeats and reorders', () => {
  const isAboutReaders = /^(?:follow|shared store|settle|redact|delete)/;
  const cases = casesBehindLayer(subject(unreliableBus)).filter(({ name }) =>
    isAboutReaders.test(name),
  );
  for (const { name, run } of fewOf(cases, 12)) test(name, run);
});

/**
 * Each run needs hundreds of transactions. A thousand runs would take longer than all other tests.
 */
const numRuns = runs(60);

describe('the Postgres log', () => {
  test('laws 1, 3, 4, 5 and 9: two logs behave like the reference in random runs', async () => {
    const seen = await modelRuns(postgres, { numRuns });
    expect(seen).toEqual(expect.arrayContaining(['append: done', 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])(
    'law 5: a reader that stops at any batch and resumes ends with the same state, where %s',
    (_, isSettled) => resumeRuns(postgres, { isSettled, numRuns }),
  );
});
