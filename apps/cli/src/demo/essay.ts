import type { Part } from '@millrace/core';
import { essaySections, essayTitle } from './essay-text.ts';
import { thought } from './speech.ts';

const headings = essaySections.map((section) => section.split('\n', 1)[0] ?? '');

export function asksForEssay(text: string): boolean {
  return /\b(?:long|longer|story|stories|essay)\b/i.test(text);
}

/** The section in which it was cut off; undefined where it was not the essay that was. */
export function essayAfter(cut: string): number | undefined {
  const last = headings.findLastIndex((heading) => cut.includes(heading));
  return last === -1 && !cut.includes(essayTitle) ? undefined : Math.max(last, 0);
}

export function isEssayTold(answers: readonly string[]): boolean {
  return answers.some((text) => text.includes(headings.at(-1) ?? essayTitle));
}

/** From a section on: the one that was cut off is told again from its start. */
export function essayFrom(section: number): readonly (Part | string)[] {
  const title = section === 0 ? [essayTitle] : [];
  const thinking =
    section === 0
      ? 'A long answer it is. It should have what long answers have: headings, lists, a table and some code. And it should be worth stopping.'
      : `I was stopped in ${headings[section] ?? 'the middle'}. I read that in the transcript, and go on with this section.`;
  return [thought(thinking), `${[...title, ...essaySections.slice(section)].join('\n\n')}\n`];
}
