import { countingIds } from '@millrace/core';
import type { ResponseEnd } from '../contract/provider.ts';
import {
  appendedBy,
  callsOf,
  check,
  checkEqual,
  hello,
  observe,
  reasoningOf,
  textOf,
} from './observe.ts';
import type { ConformanceAnswer, ConformanceCase, ConformanceSubject } from './subject.ts';

/** The answer that the providers under test stream. */
export const sampleText = 'The wheel turns. 😀 ✓\n\n- a  list';

const sampleCalls: readonly [
  { readonly name: string; readonly arguments: string },
  { readonly name: string; readonly arguments: string },
] = [
  { name: 'read_file', arguments: '{"path":"a b.txt","lines":[1,2]}' },
  { name: 'list_folder', arguments: '{"deep":{"er":"ö😀"}}' },
];

/** Cases for complete answers. */
export function answerCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  return [
    {
      name: 'text comes as it was said, and stops',
      run: async () => {
        const { item, end } = await observe(await provider({ text: sampleText }));
        checkEqual(textOf(item), sampleText, 'the text');
        checkEqual(end.stop.reason, 'stop', 'the stop');
        check(
          item.parts.every(({ partial }) => partial === undefined),
          'what is whole is partial',
        );
      },
    },
    {
      name: 'text is told in pieces, not at the end',
      run: async () => {
        let steps = 0;
        await observe(await provider({ text: sampleText.repeat(20) }), {
          onStep: ({ deltas }) => {
            if (appendedBy(deltas) !== '') steps++;
          },
        });
        check(steps > 1, `${steps} steps have text in them, and a long answer should have more`);
      },
    },
    {
      name: 'calls have names, arguments and ids of their own, and the stop is tool_use',
      run: async () => {
        const { item, end } = await observe(
          await provider({ text: 'Let me see.', calls: sampleCalls }),
        );
        checkEqual(
          callsOf(item).map(({ name, input }) => ({ name, input })),
          sampleCalls.map(({ name, arguments: json }) => ({
            name,
            input: JSON.parse(json) as unknown,
          })),
          'the calls',
        );
        checkEqual(
          new Set(callsOf(item).map(({ toolCallId }) => toolCallId)).size,
          2,
          'the number of ids',
        );
        checkEqual(end.stop.reason, 'tool_use', 'the stop');
      },
    },
    {
      name: 'the same answer gives the same deltas',
      run: async () => {
        const first = await observe(await provider({ text: sampleText, calls: sampleCalls }));
        const second = await observe(await provider({ text: sampleText, calls: sampleCalls }));
        checkEqual(second.deltas, first.deltas, 'the second stream');
      },
    },
    {
      name: 'two streams of one provider at once do not mix',
      run: async () => {
        const asked = await provider({ text: sampleText, calls: sampleCalls });
        const both = await Promise.all([observe(asked), observe(asked)]);
        for (const { item } of both) checkEqual(textOf(item), sampleText, 'the text');
      },
    },
  ];
}

export function reasoningCase({ provider }: ConformanceSubject): ConformanceCase {
  return {
    name: 'reasoning is kept apart from text, and before it',
    run: async () => {
      const reasoning = 'Hm, let me think.';
      const { item } = await observe(await provider({ reasoning, text: sampleText }));
      const kinds = item.parts.flatMap(({ kind }) =>
        kind === 'text' || kind === 'reasoning' ? kind : [],
      );
      checkEqual([...new Set(kinds)], ['reasoning', 'text'], 'the order of parts');
      checkEqual(reasoningOf(item), reasoning, 'the reasoning');
    },
  };
}

export function lengthCase({ provider }: ConformanceSubject): ConformanceCase {
  return {
    name: 'running out of tokens is told as length, also with a call in the answer',
    run: async () => {
      const { end } = await observe(
        await provider({ text: sampleText, calls: sampleCalls, stop: 'length' }),
      );
      checkEqual(end.stop.reason, 'length', 'the stop');
    },
  };
}

/** Cases for answers that end early. */
export function failureCases({
  provider,
  without = [],
}: ConformanceSubject): readonly ConformanceCase[] {
  return (['cut', 'error'] as const).flatMap((ends) => [
    {
      name: `text and then ${ends}: what was said stays as partial, with an error`,
      run: async () => {
        const { item, end } = await observe(await provider({ text: sampleText, ends }));
        checkEqual(textOf(item), sampleText, 'the text');
        const last = item.parts.findLast(({ kind }) => kind === 'text');
        check(last?.partial === true, 'text that was cut off is not partial');
        checkFailure(end, ends);
      },
    },
    {
      name: `calls and then ${ends}: nothing may run`,
      run: async () => {
        const { item, end } = await observe(await provider({ calls: sampleCalls, ends }));
        const whole = callsOf(item).filter(({ partial }) => partial === undefined);
        check(
          whole.length < sampleCalls.length || without.includes('open_calls'),
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

/** Cases for `complete`, which must return the folded stream. */
export function completeCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  const answers: readonly (readonly [name: string, answer: ConformanceAnswer])[] = [
    ['of a whole answer', { text: sampleText, calls: sampleCalls }],
    ['of an answer that was cut off', { text: sampleText, ends: 'cut' }],
  ];
  return answers.map(([name, answer]) => ({
    name: `complete ${name} gives what its stream folds to`,
    run: async () => {
      const { item, end } = await observe(await provider(answer));
      const asked = await provider(answer);
      const completion = await asked.complete(hello, { ids: countingIds() });
      checkEqual(completion.item.parts, item.parts, 'the item');
      checkEqual(completion.text, textOf(item), 'the text');
      checkEqual(completion.stop, end.stop, 'the stop');
      checkEqual(completion.usage, end.usage, 'the usage');
      checkEqual(completion.error?.kind, end.error?.kind, 'the kind of error');
    },
  }));
}
