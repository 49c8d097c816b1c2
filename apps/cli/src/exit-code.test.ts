import type { StopReason } from '@millrace/core';
import { expect, test } from 'vitest';
import { exitCodeOf } from './exit-code.ts';

test('only a run that came to its end is done', () => {
  const codes: Readonly<Record<StopReason, number>> = {
    stop: 0,
    error: 1,
    refusal: 1,
    content_filter: 1,
    blocked: 1,
    unknown: 1,
    tool_use: 1,
    pause: 1,
    aborted: 3,
    parked: 4,
    limit: 5,
    length: 5,
  };
  for (const [reason, code] of Object.entries(codes)) {
    expect([reason, exitCodeOf({ reason: reason as StopReason })]).toEqual([reason, code]);
  }
});
