import { isMillraceError, type MillraceError } from '@millrace/core';
import type { LogErrorCode } from '../contract/log-error.ts';
import * as assert from './assert.ts';
import { eventLoopSettled } from './test-clock.ts';

/** Asserts that the promise rejects with this error code. Returns the error. */
export async function expectRefusal(
  code: LogErrorCode | readonly LogErrorCode[],
  attempt: Promise<unknown>,
): Promise<MillraceError> {
  const error = await attempt.then(
    (value) =>
      assert.fail(`expected error ${code}, but the call succeeded: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!isMillraceError(error)) throw error;
  const allowed: readonly string[] = typeof code === 'string' ? [code] : code;
  assert.ok(allowed.includes(error.code), `${error.code} instead of ${code}: ${error.message}`);
  return error;
}

/** Asserts that the first step of a follower rejects with this error code. */
export function expectFollowRefusal(
  code: LogErrorCode,
  batches: AsyncIterable<unknown>,
): Promise<MillraceError> {
  return expectRefusal(code, batches[Symbol.asyncIterator]().next());
}

/** Asserts that the promise settles within a few rounds of the event loop. Returns its value. */
export async function expectImmediate<T>(coming: Promise<T>): Promise<T> {
  const late = eventLoopSettled().then(() => assert.fail('the promise is still pending'));
  late.catch(() => {});
  return Promise.race([coming, late]);
}
