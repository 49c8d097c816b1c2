import type { AgentEvent, LogRecord } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import type { Observer } from '../contract/observer.ts';
import {
  LogBuilder,
  notifyAll,
  type ObservedRecord,
  observedRecords,
  stop,
} from '../testing/log-builder.ts';
import { channelObserver } from './channel-observer.ts';
import { jsonlObserver } from './jsonl-observer.ts';
import { Observers } from './observers.ts';
import { terminalObserver } from './terminal/terminal-observer.ts';
import { transcriptObserver } from './transcript-observer.ts';
import { usageObserver } from './usage-observer.ts';

const logs = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 200, size: 'max' }).map(randomLog);

/** A clock that stands still, so that a slow machine does not make observers slow. */
const still = { now: () => 0 };

const oneRecord = new LogBuilder().fact({ type: 'turn_finished', stop }).observed;
const [first] = oneRecord;
if (first === undefined) throw new Error('a story of one record has one record');

function tellOnce(
  observers: Observers,
  { record, events }: ObservedRecord = first as ObservedRecord,
): void {
  observers.notify(record, events);
}

describe('observers', () => {
  test('in any order receive the same sequence, whatever the others do', () => {
    const shipped = (): readonly Observer[] => [
      terminalObserver({ write: () => {} }),
      jsonlObserver(() => {}),
      usageObserver().observe,
      transcriptObserver().observe,
      channelObserver({ maxEvents: 3 }).observe,
      () => {
        throw new Error('always');
      },
    ];
    fc.assert(
      fc.property(logs, fc.infiniteStream(fc.nat(0xffff)), (records, numbers) => {
        const seen: ObservedRecord[][] = [[], [], []];
        const ears = seen.map(
          (list): Observer =>
            (record, events) =>
              list.push({ record, events }),
        );
        const order = [...ears, ...shipped()]
          .map((observer) => ({ observer, rank: numbers.next().value }))
          .sort((a, b) => a.rank - b.rank);
        const problems: string[] = [];
        const observers = new Observers(
          order.map(({ observer }) => observer),
          {
            freeze: true,
            clock: still,
            onDiagnostic: (problem) => problems.push(problem),
          },
        );
        const told = observedRecords(records);
        for (const { record, events } of told) observers.notify(record, events);
        for (const list of seen) expect(list).toEqual(told);
        expect(problems).toEqual(
          told.length === 0 ? [] : [expect.stringMatching(/threw: always$/)],
        );
      }),
      { numRuns: runs(200) },
    );
  });

  test('are called in registration order', () => {
    const heard: string[] = [];
    const observers = new Observers([() => heard.push('a'), () => heard.push('b')]);
    tellOnce(observers);
    tellOnce(observers);
    expect(heard).toEqual(['a', 'b', 'a', 'b']);
  });

  test('all receive a record before any receives the next, even if one of them causes it', () => {
    const story = new LogBuilder().fact({ type: 'aborted' }, { type: 'turn_finished', stop });
    const [one, two] = story.observed;
    if (one === undefined || two === undefined) throw new Error('the story has two records');
    const heard: [string, number][] = [];
    const observers: Observers = new Observers([
      ({ offset }) => {
        heard.push(['a', offset]);
        if (offset === 1) tellOnce(observers, two);
      },
      ({ offset }) => heard.push(['b', offset]),
    ]);
    tellOnce(observers, one);
    expect(heard).toEqual([
      ['a', 1],
      ['b', 1],
      ['a', 2],
      ['b', 2],
    ]);
  });
});

describe('an observer that throws', () => {
  test('is reported once per message, with the record, and stays registered', () => {
    const messages = ['x', 'x', 'y', 'x'];
    const reports: [string, LogRecord][] = [];
    let heard = 0;
    const flawed: Observer = () => {
      throw new Error(messages[heard++]);
    };
    const observers = new Observers([flawed], {
      clock: still,
      onDiagnostic: (problem, record) => reports.push([problem, record]),
    });
    for (const _ of messages) tellOnce(observers);
    expect(heard).toBe(4);
    expect(reports).toEqual([
      ['Observer 1 (flawed) threw: x', first.record],
      ['Observer 1 (flawed) threw: y', first.record],
    ]);
  });

  test('with a new message each time is not reported forever', () => {
    const reports: string[] = [];
    let heard = 0;
    const observers = new Observers(
      [
        () => {
          throw new Error(`problem ${heard++}`);
        },
      ],
      { clock: still, onDiagnostic: (problem) => reports.push(problem) },
    );
    for (let count = 0; count < 1000; count++) tellOnce(observers);
    expect(heard).toBe(1000);
    expect(reports).toHaveLength(101);
    expect(reports.at(-1)).toBe(
      'Observer 1 threw: too many different errors; no more are reported',
    );
  });

  test('in a promise is reported too, without an unhandled rejection', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const late = async () => {
      throw new Error('late');
    };
    tellOnce(new Observers([late], { clock: still, onDiagnostic: resolve }));
    expect(await promise).toBe('Observer 1 (late) threw: late');
  });

  test('has no effect, even if onDiagnostic throws as well', () => {
    const heard: number[] = [];
    const fail = () => {
      throw new Error('no');
    };
    const observers = new Observers([fail, ({ offset }) => heard.push(offset)], {
      onDiagnostic: fail,
    });
    tellOnce(observers);
    tellOnce(observers);
    expect(heard).toEqual([1, 1]);
  });
});

describe('a slow observer', () => {
  test('is reported, and again only if it is twice as slow', () => {
    let nowMs = 0;
    const takesMs = [10, 11, 20, 22, 23, 400];
    const reports: string[] = [];
    const slow: Observer = () => {
      nowMs += takesMs.shift() ?? 0;
    };
    const quick: Observer = () => {};
    const observers = new Observers([quick, slow], {
      slowMs: 10,
      clock: { now: () => nowMs },
      onDiagnostic: (problem) => reports.push(problem),
    });
    while (takesMs.length > 0) tellOnce(observers);
    expect(reports).toEqual([
      'Observer 2 (slow) took 11 ms for one record, and the run waited for it',
      'Observer 2 (slow) took 23 ms for one record, and the run waited for it',
      'Observer 2 (slow) took 400 ms for one record, and the run waited for it',
    ]);
  });

  test('needs a limit that is a number', () => {
    expect(() => new Observers([], { slowMs: Number.NaN })).toThrow(/slowMs must be at least 0/);
  });
});

describe('frozen arguments', () => {
  const story = new LogBuilder().at(1, 1);
  const writer = story.request();
  writer.whole({ kind: 'structured', value: { deep: { list: [1] } } });
  story.take(writer).fact({ type: 'turn_finished', itemId: story.lastItem, stop });

  const tamper: Observer = (record, events) => {
    const values: unknown[] = [record, events, ...events];
    const message = events.find((event) => event.type === 'turn_finished')?.message;
    const part = message?.parts[0];
    if (part?.kind === 'structured') values.push(Object.values(part.value as object)[0]);
    for (const value of values) expect(Object.isFrozen(value)).toBe(true);
    Object.assign(record, { offset: 0 });
  };

  test('make an observer that modifies them throw', () => {
    const reports: string[] = [];
    const onDiagnostic = (problem: string) => reports.push(problem);
    const options = { freeze: true, clock: still, onDiagnostic };
    notifyAll(
      (record, events) => new Observers([tamper], options).notify(record, events),
      story.observed,
    );
    expect(reports).toHaveLength(story.records.length);
    for (const report of reports) expect(report).toMatch(/read only property 'offset'/);
  });

  test('are optional: by default the arguments are not frozen', () => {
    const events: readonly AgentEvent[] = [];
    tellOnce(new Observers([() => {}]), { record: { ...first.record }, events });
    expect(Object.isFrozen(events)).toBe(false);
  });
});
