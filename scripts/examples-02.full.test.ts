import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { childEnv } from '../packages/core/src/testing/runs.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'example-02-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: readonly string[]) {
  const flags = ['--conditions=@millrace/source', 'examples/02-survive-a-crash/main.ts', ...args];
  // The example creates its temporary folder in this folder. So the test can check that it is
  // deleted.
  const env = { ...childEnv(), TMPDIR: folder };
  const child = spawn(process.execPath, flags, { env });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { stdout, stderr, code };
}

describe('02-survive-a-crash', () => {
  const killMark = '⟨killed here⟩';

  test('continues an answer after a SIGKILL and marks where it was killed', async () => {
    const { stdout, stderr, code } = await run();
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const [, first = '', second = '', joined = ''] = stdout.split(/^.*:\n\n/m);
    expect(stdout).toContain('SIGKILL)');
    const [before = '', after = ''] = joined.trimEnd().split(killMark);
    // Each process printed its part. The log contains both parts, without lost or repeated text.
    expect(first.startsWith(before)).toBe(true);
    expect(second.trimEnd()).toBe(after);
    expect(before + after).toMatch(/^Your flight to Lisbon .* to the city\.$/s);
    expect(before.length).toBeGreaterThan(50);
    expect(after.length).toBeGreaterThan(50);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('keeps the log in the given folder for several sessions', async () => {
    const kept = join(folder, 'kept');
    mkdirSync(kept);
    const results = [await run(kept), await run(kept)];
    for (const { stdout, code } of results) {
      expect(stdout).toContain(killMark);
      expect(code).toBe(0);
    }
    expect(readdirSync(kept)).toContain('log.db');
  });
});
