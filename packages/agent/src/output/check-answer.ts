import { type Item, type ItemId, transcript } from '@millrace/core';
import type { RunContext } from '../run/context.ts';
import { answeredValue } from './output.ts';

/** What is wrong with the last answer, where the agent's answers have to be like something. */
export async function problemWithAnswer({
  settings,
  journal,
}: RunContext): Promise<string | undefined> {
  const { output } = settings;
  if (output === undefined) return undefined;
  const last = transcript(journal.state).findLast(({ kind }) => kind === 'assistant');
  const checked = await output.check(answeredValue(last));
  return checked.ok ? undefined : checked.problem;
}

/** What the model is told then. */
export function askedAgain(id: ItemId, problem: string): Item {
  const text = `Your answer does not fit what was asked for:\n${problem}\nAnswer again.`;
  return { id, kind: 'developer', parts: [{ kind: 'text', text }] };
}
