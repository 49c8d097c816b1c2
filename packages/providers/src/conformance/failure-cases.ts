import type { ResponseEnd } from '../contract/provider.ts';
import { calls, text } from './answers.ts';
import { check, checkEqual } from './check.ts';
import { observe } from './observe.ts';
import { callsOf, textOf } from './said.ts';
import type { ConformanceCase, ConformanceSubject } from './subject.ts';

/** What is left of an answer that breaks off. */
export function failureCases({
  provider,
  without = [],
}: ConformanceSubject): readonly ConformanceCase[] {
  return (['cut', 'error'] as const).flatMap((ends) => [
    {
      name: `text and then ${ends}: what was said stays as partial, with an error`,
      run: async () => {
        const { item, end } = await observe(await provider({ text, ends }));
        checkEqual(textOf(item), text, 'the text');
        const last = item.parts.findLast(({ kind }) => kind === 'text');
        check(last?.partial === true, 'text that was cut off is not partial');
        checkFailure(end, ends);
      },
    },
    {
      name: `calls and then ${ends}: nothing may run`,
      run: async () => {
        const { item, end } = await observe(await provider({ calls, ends }));
        const whole = callsOf(item).filter(({ partial }) => partial === undefined);
        check(
          whole.length < calls.length || without.includes('open_calls'),
          'the last call, which was not over when the answer broke off, is whole',
        );
        checkFailure(end, ends);
      },
    },
  ]);
}

function checkFailure({ stop, error }: ResponseEnd, ends: 'cut' | 'error'): void {
  checkEqual(stop.reason, 'error', 'the stop');
  if (ends === 'cut') checkEqual(error?.kind, 'truncated_stream', 'the kind of error');
}
