import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isFull, patientMs } from '../packages/core/src/testing/runs.ts';
import { runHandoffs } from './chaos/handoffs/run-handoffs.ts';

/** This limit only prevents hangs. It does not measure speed. */
const guardMs = patientMs(600_000);
const handoffs = isFull ? 20 : 6;

test(
  `23: after ${handoffs} hand-offs with kills, no message is lost or doubled, and one process drives`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'handoffs-'));
    try {
      const seed = Number(process.env['SEED']);
      const result = await runHandoffs({ handoffs, seed, folder });
      expect(result.faults.problems).toEqual([]);
      expect(result.failures).toEqual([]);
      expect(result.messages).toBeGreaterThan(handoffs);
      expect(result.drivers).toBeGreaterThanOrEqual(handoffs);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  guardMs,
);
