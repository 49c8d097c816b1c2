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

/** The text that the providers under test must stream. */
export const sampleText = 'The order is ready. 😀 ✓\n\n- a  list';

const sampleCalls: readonly [
  { readonly name: string; readonly arguments: string },
  { readonly name: string; readonly arguments: string },
] = [
  { name: 'read_file', arguments: '{"path":"a b.txt","lines":[1,2]}' },
  { name: 'list_folder', arguments: '{"deep":{"er":"ö😀"}}' },
];

/** Returns the cases for complete answers. */
export function answerCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  return [
    {
      name: 'text arrives unchanged, and the stop reason is stop',
      run: async () => {
        const { item, end } = await observe(await provider({ text: sampleText }));
        checkEqual(textOf(item), sampleText, 'the text');
        checkEqual(end.stop.reason, 'stop', 'the stop');
        check(
          item.parts.every(({ partial }) => partial === undefined),
          'a complete part is marked partial',
        );
      },
    },
    {
      name: 'text arrives in pieces, not all at the end',
      run: async () => {
        let steps = 0;
        await observe(await provider({ text: sampleText.repeat(20) }), {
          onStep: ({ deltas }) => {
            if (appendedBy(deltas) !== '') steps++;
          },
        });
        check(steps > 1, `${steps} steps contain text, but a long answer needs several`);
      },
    },
    {
      name: 'calls have names, arguments and unique ids, and the stop reason is tool_use',
      run: async () => {
        const { item, end } = await observe(
          await provider({ text: 'Let me see.', toolCalls: sampleCalls }),
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
        const first = await observe(await provider({ text: sampleText, toolCalls: sampleCalls }));
        const second = await observe(await provider({ text: sampleText, toolCalls: sampleCalls }));
        checkEqual(second.deltas, first.deltas, 'the second stream');
      },
    },
    {
      name: 'two concurrent streams of one provider do not mix',
      run: async () => {
        const asked = await provider({ text: sampleText, toolCalls: sampleCalls });
        const both = await Promise.all([observe(asked), observe(asked)]);
        for (const { item } of both) checkEqual(textOf(item), sampleText, 'the text');
      },
    },
  ];
}

export function reasoningCase({ provider }: ConformanceSubject): ConformanceCase {
  return {
    name: 'reasoning is separate from text and comes first',
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
    name: 'a reached token limit gives the stop reason length, also with a call in the answer',
    run: async () => {
      const { end } = await observe(
        await provider({ text: sampleText, toolCalls: sampleCalls, stop: 'length' }),
      );
      checkEqual(end.stop.reason, 'length', 'the stop');
    },
  };
}

/** Returns the cases for answers that end early. */
export function failureCases({
  provider,
  limitations: without = [],
}: ConformanceSubject): readonly ConformanceCase[] {
  return (['cut', 'error'] as const).flatMap((ends) => [
    {
      name: `text and then ${ends}: the text is kept as partial, with an error`,
      run: async () => {
        const { item, end } = await observe(await provider({ text: sampleText, ends }));
        checkEqual(textOf(item), sampleText, 'the text');
        const last = item.parts.findLast(({ kind }) => kind === 'text');
        check(last?.partial === true, 'cut text is not marked partial');
        checkFailure(end, ends);
      },
    },
    {
      name: `calls and then ${ends}: no call may run`,
      run: async () => {
        const { item, end } = await observe(await provider({ toolCalls: sampleCalls, ends }));
        const whole = callsOf(item).filter(({ partial }) => partial === undefined);
        check(
          whole.length < sampleCalls.length || without.includes('open_calls'),
          'the last call is complete although the answer ended before it',
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

/** Returns the cases for `complete`. It must return the same answer as the stream. */
export function completeCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  const answers: readonly (readonly [name: string, answer: ConformanceAnswer])[] = [
    ['of a complete answer', { text: sampleText, toolCalls: sampleCalls }],
    ['of a cut answer', { text: sampleText, ends: 'cut' }],
  ];
  return answers.map(([name, answer]) => ({
    name: `complete ${name} returns the folded stream`,
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
