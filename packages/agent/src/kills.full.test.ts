import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogRecord, type Part, toArray, toItem } from '@millrace/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundledProgram } from '../../../scripts/bundled-program.ts';
import { isFull, patientMs } from '../../core/src/testing/runs.ts';
import { findLogProblems } from './testing/check-log.ts';
import {
  askedCall,
  callsWithOutcome,
  chooseFacts,
  countsOf,
  cutAnswer,
  factsOf,
  has,
  isUnhandled,
  itemOf,
  itemsOf,
  type Kill,
  killsOf,
  moments,
  resultsIn,
  runConcurrently,
  session,
} from './testing/kills/kills.ts';
import { foldRecords } from './testing/read-log.ts';
import { scenarios } from './testing/scenarios.ts';

/** Number of concurrent processes. */
const atOnce = 3;
let folder: string;
let deaths: readonly Kill[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-kills-'));
  const program = bundledProgram(new URL('testing/kills/run-until-killed.ts', import.meta.url));
  const names = Object.keys(scenarios);
  const chosen = await chooseFacts(program, folder, names);
  const jobs = names.flatMap((name) =>
    moments.map((moment) => {
      const counts = countsOf(moment, chosen.get(name) ?? []);
      return () => killsOf(program, folder, name, moment, counts);
    }),
  );
  deaths = (await runConcurrently(jobs, atOnce)).flat();
}, patientMs(300_000));
afterAll(() => rmSync(folder, { recursive: true }));

/** The kills that match. There must be at least one. */
function those(which: (death: Kill) => boolean): readonly Kill[] {
  const found = deaths.filter(which);
  expect(found.length).toBeGreaterThan(0);
  return found;
}

/** The least number of cases that a law has to be checked on. Fewer kills have fewer of them. */
const least = (full: number) => (isFull ? full : 0);

/** Unlike `look`, these may not run again. */
const withEffects = ['write', 'hang'];

test('there is a kill at each kind of fact, during text, and after a tool’s effect', () => {
  const atFacts = those(({ moment }) => moment === 'fact');
  const died = new Set(atFacts.map(({ told }) => told.at(-1)?.fact?.type));
  const types = new Set(atFacts.flatMap(({ before }) => factsOf(before).map(({ type }) => type)));
  expect([...types].filter((type) => !died.has(type))).toEqual([]);
  expect(types.size).toBeGreaterThan(15);
  for (const name of Object.keys(scenarios)) those(({ scenario }) => scenario === name);
  for (const command of ['abort', 'approve', 'message']) those((one) => isUnhandled(one, command));
  those(({ moment }) => moment === 'append');
  those(({ moment }) => moment === 'effect');
});

test('every observed record is on the log at its offset and stays unchanged', () => {
  for (const { name, told, before, after } of deaths) {
    expect(told.length, name).toBeGreaterThan(0);
    expect(told, name).toEqual(before.slice(0, told.length));
    expect(before, name).toEqual(after.slice(0, before.length));
  }
});

test('the log is valid after recovery, every call has one result, and no work is left', () => {
  for (const { name, after, hasWork } of deaths) {
    expect(findLogProblems(session, after), name).toEqual([]);
    expect(hasWork, name).toBe(false);
  }
});

test('a session is listed as waiting, unless its run was finished', () => {
  for (const death of deaths)
    expect(death.wasWaiting, death.name).toBe(!has(death, 'run_finished'));
});

describe('an interrupted answer', () => {
  /** Aborted answers are kept by both policies. */
  const areCut = (policy: Kill['policy']) =>
    those((death) => {
      const isStopped = has(death, 'aborted') || isUnhandled(death, 'abort');
      return (isStopped ? 'keep' : death.policy) === policy && cutAnswer(death) !== undefined;
    });
  const isHalfCall = (part: Part) => part.kind === 'tool_call' && part.partial === true;

  test('is kept as partial without loss, and without a request, with policy keep', () => {
    let partials = 0;
    for (const death of areCut('keep')) {
      const { name, after, requests } = death;
      const said = cutAnswer(death);
      const kept = said && itemOf(itemsOf(after), said.id);
      expect(kept?.stop, name).toEqual({ reason: 'aborted', cause: 'interrupted' });
      expect(kept?.parts, name).toEqual(said?.parts.filter((part) => !isHalfCall(part)));
      partials += kept?.parts.filter(({ partial }) => partial).length ?? 0;
      if (!isUnhandled(death, 'message')) expect(requests, name).toBe(0);
    }
    expect(partials).toBeGreaterThan(least(5));
  });

  test('is retracted and replaced by a new answer with policy retry', () => {
    for (const death of areCut('retry')) {
      const { name, before, after, result, requests } = death;
      const said = cutAnswer(death);
      const items = itemsOf(after);
      expect(said && itemOf(items, said.id), name).toBeUndefined();
      const news = factsOf(after.slice(before.length));
      expect(news, name).toContainEqual({ type: 'attempt_superseded', reason: 'interrupted' });
      // A steer message joins the next request and causes one more.
      expect([result.text, requests], name).toEqual([
        'Go on.',
        isUnhandled(death, 'message') ? 2 : 1,
      ]);
      expect(items.at(-1)?.parts, name).toEqual([{ kind: 'text', text: 'Go on.' }]);
    }
  });
});

test('a run continues to its end, or ends as aborted after an abort or a kept partial answer', () => {
  for (const death of those((one) => !isUnhandled(one, 'abort'))) {
    const { name, before, after, result, policy } = death;
    const isKept =
      policy === 'keep' && cutAnswer(death) !== undefined && !isUnhandled(death, 'message');
    const wasAborted = has(death, 'aborted') && !has(death, 'run_finished');
    // The resuming process aborts a tool that never ends.
    const hangs = callsWithOutcome(after.slice(before.length), 'started', ['hang']).length > 0;
    const isAborted = isKept || wasAborted || hangs;
    expect(result.stop.reason, name).toBe(isAborted ? 'aborted' : 'stop');
    expect(result.error, name).toBeUndefined();
    const last = itemsOf(after).findLast(({ kind }) => kind === 'assistant');
    if (!isAborted && !has(death, 'aborted')) expect(last?.stop, name).toEqual({ reason: 'stop' });
  }
});

test('an observed result and every finished item are still there', () => {
  let results = 0;
  for (const death of deaths) {
    const { name, told, after } = death;
    const items = itemsOf(after);
    for (const item of toArray(foldRecords(session, told).items)) {
      const { id, turn, finished } = item;
      if (finished) expect(itemOf(items, id), name).toEqual(toItem(item));
      // Results of tools that started early do not count if the response was interrupted.
      if (turn === cutAnswer(death)?.turn) continue;
      for (const part of resultsIn([toItem(item)])) {
        results++;
        expect(resultsIn(items), name).toContainEqual(part);
      }
    }
  }
  expect(results).toBeGreaterThan(least(50));
});

describe('a tool', () => {
  test('that may not run again ran at most once, and exactly once if its result was observed', () => {
    let done = 0;
    for (const { name, told, after, written } of deaths) {
      const started = callsWithOutcome(after, 'started', withEffects);
      expect(new Set(started).size, name).toBe(started.length);
      for (const item of itemsOf(after))
        for (const part of item.parts) {
          if (part.kind !== 'tool_call' || part.name !== 'write') continue;
          const { line } = part.input as { readonly line: string };
          const times = written.filter((one) => one === line).length;
          const wasTold = callsWithOutcome(told, 'completed', ['write']).includes(part.toolCallId);
          if (wasTold) done++;
          if (wasTold) expect(times, name).toBe(1);
          else expect(times, name).toBeLessThanOrEqual(started.includes(part.toolCallId) ? 1 : 0);
        }
    }
    expect(done).toBeGreaterThan(least(20));
  });

  test('with unknown outcome reports it, or runs again if it may', () => {
    let [unknown, again] = [0, 0];
    for (const death of deaths.filter((one) => cutAnswer(one) === undefined)) {
      const { name, after } = death;
      const results = resultsIn(itemsOf(after));
      const isAborted = factsOf(after).some(({ type }) => type === 'aborted');
      const resultOf = (id: string) => results.find(({ toolCallId }) => toolCallId === id);
      for (const id of callsWithOutcome(after, 'lost', withEffects)) {
        unknown++;
        const why = isAborted ? 'It was stopped' : 'nobody knows whether it was done';
        const text = expect.stringContaining(why);
        expect(resultOf(id), name).toMatchObject({ isError: true, text });
      }
      for (const id of callsWithOutcome(after, 'lost', ['look'])) {
        again++;
        expect(resultOf(id), name).toMatchObject({ isError: false, text: 'seen' });
      }
    }
    expect(unknown).toBeGreaterThan(least(5));
    expect(again).toBeGreaterThan(0);
  });
});

describe('an approval', () => {
  const asked = (records: readonly LogRecord[]) =>
    factsOf(records).filter(
      (fact) => fact.type === 'approval_asked' && fact.toolCallId === askedCall,
    );

  test('that was pending stays pending: no new request, and nothing runs before the answer', () => {
    const isPending = (death: Kill) =>
      has(death, 'approval_asked') &&
      !has(death, 'approval_answered') &&
      !isUnhandled(death, 'approve');
    for (const { name, parked, after, written, result } of those(isPending)) {
      expect(parked?.written, name).toEqual([]);
      expect(asked(parked?.records ?? []), name).toHaveLength(1);
      expect(asked(after), name).toHaveLength(1);
      expect([result.stop.reason, written], name).toEqual(['stop', ['one']]);
    }
  });

  test('that was given before the crash and not handled still applies', () => {
    for (const { name, parked, after, written } of those((one) => isUnhandled(one, 'approve'))) {
      expect(parked, name).toBeUndefined();
      expect(asked(after), name).toHaveLength(1);
      const answer = { type: 'approval_answered', decision: 'allow', by: 'ada' };
      expect(factsOf(after), name).toContainEqual(expect.objectContaining(answer));
      expect(written, name).toEqual(['one']);
    }
  });
});

test('an abort on the log still applies after a crash', () => {
  const unheard = deaths.filter((one) => isUnhandled(one, 'abort') && !has(one, 'run_finished'));
  expect(unheard).not.toEqual([]);
  for (const { name, result } of unheard) expect(result.stop.reason, name).toBe('aborted');
});
