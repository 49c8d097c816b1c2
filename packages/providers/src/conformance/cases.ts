import type { Item } from '@millrace/core';
import { check, checkEqual } from './check.ts';
import { observe } from './observe.ts';
import type { ConformanceAnswer, ConformanceCase, ConformanceSubject } from './subject.ts';

const text = 'The wheel turns. 😀 ✓\n\n- a  list';
const two = [
  { name: 'read_file', arguments: '{"path":"a b.txt","lines":[1,2]}' },
  { name: 'list_folder', arguments: '{"deep":{"er":"ö😀"}}' },
];

/**
 * What every provider has to do, each as one case; for any test runner:
 *
 * @example
 * for (const { name, run } of conformanceCases(subject)) test(name, run);
 */
export function conformanceCases(subject: ConformanceSubject): readonly ConformanceCase[] {
  const can = (what: 'reasoning' | 'length') => !subject.without?.includes(what);
  const answering = async (answer: ConformanceAnswer) => subject.provider(answer);
  return [
    {
      name: 'text comes as it was said, and stops',
      run: async () => {
        const { item, end } = await observe(await answering({ text }));
        checkEqual(textOf(item), text, 'the text');
        checkEqual(end.stop.reason, 'stop', 'the stop');
      },
    },
    {
      name: 'text is told in pieces, not at the end',
      run: async () => {
        const { deltas } = await observe(await answering({ text: text.repeat(20) }));
        check(
          deltas.filter(({ type }) => type === 'append_text').length > 1,
          'there is one append',
        );
      },
    },
    {
      name: 'calls have names, arguments and ids of their own, and the stop is tool_use',
      run: async () => {
        const { item, end } = await observe(await answering({ text: 'Let me see.', calls: two }));
        checkEqual(
          callsOf(item).map(({ name, input }) => ({ name, input })),
          two.map(parsedCall),
          'the calls',
        );
        checkEqual(new Set(callsOf(item).map(({ id }) => id)).size, 2, 'the number of ids');
        checkEqual(end.stop.reason, 'tool_use', 'the stop');
      },
    },
    {
      name: 'the same answer gives the same deltas',
      run: async () => {
        const answer = { text, calls: two };
        const [first, second] = [
          await observe(await answering(answer)),
          await observe(await answering(answer)),
        ];
        checkEqual(second.deltas, first.deltas, 'the second stream');
      },
    },
    {
      name: 'two streams of one provider at once do not mix',
      run: async () => {
        const provider = await answering({ text, calls: two });
        const both = await Promise.all([observe(provider), observe(provider)]);
        for (const { item } of both) checkEqual(textOf(item), text, 'the text');
      },
    },
    ...(can('reasoning') ? [reasoningCase(subject)] : []),
    ...(can('length') ? [lengthCase(subject)] : []),
    ...failureCases(subject),
    ...abortCases(subject),
  ];
}

function reasoningCase(subject: ConformanceSubject): ConformanceCase {
  return {
    name: 'reasoning is kept apart from text, and before it',
    run: async () => {
      const { item } = await observe(
        await subject.provider({ reasoning: 'Hm, let me think.', text }),
      );
      const kinds = item.parts.flatMap(({ kind }) =>
        kind === 'text' || kind === 'reasoning' ? kind : [],
      );
      checkEqual([...new Set(kinds)], ['reasoning', 'text'], 'the order of parts');
      const reasoning = item.parts
        .map((part) => (part.kind === 'reasoning' ? part.text : ''))
        .join('');
      checkEqual(reasoning, 'Hm, let me think.', 'the reasoning');
    },
  };
}

function lengthCase(subject: ConformanceSubject): ConformanceCase {
  return {
    name: 'running out of tokens is told as length, also with a call in the answer',
    run: async () => {
      const { end } = await observe(await subject.provider({ text, calls: two, stop: 'length' }));
      checkEqual(end.stop.reason, 'length', 'the stop');
    },
  };
}

function failureCases(subject: ConformanceSubject): readonly ConformanceCase[] {
  return (['cut', 'error'] as const).flatMap((ends) => [
    {
      name: `text and then ${ends}: what was said stays as partial, with an error`,
      run: async () => {
        const { item, end } = await observe(await subject.provider({ text, ends }));
        checkEqual(textOf(item), text, 'the text');
        checkEqual(end.stop.reason, 'error', 'the stop');
      },
    },
    {
      name: `calls and then ${ends}: nothing may run`,
      run: async () => {
        const { end } = await observe(await subject.provider({ calls: two, ends }));
        checkEqual(end.stop.reason, 'error', 'the stop');
      },
    },
  ]);
}

function abortCases(subject: ConformanceSubject): readonly ConformanceCase[] {
  return [
    {
      name: 'aborted before it starts: it ends as aborted, with nothing said',
      run: async () => {
        const { item, end } = await observe(await subject.provider({ text }), {
          signal: AbortSignal.abort(),
        });
        checkEqual(end.stop.reason, 'aborted', 'the stop');
        checkEqual(item.parts, [], 'what was said');
      },
    },
    {
      name: 'aborted while it says nothing: it ends as aborted, and what was said stays',
      run: async () => {
        const controller = new AbortController();
        const provider = await subject.provider({ text, ends: 'stall' });
        let said = '';
        const { item, end } = await observe(provider, {
          signal: controller.signal,
          onStep: ({ deltas }) => {
            for (const delta of deltas) if (delta.type === 'append_text') said += delta.chunk;
            if (said === text) controller.abort();
          },
        });
        checkEqual(end.stop.reason, 'aborted', 'the stop');
        checkEqual(textOf(item), text, 'the text');
        check(
          item.parts.every(({ partial }) => partial === true),
          'what was cut off is not partial',
        );
      },
    },
    {
      name: 'its reader may leave at any time',
      run: async () => {
        const provider = await subject.provider({ text, ends: 'stall' });
        const leave = new Error('left');
        await observe(provider, {
          onStep: () => {
            throw leave;
          },
        }).catch((error) => check(error === leave, String(error)));
      },
    },
  ];
}

function textOf({ parts }: Item): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

function callsOf({
  parts,
}: Item): readonly { readonly id: string; readonly name: string; readonly input: unknown }[] {
  return parts.flatMap((part) =>
    part.kind === 'tool_call' ? { id: part.toolCallId, name: part.name, input: part.input } : [],
  );
}

function parsedCall({
  name,
  arguments: json,
}: {
  readonly name: string;
  readonly arguments: string;
}) {
  return { name, input: JSON.parse(json) as unknown };
}
