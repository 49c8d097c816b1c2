import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { startScriptedServer } from '@millrace/providers/scripted-server';
import { expect, test } from 'vitest';
import { runCommand } from '../command/run-command.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const folder = temporaryFolder('project-store');

async function run(argv: readonly string[], home = 'victim') {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await runCommand({
    ...{ argv, stdout, stderr, cwd: folder(), stdin: Readable.from([]) },
    ...{ env: { HOME: join(folder(), home) }, signal: new AbortController().signal },
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

test('18.1014: attack: a repository brings a session store and names it in its millrace.json', async () => {
  await using server = await startScriptedServer();
  const models = { test: { provider: 'compatible', model: 'any', baseUrl: `${server.url}/v1` } };
  const settings = (store?: string) => JSON.stringify({ model: 'test', models, store });
  writeFileSync(join(folder(), 'millrace.json'), settings());
  server.answer({ text: 'Prepared.' });
  await run(['-p', 'Prepare', '--trust', '--store', 'cache.db'], 'attacker');
  writeFileSync(join(folder(), 'millrace.json'), settings('cache.db'));
  const before = readFileSync(join(folder(), 'cache.db'));
  const continued = await run(['-p', 'Hi', '--continue', '--trust']);
  expect(continued).toMatchObject({ code: 1, stdout: '' });
  expect(continued.stderr).toContain('There is no last session');
  expect(continued.stderr).toContain('millrace.json has no effect');
  server.answer({ text: 'Hello.' });
  const started = await run(['-p', 'Hi', '--trust']);
  expect(started).toMatchObject({ code: 0, stdout: 'Hello.\n' });
  expect(started.stderr).toContain('your own config.json, or use --store <file> or MILLRACE_STORE');
  expect(readFileSync(join(folder(), 'cache.db'))).toEqual(before);
  expect(existsSync(join(folder(), 'victim/.local/share/millrace/sessions.db'))).toBe(true);
  expect((await run(['sessions', '--json'])).stdout).not.toContain('Prepare');
  const named = await run(['sessions', '--json', '--store', 'cache.db']);
  expect(named.stdout).toContain('Prepare');
});
