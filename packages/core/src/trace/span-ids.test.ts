import fc from 'fast-check';
import { expect, test } from 'vitest';
import { executionId, runId } from '../ids.ts';
import { spanIdOf, traceIdOf } from './span-ids.ts';
import { formatTraceparent } from './trace-context.ts';

const run = runId('run1');

test('spanIdOf gives the same id for the same thing, another one for any other', () => {
  const ids = (of: typeof run) => [
    spanIdOf.run(of),
    ...[1, 2, 11].map((turn) => spanIdOf.turn(of, turn)),
    ...[1, 2].map((attempt) => spanIdOf.attempt(of, { turn: 1, attempt })),
    spanIdOf.attempt(of, { turn: 11, attempt: 1 }),
    spanIdOf.execution(of, executionId('x1')),
    spanIdOf.execution(of, executionId('x2')),
  ];
  expect(ids(run)).toEqual(ids(run));
  const all = [...ids(run), ...ids(runId('run2'))];
  expect(new Set(all).size).toBe(all.length);
});

test('the ids of runs of any name can be sent', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (name) => {
      const of = name as typeof run;
      const parent = { traceId: traceIdOf(of), spanId: spanIdOf.run(of), flags: 1 };
      expect(formatTraceparent(parent)).toHaveLength(55);
    }),
  );
});

test('the derivation is the one that the protocol has, so that other implementations name the same spans', () => {
  // Reckoned by another program.
  expect(spanIdOf.run(run)).toBe('4b5793fa1962bf33');
  expect(traceIdOf(run)).toBe('9546c07752aa4b538c2160f7e02d13e2');
});
