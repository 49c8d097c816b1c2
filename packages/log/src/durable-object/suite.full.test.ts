import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe as describeAlways, expect, test } from 'vitest';
import { bundleForWeb } from '../../../../scripts/runtimes/bundle-for-web.ts';
import {
  isRuntimeMissing,
  type Miniflare,
  startMiniflare,
} from '../../../../scripts/runtimes/installed.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { type LogSubject, logCases } from '../suite/index.ts';
import type { SuiteRequest } from '../testing/programs/durable-object-suite.ts';

const isMissing = isRuntimeMissing('miniflare');
const describe = isMissing ? describeAlways.skip : describeAlways;
const names = logCases({ isDurable: true } as LogSubject).map(({ name }) => name);
const seed = Number(process.env['SEED'] ?? 1);
const numRuns = runs(200);

let code = '';
let folder = '';
let workerd: Miniflare | undefined;

/** Starts workerd with the databases of the folder. */
const start = () =>
  startMiniflare({
    modules: [{ type: 'ESModule', path: 'worker.mjs', contents: code }],
    compatibilityDate: '2026-07-01',
    durableObjects: { LOG: { className: 'LogObject', useSQLite: true } },
    durableObjectsPersist: folder,
  });

/** Sends a request to the object with this name. */
async function ask(object: string, request: SuiteRequest): Promise<unknown> {
  const body = JSON.stringify(request);
  const url = `http://worker/${encodeURIComponent(object)}`;
  if (workerd === undefined) throw new Error('workerd does not run');
  const answer = await workerd.dispatchFetch(url, { method: 'POST', body });
  const { value, error } = (await answer.json()) as { value?: unknown; error?: string };
  if (error !== undefined) throw new Error(error);
  return value;
}

beforeAll(async () => {
  if (isMissing) return;
  const program = join(import.meta.dirname, '../testing/programs/durable-object-suite.ts');
  const bundle = await bundleForWeb(program);
  expect(bundle.nodeImports).toEqual([]);
  ({ code } = bundle);
  folder = mkdtempSync(join(tmpdir(), 'millrace-objects-'));
  workerd = await start();
});

afterAll(async () => {
  await workerd?.dispose();
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

describe('the log of a Durable Object passes the conformance suite', () => {
  test.each(names)('%s', async (name) => {
    await ask(name, { do: 'case', name });
  });
});

describe('the log of a Durable Object', () => {
  test('laws 1, 3, 4, 5 and 9: two logs behave like the reference in random runs', async () => {
    const outcomes = await ask('model', { do: 'model', numRuns, seed });
    expect(outcomes).toEqual(expect.arrayContaining(['append: done', 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false, false],
    ['turns are settled', true, false],
    ['another log writes', true, true],
  ])(
    'law 5: a reader that stops at any batch and resumes ends with the same state, where %s',
    async (name, isSettled, isSplit) => {
      await ask(name, { do: 'resume', isSettled, isSplit, numRuns, seed });
    },
  );

  test('continues after a restart, and takes the leases of the instance before', async () => {
    const before = await ask('kept', { do: 'write' });
    expect(before).toEqual({ epoch: 1, text: 'Hello Ada.' });
    await workerd?.dispose();
    workerd = await start();
    const after = await ask('kept', { do: 'continue' });
    const epoch = expect.any(Number) as number;
    const kept = { records: 3, epoch, through: 4, text: 'You are Ada.' };
    expect(after).toEqual({ ...kept, sessions: ['chat', 'kept'] });
    expect((after as { readonly epoch: number }).epoch).toBeGreaterThan(1);
  });

  test('stores texts and blobs that are longer than a row may be', async () => {
    const large = await ask('large', { do: 'large', characters: 3_000_000 });
    expect(large).toEqual({ text: true, blob: true, slice: true, none: 0 });
  });
});
