import assert from 'node:assert/strict';
import { isMillraceError, type MillraceError } from '@millrace/core';
import type { LogErrorCode } from '../contract/log-error.ts';
import { eventLoopSettled } from './test-clock.ts';

/** The error that it was refused with, which has that code. */
export async function expectRefusal(
  code: LogErrorCode,
  attempt: Promise<unknown>,
): Promise<MillraceError> {
  const error = await attempt.then(
    (value) => assert.fail(`expected ${code}, and it was done: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!isMillraceError(error)) throw error;
  assert.equal(error.code, code, error.message);
  return error;
}

/** What a follower's first step is refused with. */
export function expectFollowRefusal(
  code: LogErrorCode,
  batches: AsyncIterable<unknown>,
): Promise<MillraceError> {
  return expectRefusal(code, batches[Symbol.asyncIterator]().next());
}

/** What a promise gives, for which nothing more has to happen. */
export async function expectImmediate<T>(coming: Promise<T>): Promise<T> {
  const late = eventLoopSettled().then(() => assert.fail('it still waits'));
  late.catch(() => {});
  return Promise.race([coming, late]);
}
