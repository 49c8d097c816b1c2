import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { countingIds, DeltaWriter, itemId, type SessionId, sessionId } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';

const rounds = 200;

/** Measures the time from an append until a follower receives it, in this process and in another one. */
export async function compareDelay(folder: string): Promise<void> {
  const path = join(folder, 'delay.db');
  const log = sqliteLog({ path });
  const here = await inProcess(log, sessionId('here'));
  const there = await acrossProcesses(log, sessionId('there'), path);
  console.log(
    `append to follower, p50 and p99: ${summary(here)} in process, ${summary(there)} across processes`,
  );
  await log.close();
}

async function inProcess(log: Log, session: SessionId): Promise<readonly number[]> {
  const append = await appender(await log.open(session));
  const delays: number[] = [];
  const followed = log.follow(session)[Symbol.asyncIterator]();
  await followed.next();
  for (let round = 0; round < rounds; round++) {
    await idle();
    const start = performance.now();
    const [next] = await Promise.all([followed.next().then(() => performance.now()), append()]);
    delays.push(next - start);
  }
  await followed.return?.();
  return delays;
}

async function acrossProcesses(
  log: Log,
  session: SessionId,
  path: string,
): Promise<readonly number[]> {
  const append = await appender(await log.open(session));
  const child = spawn(process.execPath, [
    '--conditions=@millrace/source',
    join(import.meta.dirname, 'follower-program.ts'),
    path,
    session,
  ]);
  const received = lines(child.stdout);
  await received.next();
  const delays: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await idle();
    const start = performance.timeOrigin + performance.now();
    await append();
    const { value } = await received.next();
    delays.push(Number(value) - start);
  }
  child.kill();
  return delays;
}

async function appender(driver: Driver): Promise<() => Promise<unknown>> {
  const item = itemId('answer');
  const writer = new DeltaWriter({ itemId: item, turn: 1, attempt: 1, ids: countingIds() });
  const text = writer.text();
  const at = { turn: 1, attempt: 1 };
  await driver.append([{ ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } }]);
  return () => {
    text.append('word');
    return driver.append(writer.take().map((delta) => ({ ...at, delta })));
  };
}

async function* lines(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  let rest = '';
  for await (const data of stream) {
    const parts = (rest + String(data)).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

/** Waits longer than the interval of the group commit, so that each append is committed at once. */
const idle = () => new Promise((resolve) => setTimeout(resolve, 4));

function summary(delays: readonly number[]): string {
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(2);
  return `${at(0.5)} and ${at(0.99)} ms`;
}
