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

/** Cases for readers that abort or leave a stream. */
export function cancellationCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  return [
    {
      name: 'aborted before it starts: it ends as aborted, with nothing said',
      run: async () => {
        const signal = AbortSignal.abort();
        const { item, end } = await observe(await provider({ text: sampleText }), { signal });
        checkEqual(end.stop.reason, 'aborted', 'the stop');
        checkEqual(end.error?.kind, 'aborted', 'the kind of error');
        checkEqual(item.parts, [], 'what was said');
      },
    },
    {
      name: 'aborted while it says nothing: it ends as aborted, and what was said stays',
      run: async () => {
        const controller = new AbortController();
        let said = '';
        const onStep = ({ deltas }: StreamStep) => {
          said += appendedBy(deltas);
          if (said === sampleText) controller.abort();
        };
        const stalling = await provider({ text: sampleText, ends: 'stall' });
        const observed = observe(stalling, { signal: controller.signal, onStep });
        const { item, end } = await withTimeout(
          observed,
          'it does not end after it was aborted',
        ).finally(() => controller.abort());
        checkEqual(end.stop.reason, 'aborted', 'the stop');
        checkEqual(textOf(item), sampleText, 'the text');
        check(
          item.parts.every(({ partial }) => partial === true),
          'what was cut off is not partial',
        );
      },
    },
    {
      name: 'its reader may leave at any time',
      run: async () => {
        const controller = new AbortController();
        const leave = new Error('left');
        const onStep = () => {
          throw leave;
        };
        const stalling = await provider({ text: sampleText, ends: 'stall' });
        const left = observe(stalling, { signal: controller.signal, onStep }).then(
          () => undefined,
          (error: unknown) => error,
        );
        const found = await withTimeout(left, 'it cannot be left').finally(() =>
          controller.abort(),
        );
        check(found === leave, String(found));
      },
    },
    {
      name: 'its reader may leave while it waits for the next step',
      run: async () => {
        const asked = await provider({ text: sampleText, ends: 'stall' });
        const context = { item: streamItem, ids: countingIds() };
        const steps = asked.stream(hello, context)[Symbol.asyncIterator]();
        await withTimeout(
          readUntilTextArrived(steps),
          'it does not tell what was said before it says nothing',
        );
        const waiting = steps.next();
        await nextTimerTick();
        check(steps.return !== undefined, 'its iterator has no return');
        const left = Promise.all([steps.return(), waiting]);
        await withTimeout(left, 'it cannot be left while it says nothing');
      },
    },
  ];
}

/** Reads steps until the whole text has arrived. */
async function readUntilTextArrived(steps: AsyncIterator<StreamStep>): Promise<void> {
  for (let said = ''; said !== sampleText; ) {
    const { done, value } = await steps.next();
    check(!done, `the stream ended after ${JSON.stringify(said)}`);
    said += appendedBy((value as StreamStep).deltas);
  }
}

/** Lets the pending read start to wait. */
function nextTimerTick(): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(0, resolve);
  });
}
