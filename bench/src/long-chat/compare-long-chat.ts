import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { itemId } from '@millrace/core';
import { sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { exit, makeHome, startInTerminal, waitForText } from '../cold-start/start.ts';
import { median } from '../measure.ts';
import { chatAgent } from './chat-agent.ts';

/** The size of the store with the long session. */
const longBytes = 79e6;
const rounds = 7;
/** The limits of the time until the content of the long session is on the screen. */
const acceptable = { cpuMs: 1000, ratio: 1.5 };

const program = fileURLToPath(new URL('../../../apps/cli/bundle/main.js', import.meta.url));

/** A text of the last answer, and the text of the status line when all values are known. */
const content = 'src/orders.ts';
const whole = ' in, ';

/**
 * Compares the opening of a long session in the chat with the opening of a session with one message. The costs are
 * CPU milliseconds of the whole process, from its start. It reads them from `/proc`, so it needs Linux.
 */
export async function compareLongChat(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chat-'));
  try {
    const short = makeHome(join(folder, 'short'), {});
    const long = makeHome(join(folder, 'long'), {});
    await fill(short, 0);
    const { bytes, messages } = await fill(long, longBytes);
    console.log(
      `\nChat, ${(bytes / 1e6).toFixed(0)} MB with ${messages} messages; CPU from the start`,
    );
    const first = await cpuOfOpening(long, content);
    // The second opening waits for all values. When it ends, it stores them for the next one.
    const firstWhole = await cpuOfOpening(long, whole);
    const shortMs: number[] = [];
    const longMs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      shortMs.push(await cpuOfOpening(short, content));
      longMs.push(await cpuOfOpening(long, content));
    }
    print('one message', median(shortMs));
    print('the long session', median(longMs), median(shortMs));
    print('  its first opening, without a stored state', first, median(shortMs));
    print('  its first opening, until all values are known', firstWhole, median(shortMs));
    const isGood = median(longMs) < Math.min(acceptable.cpuMs, acceptable.ratio * median(shortMs));
    console.log(
      `limit: ${acceptable.cpuMs} ms and ${acceptable.ratio} ×: ${isGood ? 'kept' : 'EXCEEDED'}`,
    );
    if (!isGood) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(what: string, ms: number, base?: number): void {
  const ratio = base === undefined ? '' : `${(ms / base).toFixed(2)} ×`;
  console.log(`${what.padEnd(50)} ${ms.toFixed(0).padStart(6)} ms  ${ratio}`);
}

const storeOf = (home: string) => join(home, 'store', 'sessions.db');

/** Creates a session with one message, or with messages until the store has this size. */
async function fill(home: string, bytes: number) {
  mkdirSync(join(home, 'store'));
  const path = storeOf(home);
  const log = sqliteLog({ path, commitIntervalMs: 0 });
  const agent = chatAgent(log);
  let messages = 0;
  do {
    const id = itemId(`message-${++messages}`.padEnd(24, '-'));
    const parts = [{ kind: 'text', text: `Message ${messages}: which file changed?` }] as const;
    const metadata = { cwd: join(home, 'work') };
    await agent.run({ id, kind: 'user', parts, metadata }, { session: 'long-chat' }).result;
  } while (statSync(path).size < bytes);
  await sessionStates(log).saved();
  await log.close();
  return { bytes: statSync(path).size, messages };
}

/** Opens the session, and returns the CPU milliseconds of the process until a text is on the screen. */
async function cpuOfOpening(home: string, text: string): Promise<number> {
  const argv = [program, '--resume', 'long-chat', '--model', 'demo', '--store', storeOf(home)];
  const child = startInTerminal({ argv }, home);
  try {
    await waitForText(child, text, 'millrace');
    return cpuMsOf(child.pid ?? 0);
  } finally {
    await exit(child);
  }
}

/** The number of clock ticks per second in `/proc`. It is the same on all usual systems. */
const ticks = 100;

/** Returns the CPU time of the program that runs in the terminal of a process. */
function cpuMsOf(terminal: number): number {
  const [pid = ''] = readFileSync(`/proc/${terminal}/task/${terminal}/children`, 'utf8').split(' ');
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program can have spaces, so the fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticks;
}
