import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'example-02-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: readonly string[]) {
  const flags = ['--conditions=@millrace/source', 'examples/02-survive-a-crash/main.ts', ...args];
  // Its temporary folder is here, so that one can see whether it is removed.
  const env = { PATH: process.env['PATH'] ?? '', TMPDIR: folder };
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
  const seam = '⟨killed here⟩';

  test('goes on after a SIGKILL where it was, and shows the seam', async () => {
    const { stdout, stderr, code } = await run();
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const [, first = '', second = '', joined = ''] = stdout.split(/^.*:\n\n/m);
    expect(stdout).toContain('SIGKILL)');
    const [before = '', after = ''] = joined.trimEnd().split(seam);
    // Each process said its part, and the log has both, without a word lost or said twice.
    expect(first.startsWith(before)).toBe(true);
    expect(second.trimEnd()).toBe(after);
    expect(before + after).toMatch(/^A millrace is the channel .* whoever leaves\.$/s);
    expect(before.length).toBeGreaterThan(50);
    expect(after.length).toBeGreaterThan(50);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('keeps the log in the folder that it is given, for one session after another', async () => {
    const kept = join(folder, 'kept');
    mkdirSync(kept);
    const results = [await run(kept), await run(kept)];
    for (const { stdout, code } of results) {
      expect(stdout).toContain(seam);
      expect(code).toBe(0);
    }
    expect(readdirSync(kept)).toContain('log.db');
  });
});
