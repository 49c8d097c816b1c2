// A process that is killed in the middle of an answer, and the next one, which goes on. Run it with
//   npx node --conditions=@millrace/source examples/02-survive-a-crash/main.ts [folder]
// Without a folder the log is in a temporary one, which is removed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, styleText } from 'node:util';
import { Folder, randomIds, transcript } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { textOf } from './text-of.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const folder = positionals[0] ?? mkdtempSync(join(tmpdir(), 'survive-a-crash-'));
const path = join(folder, 'log.db');
const session = randomIds((bytes) => crypto.getRandomValues(bytes)).session();

console.log('One process begins to answer, and is killed with SIGKILL on the way:\n');
const died = await speak('--die-after', '30');
console.log(`\n\nIt is gone (${died}). Another one opens the log and goes on:\n`);
await speak();

console.log('\n\nWhat the log has, with the seam between the two:\n');
const log = sqliteLog({ path });
const kept = new Folder(session);
for await (const batch of log.follow(session, { until: 'idle' })) kept.addBatch(batch);
const answers = transcript(kept.state).filter(({ kind }) => kind === 'assistant');
console.log(answers.map(textOf).join(styleText('red', '⟨killed here⟩')));
await log.close();
if (positionals[0] === undefined) rmSync(folder, { recursive: true });

/** Gives how the process ended. */
async function speak(...options: readonly string[]): Promise<string> {
  const program = fileURLToPath(new URL('speak.ts', import.meta.url));
  const args = ['--conditions=@millrace/source', program, path, session, ...options];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  const [code, signal] = await once(child, 'exit');
  return signal ?? `exit code ${code}`;
}
