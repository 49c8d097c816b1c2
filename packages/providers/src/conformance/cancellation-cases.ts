import { countingIds } from '@millrace/core';
import type { StreamStep } from '../contract/provider.ts';
import { systemClock } from '../transport/clock.ts';
import { sampleText } from './answer-cases.ts';
import {
  appendedBy,
  check,
  checkEqual,
  hello,
  observe,
  streamItem,
  textOf,
  withTimeout,
} from './observe.ts';
import type { ConformanceCase, ConformanceSubject } from './subject.ts';

/** Returns the cases in which the reader aborts or stops reading a stream. */
export function cancellationCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  return [
    {
      name: 'aborted before the start: the stream ends as aborted without output',
      run: async () => {
        const signal = AbortSignal.abort();
        const { item, end } = await observe(await provider({ text: sampleText }), { signal });
        checkEqual(end.stop.reason, 'aborted', 'the stop');
        checkEqual(end.error?.kind, 'aborted', 'the kind of error');
        checkEqual(item.parts, [], 'the output');
      },
    },
    {
      name: 'aborted during a stall: the stream ends as aborted and keeps its text',
      run: async () => {
        const controller = new AbortController();
        let received = '';
        const onStep = ({ deltas }: StreamStep) => {
          received += appendedBy(deltas);
          if (received === sampleText) controller.abort();
        };
        const stalling = await provider({ text: sampleText, ends: 'stall' });
        const observed = observe(stalling, { signal: controller.signal, onStep });
        const { item, end } = await withTimeout(
          observed,
          'the stream does not end after an abort',
        ).finally(() => controller.abort());
        checkEqual(end.stop.reason, 'aborted', 'the stop');
        checkEqual(textOf(item), sampleText, 'the text');
        check(
          item.parts.every(({ partial }) => partial === true),
          'a cut part is not marked partial',
        );
      },
    },
    {
      name: 'the reader may leave the stream at any time',
      run: async () => {
        const controller = new AbortController();
        const leave = new Error('left the stream');
        const onStep = () => {
          throw leave;
        };
        const stalling = await provider({ text: sampleText, ends: 'stall' });
        const left = observe(stalling, { signal: controller.signal, onStep }).then(
          () => undefined,
          (error: unknown) => error,
        );
        const found = await withTimeout(left, 'the reader cannot leave the stream').finally(() =>
          controller.abort(),
        );
        check(found === leave, String(found));
      },
    },
    {
      name: 'the reader may leave while it waits for the next step',
      run: async () => {
        const asked = await provider({ text: sampleText, ends: 'stall' });
        const context = { item: streamItem, ids: countingIds() };
        const steps = asked.stream(hello, context)[Symbol.asyncIterator]();
        await withTimeout(
          readUntilTextArrived(steps),
          'the stream does not deliver its text before it stalls',
        );
        const waiting = steps.next();
        await nextTimerTick();
        check(steps.return !== undefined, 'the iterator has no return method');
        const left = Promise.all([steps.return(), waiting]);
        await withTimeout(left, 'the reader cannot leave the stream while it stalls');
      },
    },
  ];
}

/** Reads steps until the whole text has arrived. */
async function readUntilTextArrived(steps: AsyncIterator<StreamStep>): Promise<void> {
  for (let received = ''; received !== sampleText; ) {
    const { done, value } = await steps.next();
    check(!done, `the stream ended after ${JSON.stringify(received)}`);
    received += appendedBy((value as StreamStep).deltas);
  }
}

/** Waits for one timer tick. After that, a pending read is waiting for data. */
function nextTimerTick(): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(0, resolve);
  });
}
