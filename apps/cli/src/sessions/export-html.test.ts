import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { parseArgs } from '../args/parse-args.ts';
import { finishedSession, withSubAgent } from '../testing/sessions.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { exportHtml } from './export-html.ts';

const folder = temporaryFolder('html-export');

/** Returns a folder with a small document in place of the built page. */
function page(): string {
  writeFileSync(join(folder(), 'replay.html'), '<p>%RECORDS%</p>');
  return folder();
}

const linesOf = (html: string) => {
  const [, data = ''] = /<p>(.*)<\/p>/.exec(html) ?? [];
  return gunzipSync(Buffer.from(data, 'base64')).toString().split('\n');
};

test('the data of a file has the session and its sub-agents', async () => {
  const log = memoryLog();
  const { session, child } = await withSubAgent(log, 's', '/here');
  const lines = linesOf(await exportHtml(log, [session], { env: {}, page: page() }));
  const ids = lines.flatMap((line) => /^\{"session":"(.+)"\}$/.exec(line)?.[1] ?? []);
  expect(ids).toEqual([session, child]);
  expect(lines.filter((line) => line.includes('"item_started"')).length).toBeGreaterThan(2);
});

test('the replacement of the place of the data keeps patterns in the text', async () => {
  const log = memoryLog();
  await finishedSession(log, 's', "$& $' %RECORDS%");
  const html = await exportHtml(log, [sessionId('s')], { env: {}, page: page() });
  expect(linesOf(html).join('\n')).toContain("$& $' %RECORDS%");
});

test('a session that is too large is refused, with a way to export it', async () => {
  const log = memoryLog();
  await finishedSession(log, 's', 'x'.repeat(2 ** 21));
  const options = { env: {}, page: page(), maxBytes: 2 ** 20 };
  await expect(exportHtml(log, [sessionId('s')], options)).rejects.toThrow(
    'larger than 1 MiB, and a browser must hold all of them. Export to a file that ends in .jsonl instead',
  );
});

test('without the built page, the error tells how to build it', async () => {
  const options = { env: {}, page: join(folder(), 'none') };
  await expect(exportHtml(memoryLog(), [], options)).rejects.toThrow('npm run build:all');
});

test('the last operand of export is the file if it ends in .html', () => {
  expect(parseArgs(['sessions', 'export', 'last', 'talk.html'])).toMatchObject({
    ...{ operands: ['last'], output: 'talk.html' },
  });
  expect(() => parseArgs(['sessions', 'export', 'talk.html'])).toThrow('needs a session id');
});
