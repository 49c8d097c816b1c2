import { join } from 'node:path';
import { memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { floor } from '../floor.ts';
import { timed } from '../measure.ts';
import { textWorkload } from '../workloads.ts';
import { wholeRun } from './whole-run.ts';

// Measures the first run of a process and prints the times. Before the run, all modules are loaded
// and the log is open. With `open`, the time includes the opening of the log. Node loads its
// `fetch` at the first use. Only the injected fetch of the bench needs it, and F1 does not. So
// `fetch` is loaded before the measurement.
const [what = '', folder = ''] = process.argv.slice(2);
const { reads } = textWorkload();
new Response('');

function openLog() {
  return what.startsWith('SQLite') ? sqliteLog({ path: join(folder, 'log.db') }) : memoryLog();
}

const early = what.endsWith('open') || what === 'F1' ? undefined : openLog();
const times = await timed(async () => {
  if (what === 'F1') await floor(reads);
  else await wholeRun(early ?? openLog(), reads);
});
process.stdout.write(JSON.stringify(times));
await early?.close();
