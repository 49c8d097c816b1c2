import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { fewOf, isFull, patientMs } from '../packages/core/src/testing/runs.ts';
import { plants } from './simulate/plants.ts';

/** This limit only prevents hangs. It does not measure speed. */
const guardMs = patientMs(1_200_000);

async function simulate(...args: readonly string[]) {
  const script = fileURLToPath(new URL('simulate.ts', import.meta.url));
  const flags = ['--conditions=@millrace/source', script, ...args];
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'ignore'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const [code] = await once(child, 'close');
  return { code, out };
}

const seedCount = isFull ? 2000 : 60;

test(
  `${seedCount} simulated clusters with random faults keep the laws`,
  async () => {
    const seed = process.env['SEED'] ?? '1';
    const { code, out } = await simulate('--seeds', String(seedCount), '--seed', seed);
    expect(out).toContain(`0 of ${seedCount} seeds failed`);
    expect(code).toBe(0);
  },
  guardMs,
);

test.each(fewOf(plants, 1))(
  'fault %s is found within 100 seeds if its fix is taken out, and its seed repeats it',
  async (plant) => {
    const { code, out } = await simulate('--plant', plant, '--seed', '1', '--seeds', '100');
    expect(out).toMatch(new RegExp(`^fault ${plant} found with \\d+ seeds$`, 'm'));
    expect(code).toBe(0);
    const [, problem = ''] = /fails, with \d+ faults:\n {2}(.*)\n/.exec(out) ?? [];
    const [, replay = ''] = /repeat: npm run simulate -- (.*)/.exec(out) ?? [];
    const repeated = await simulate(...replay.split(' '));
    expect(repeated.code).toBe(1);
    expect(repeated.out).toContain(`problem: ${problem}`);
  },
  guardMs,
);

test.each(fewOf(['sqlite', 'postgres', 'file'], 1))(
  'the same seed gives the same run twice: %s',
  async (store) => {
    const [one, again] = await Promise.all([
      simulate('--seed', '11', '--store', store),
      simulate('--seed', '11', '--store', store),
    ]);
    expect(one.out).toMatch(/digest [0-9a-f]{16}$/m);
    expect(again).toEqual(one);
  },
  guardMs,
);

test('npm run simulate rejects unknown arguments', async () => {
  expect(await simulate('--seeds', 'many')).toEqual({ code: 2, out: '' });
  expect(await simulate('--plant', 'Z')).toEqual({ code: 2, out: '' });
  expect(await simulate('--trace')).toEqual({ code: 2, out: '' });
});
