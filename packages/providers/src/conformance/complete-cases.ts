import { countingIds } from '@millrace/core';
import { calls, text } from './answers.ts';
import { checkEqual } from './check.ts';
import { hello, observe } from './observe.ts';
import { textOf } from './said.ts';
import type { ConformanceAnswer, ConformanceCase, ConformanceSubject } from './subject.ts';

/** `complete` is the same stream, folded. */
export function completeCases({ provider }: ConformanceSubject): readonly ConformanceCase[] {
  const answers: readonly (readonly [name: string, answer: ConformanceAnswer])[] = [
    ['of a whole answer', { text, calls }],
    ['of an answer that was cut off', { text, ends: 'cut' }],
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
