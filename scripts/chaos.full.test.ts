import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isFull, patientMs } from '../packages/core/src/testing/runs.ts';
import { runChaos } from './chaos/run-chaos.ts';

/** This limit only prevents hangs. It does not measure speed. */
const guardMs = patientMs(600_000);

/** Enough kills to hit each kind of process several times. */
const killCount = isFull ? 100 : 25;

test(
  `after ${killCount} kills at random moments no acknowledged record is lost, duplicated or reordered`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
    try {
      const seed = Number(process.env['SEED']);
      const { faults, failures, kills, records } = await runChaos({
        kills: killCount,
        seed,
        folder,
      });
      expect(faults.problems).toEqual([]);
      expect(failures).toEqual([]);
      expect(`${faults}`).toBe('lost 0 doubled 0 reordered 0 gaps 0 invented 0');
      expect(kills.length).toBeGreaterThanOrEqual(killCount);
      expect(records).toBeGreaterThan(kills.length);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  guardMs,
);

test('npm run chaos prints its seed and its result, and rejects unknown arguments', async () => {
  const run = async (...args: readonly string[]) => {
    const script = fileURLToPath(new URL('chaos.ts', import.meta.url));
    const flags = ['--conditions=@millrace/source', script, ...args];
    const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    const [code] = await once(child, 'close');
    return { code, out };
  };
  const { code, out } = await run('--kills', '2', '--seed', '7');
  expect(out).toContain('chaos: --kills 2 --seed 7');
  expect(out).toMatch(/^lost 0 doubled 0 reordered 0 gaps 0 invented 0$/m);
  expect(code).toBe(0);
  expect(await run('--kills', 'many')).toEqual({ code: 2, out: '' });
  expect(await run('--crashes', '2')).toEqual({ code: 2, out: '' });
});
