import { type Item, type ItemId, transcript } from '@millrace/core';
import type { RunContext } from '../run/context.ts';
import type { Validated } from '../tool/tool.ts';
import { answeredValue } from './output.ts';

/** What the last answer is, where the agent's answers have to be like something, or what is wrong with it. */
export async function checkAnswer({
  settings,
  journal,
}: RunContext): Promise<Validated | undefined> {
  const last = transcript(journal.state).findLast(({ kind }) => kind === 'assistant');
  return settings.output?.check(answeredValue(last));
}

/** Tells it from what somebody said. */
export const byTheLoop = { by: 'the loop' } as const;

/** What the model is told then. */
export function askedAgain(id: ItemId, problem: string): Item {
  const text = `Your answer does not fit what was asked for:\n${problem}\nAnswer again.`;
  return { id, kind: 'developer', parts: [{ kind: 'text', text }], metadata: byTheLoop };
}
