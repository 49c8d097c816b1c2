import { calls, text } from './answers.ts';
import { check, checkEqual } from './check.ts';
import { observe } from './observe.ts';
import { appendedBy, callsOf, reasoningOf, textOf } from './said.ts';
import type { ConformanceCase, ConformanceSubject } from './subject.ts';

/** What an answer is that comes whole. */
export function answerCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  return [
    {
      name: 'text comes as it was said, and stops',
      run: async () => {
        const { item, end } = await observe(await provider({ text }));
        checkEqual(textOf(item), text, 'the text');
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
        await observe(await provider({ text: text.repeat(20) }), {
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
        const { item, end } = await observe(await provider({ text: 'Let me see.', calls }));
        checkEqual(
          callsOf(item).map(({ name, input }) => ({ name, input })),
          calls.map(({ name, arguments: json }) => ({ name, input: JSON.parse(json) as unknown })),
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
        const first = await observe(await provider({ text, calls }));
        const second = await observe(await provider({ text, calls }));
        checkEqual(second.deltas, first.deltas, 'the second stream');
      },
    },
    {
      name: 'two streams of one provider at once do not mix',
      run: async () => {
        const asked = await provider({ text, calls });
        const both = await Promise.all([observe(asked), observe(asked)]);
        for (const { item } of both) checkEqual(textOf(item), text, 'the text');
      },
    },
  ];
}

export function reasoningCase({ provider }: ConformanceSubject): ConformanceCase {
  return {
    name: 'reasoning is kept apart from text, and before it',
    run: async () => {
      const reasoning = 'Hm, let me think.';
      const { item } = await observe(await provider({ reasoning, text }));
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
      const { end } = await observe(await provider({ text, calls, stop: 'length' }));
      checkEqual(end.stop.reason, 'length', 'the stop');
    },
  };
}
