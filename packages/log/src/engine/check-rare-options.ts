import { isId, type OptionNames, type SessionId } from '@millrace/core';
import type { ForkOptions, RestoreOptions, SettleOptions } from '../contract/log.ts';
import type { Admission, AdmitOptions } from '../contract/producer.ts';
import {
  assert,
  assertNames,
  assertObject,
  assertSessionId,
  isCount,
  isString,
} from './check-options.ts';

// These functions check the options of operations that most programs never use: producers, copies and
// redaction. This file is imported on demand, together with the operations.

export function assertAdmitOptions(options: AdmitOptions, session: SessionId): void {
  assertObject(options, 'the options');
  const { for: what, turn } = options;
  assert(what === 'request' || what === 'call', 'for', "it must be 'request' or 'call'", {
    session,
  });
  assert(isCount(turn), `turn ${turn}`, 'it must be a whole number of 0 or more', { session });
  if (options.for === 'request') return;
  const { attempt, toolCallId } = options;
  assert(isCount(attempt), `attempt ${attempt}`, 'it must be a whole number of 0 or more', {
    session,
  });
  assert(isString(toolCallId) && isId(toolCallId), 'toolCallId', 'it must be an id', { session });
}

export function assertAdmission(admission: Admission): void {
  assertObject(admission, 'the fields of an admission');
  const { session, driverEpoch, producer } = admission;
  assertSessionId(session);
  const isWhole = isCount(driverEpoch) && isString(producer);
  assert(isWhole, 'an admission', 'it must be a value that `admit` returned', { session });
}

export function assertForkOptions(options: ForkOptions): void {
  assertNames('fork', options, { into: true, through: true, append: true, onCopy: true });
  assertSessionId(options.into);
  const { append = [], onCopy } = options;
  assert(Array.isArray(append), 'append', 'it must be a list of drafts');
  const isFunction = onCopy === undefined || typeof onCopy === 'function';
  assert(isFunction, 'onCopy', 'it must be a function');
}

export function assertRestoreOptions(options: RestoreOptions, session: SessionId): void {
  assertNames('restore', options, restoreNames);
  const { createdAt = 0, changedAt = 0, isClosed = false, through = 0, origin } = options;
  assert(isCount(through), `through ${through}`, 'it must be an offset', { session });
  const areTimes = Number.isFinite(createdAt) && Number.isFinite(changedAt);
  assert(areTimes, 'a time', 'it must be a number of milliseconds since 1970', { session });
  assert(typeof isClosed === 'boolean', 'isClosed', 'it must be true or false', { session });
  if (options.chain !== undefined) {
    assertObject(options.chain, 'chain');
    const { count, start, hash } = options.chain;
    const isHead = isCount(count) && isCount(start) && isString(hash);
    assert(isHead, 'chain', 'it must have a count, a start and a hash', { session });
  }
  if (origin === undefined) return;
  assertObject(origin, 'origin');
  assertSessionId(origin.session);
  assert(isCount(origin.through), 'origin', 'it must have an offset', { session });
}

export function assertReason(reason: string | undefined, session: SessionId): void {
  assert(reason === undefined || isString(reason), 'reason', 'it must be a string', { session });
}

export function assertSettleOptions(options: SettleOptions, session: SessionId): void {
  assertNames('settle', options, { within: true });
  const [first, last] = options.within ?? [1, 1];
  const isRange = isCount(first) && isCount(last) && first >= 1 && first <= last;
  assert(isRange, `within ${first} to ${last}`, 'it must be two offsets in order', { session });
}

const restoreNames: OptionNames<RestoreOptions> = {
  createdAt: true,
  changedAt: true,
  isClosed: true,
  origin: true,
  through: true,
  chain: true,
};
