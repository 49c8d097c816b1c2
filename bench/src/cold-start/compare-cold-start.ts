import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from '../measure.ts';
import { compareFirstRequests } from './first-request.ts';
import { type Program, programs } from './program.ts';
import { makeHome, msToPrompt, msToVersion } from './start.ts';

const rounds = 11;

/**
 * Measures how long Millrace and other programs take to print their version and to show the prompt,
 * and the size of their first request.
 */
export async function compareColdStart(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const all = programs();
  const homes = all.map((program, index) => makeHome(join(folder, String(index)), program));
  const homeOf = (program: Program) => homes[all.indexOf(program)] ?? folder;
  try {
    const [floor, ...others] = all;
    const bare = { ...floor, name: 'node -e 0', argv: ['-e', '0'] };
    const asked = others
      .filter(({ name }) => !name.includes('demo'))
      .map((one) => ({ ...one, argv: [...one.argv.slice(0, 1), '--version'] }));
    await compare('--version', [bare, ...asked], (one) => msToVersion(one, homeOf(floor)));
    await compare('from start to prompt', all, (one) => msToPrompt(one, homeOf(one)));
    await compareFirstRequests(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(
  title: string,
  all: readonly Program[],
  msOf: (program: Program) => Promise<number>,
): Promise<void> {
  console.log(`\nCold start, ${title}; medians of ${rounds} rounds after a warm-up`);
  const times = new Map<Program, number[]>(all.map((one) => [one, []]));
  for (let round = 0; round <= rounds; round++)
    for (const one of all) {
      const ms = await msOf(one);
      if (round > 0) times.get(one)?.push(ms);
    }
  const medians = all.map((one) => median(times.get(one) ?? []));
  for (const [index, { name }] of all.entries()) {
    const ms = medians[index] ?? 0;
    const least = Math.min(...(times.get(all[index] as Program) ?? []));
    const ratio = (ms / (medians[0] ?? 1)).toFixed(1).padStart(5);
    console.log(
      `${name.padEnd(32)} ${ms.toFixed(0).padStart(6)} ms ${ratio} × node   fastest ${least.toFixed(0)} ms`,
    );
  }
}
