import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printComparison, Rounds, type Times } from '../measure.ts';

const rounds = 11;
const program = join(import.meta.dirname, 'first-run-program.ts');

const rows = [
  { what: 'F1', name: 'F1, the first in its process', goal: '' },
  { what: 'memory', name: 'agent.run on the memory log, the first', goal: 'goal: ≤ 2' },
  { what: 'SQLite', name: 'agent.run on the SQLite log, the first', goal: 'goal: ≤ 2.5' },
  { what: 'SQLite open', name: 'the same, and the opening of a new file', goal: '' },
] as const;

/**
 * Measures the first run of a process, when no code is compiled yet. Each row uses a new process in
 * each round.
 */
export function compareFirstRuns(): void {
  const measured = new Rounds(rows.length);
  for (let round = 0; round < rounds; round++) measured.add(rows.map(({ what }) => timesOf(what)));
  console.log(`the first run of a process; medians of ${rounds} rounds:`);
  for (const [index, { name, goal }] of rows.entries())
    printComparison(name, measured.compare(index), goal);
}

function timesOf(what: string): Times {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  try {
    const args = ['--conditions=@millrace/source', program, what, folder];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Times;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
