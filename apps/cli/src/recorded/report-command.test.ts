import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createAgent } from '@millrace/agent';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeAll, expect, test } from 'vitest';
import type { ReportArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { replayCommand } from '../replay/replay-command.ts';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { reportCommand } from './report-command.ts';

const folder = temporaryFolder('report');
const key = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789';
const signal = new AbortController().signal;

beforeAll(async () => {
  const store = join(folder(), 'a.db');
  const { log, close } = await openStore({ config: { store, chain: true }, env: {} });
  const answer = { content: { parts: [`Your key is ${key}. Keep it.`] } };
  const agent = createAgent({ log, provider: scriptedProvider([answer]) });
  await agent.run('My password is hunter2-hunter2', { session: 'orders' }).result;
  await close();
});

async function report(args: Partial<ReportArgs>) {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await reportCommand({
    args: { command: 'report', session: 'orders', yes: true, color: false, ...args },
    config: { store: join(folder(), 'a.db') },
    ...{ stdin: Object.assign(Readable.from([]), { isTTY: false }) as never, stdout, stderr },
    ...{ env: { APP_PASSWORD: 'hunter2-hunter2' }, cwd: folder(), signal },
  });
  return { code, out: stdout.text, notes: stderr.text };
}

test('25.7: a report has no secrets, lists what it masked, and is replayed without the store', async () => {
  const { code, out, notes } = await report({});
  expect(code).toBe(exitCodes.done);
  const path = out.trim();
  expect(path).toBe(join(folder(), 'orders.recording.jsonl'));
  const text = readFileSync(path, 'utf8');
  expect(text).not.toContain(key);
  expect(text).not.toContain('hunter2');
  expect(text).not.toContain('"links"');
  expect(notes).toMatch(/^Masked \d+ secrets in \d+ texts:\n {2}offset \d+, /);
  expect(notes).toContain('My password is [masked]');
  expect(notes).toContain('Your key is sk-[masked]');
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const replayed = await replayCommand({
    args: {
      command: 'replay',
      session: path,
      speed: Number.POSITIVE_INFINITY,
      json: false,
      color: false,
    },
    ...{ config: { store: join(folder(), 'missing.db') }, stdout, stderr, env: {}, cwd: folder() },
  });
  expect(replayed).toBe(exitCodes.done);
  expect(stdout.text).toContain('Keep it.');
  expect(stderr.text).toContain('Recorded with millrace ');
});

test('25.7: a report is not written without a question, and overwrites no file', async () => {
  await expect(report({ yes: false, output: 'asked.jsonl' })).rejects.toThrow('Use --yes');
  await report({ output: 'once.jsonl' });
  await expect(report({ output: 'once.jsonl' })).rejects.toThrow(
    /exists already.* Delete it \(rm .*once\.jsonl\), or choose another file with -o/,
  );
});
