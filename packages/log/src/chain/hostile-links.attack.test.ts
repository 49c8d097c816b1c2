import { decodeRecord, encodeRecord, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { memoryLog } from '../memory/memory-log.ts';
import { markers, wholeTurn } from '../suite/drafts.ts';
import { exportSession } from '../transfer/export-session.ts';
import { importSession } from '../transfer/import-session.ts';
import { rewriteChain } from './rewrite-chain.ts';
import { verifyExport, verifySession } from './verify.ts';

const session = sessionId('s');

async function exported(): Promise<readonly string[]> {
  const log = memoryLog({ chain: true });
  const driver = await log.open(session);
  await driver.append(wholeTurn(1, ['Hello']));
  await driver.append(markers(1000));
  const lines: string[] = [];
  for await (const line of exportSession(log, session)) lines.push(line);
  await log.close();
  return lines;
}

/** Adds links to the last record of the file, and sets the number of links in the header. */
function withLinks(lines: readonly string[], links: readonly string[]): readonly string[] {
  const last = JSON.parse(lines.at(-1) ?? '');
  const header = JSON.parse(lines[0] ?? '');
  const all = [...(last.links ?? []), ...links];
  header.chain.count += links.length;
  const changed = lines.with(-1, JSON.stringify({ ...last, links: all }));
  return changed.with(0, JSON.stringify(header));
}

const wide = '1-9007199254740991';

test.each([
  ['a rewrite of all possible offsets', [`3 ${wide} x - import`]],
  [
    'many rewrites of the same offsets',
    Array.from({ length: 3000 }, (_, index) => `${index + 3} ${wide} x - import`),
  ],
  ['many ranges', [`3 ${Array(3000).fill(wide).join(',')} x - import`]],
])('25.6: attack: links with %s are refused in bounded time', async (_name, links) => {
  const lines = withLinks(await exported(), links);
  expect((await verifyExport(lines)).isValid).toBe(false);
  const log = memoryLog();
  await importSession(log, lines);
  expect((await verifySession(log, session)).isValid).toBe(false);
  await log.settle(session, 1);
  expect((await verifySession(log, session)).isValid).toBe(false);
  await log.close();
});

test('25.6: attack: links that are not readable do not enter a log', async () => {
  const lines = withLinks(await exported(), ['nonsense', '0 0-0 x - import', '3 1-2 x 1:2 append']);
  expect((await verifyExport(lines)).isValid).toBe(false);
  const log = memoryLog();
  await expect(importSession(log, lines)).rejects.toMatchObject({ code: 'corrupt' });
  expect(await log.info(session)).toBeUndefined();
  await log.close();
});

test('25.6: attack: an opened batch needs a rewrite that covers it', async () => {
  const lines = await exported();
  const at = lines.findIndex((line) => line.includes('"links"'));
  const record = JSON.parse(lines[at] ?? '');
  const [number, range, previous] = record.links[0].split(' ');
  const next = JSON.parse(lines.at(-1) ?? '').links[0].split(' ')[2];
  const opened = { ...record, links: [`${number} ${range} ${previous} =${next}`] };
  const { isValid, problems } = await verifyExport(lines.with(at, JSON.stringify(opened)));
  expect(isValid).toBe(false);
  expect(problems.map(({ message }) => message)).toContain(
    'link 1 does not fit the rewrites after it',
  );
});

test.each(['settle 1', 'settle 2', 'redact someitem', 'import'])(
  '18.393: attack: a streamed text that was replaced is no rewrite "%s"',
  async (note) => {
    const [header = '', ...lines] = await exported();
    const { chain, ...rest } = JSON.parse(header);
    const old = lines.map((line) => decodeRecord(line));
    const next = lines.map((line) => decodeRecord(line.replace('Hello', 'Howdy')));
    const sealed = rewriteChain(chain, old, next, note);
    const forged = [
      JSON.stringify({ ...rest, chain: sealed.chain }),
      ...sealed.records.map(encodeRecord),
    ];
    expect(forged.join()).toContain('Howdy');
    const { isValid, problems } = await verifyExport(forged);
    expect(isValid).toBe(false);
    expect(problems[0]?.message).toContain('is not one that the rewrite of link');
  },
);
