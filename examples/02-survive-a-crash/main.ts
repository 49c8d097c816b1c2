// Kills a process in the middle of an answer. A second process continues the answer. Run it with
//   npx node --conditions=@millrace/source examples/02-survive-a-crash/main.ts [folder]
// Without a folder, the log is stored in a temporary folder, which is deleted at the end.
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

console.log('A process starts to answer and is killed with SIGKILL:\n');
const exit = await answer('--kill-after', '30');
console.log(`\n\nThe process ended (${exit}). Another process opens the log and continues:\n`);
await answer();

console.log('\n\nThe answer in the log, with a mark where the first process was killed:\n');
const log = sqliteLog({ path });
const stored = new Folder(session);
for await (const batch of log.follow(session, { until: 'idle' })) stored.addBatch(batch);
const answers = transcript(stored.state).filter(({ kind }) => kind === 'assistant');
console.log(answers.map(textOf).join(styleText('red', '⟨killed here⟩')));
await log.close();
if (positionals[0] === undefined) rmSync(folder, { recursive: true });

/** Starts a process that writes the answer. Resolves with a text about how the process ended. */
async function answer(...options: readonly string[]): Promise<string> {
  const program = fileURLToPath(new URL('answer.ts', import.meta.url));
  const args = ['--conditions=@millrace/source', program, path, session, ...options];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  const [code, signal] = await once(child, 'exit');
  return signal ?? `exit code ${code}`;
}
