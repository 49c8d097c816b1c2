import type { DraftRecord, SessionId } from '@millrace/core';
import type { Log } from '../../contract/log.ts';
import * as assert from '../assert.ts';
import { Follower, summaryOf, summaryOfLog } from '../follower.ts';

/** Options of `checkResume`. */
export interface ResumeOptions {
  readonly log: Log;
  readonly session: SessionId;
  /** The drafts to append, in a legal order. */
  readonly script: readonly DraftRecord[];
  /**
   * Random numbers. They determine the sizes of batches, which reader reads, which reader disconnects, and
   * when a turn is settled.
   */
  readonly numbers: readonly number[];
  /** True if turns are settled during the run. False if deltas are kept. */
  readonly isSettled: boolean;
}

/**
 * Appends a script to a log. One follower never disconnects. Several other followers disconnect and resume.
 * Rejects unless all followers end with the log's state.
 *
 * @example await checkResume({ log, session, script, numbers: [3, 14, 15], isSettled: false });
 */
export async function checkResume(options: ResumeOptions): Promise<void> {
  const { log, session, script, numbers, isSettled } = options;
  const driver = await log.open(session);
  const uncut = new Follower(log, session);
  const cut = [new Follower(log, session), new Follower(log, session), new Follower(log, session)];
  for (let appended = 0, at = 0; appended < script.length; at++) {
    const number = numbers[at % numbers.length] ?? 0;
    const count = 1 + (number % 20);
    await driver.append(script.slice(appended, appended + count));
    appended += count;
    if (number % 2 === 0) await uncut.step();
    const readerIndex = number % cut.length;
    const reader = cut[readerIndex];
    if (reader !== undefined) cut[readerIndex] = await readAndLeave(log, reader, number);
    if (isSettled && number % 3 === 0) await log.settle(session, 1 + (number % 4));
  }
  const whole = await summaryOfLog(log, session);
  for (const reader of [uncut, ...cut]) {
    await reader.reach(whole.through);
    assert.deepEqual(summaryOf(reader.folder.state), whole);
    await reader.leave();
  }
  await driver.release();
}

/**
 * Reads one batch. Then the reader usually disconnects, and a new follower continues from the same state.
 * Returns the follower to use next.
 */
async function readAndLeave(log: Log, reader: Follower, number: number): Promise<Follower> {
  await reader.step();
  if (number % 4 === 0) return reader;
  await reader.leave();
  return new Follower(log, reader.folder.state);
}
