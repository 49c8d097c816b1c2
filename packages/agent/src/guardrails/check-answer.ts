import type { Attempt, Item } from '@millrace/core';
import { contextItems } from '../context/build-request.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { FormAnswer } from '../contract/tool.ts';
import { isHalt } from './checked-items.ts';
import { judge } from './judge.ts';

/**
 * Checks the answer to a form with the input guardrails, before a tool sends it to a model. The tool gets only
 * an answer that all of them pass. The answer of a user cannot be changed, so it is cancelled instead.
 */
export async function checkAnswer(
  context: RunContext,
  { turn }: Attempt,
  answer: FormAnswer,
): Promise<FormAnswer> {
  const { settings, journal } = context;
  const text = textOf(answer);
  if (text === '') return answer;
  const item: Item = { id: settings.ids.item(), kind: 'user', parts: [{ kind: 'text', text }] };
  for (const guardrail of settings.guardrails.filter(({ on }) => on === 'input')) {
    const items = await contextItems(settings, journal.state, journal.loop);
    const checked = { text, item, items: [...items, item] };
    const verdict = await judge(guardrail, checked, context, turn);
    if (verdict?.verdict === 'pass') continue;
    return { action: 'cancel', ...(verdict && isHalt(verdict) && { stopped: text }) };
  }
  return answer;
}

/**
 * Returns the texts that the user entered. The names of the fields are not included, because they come from
 * the tool.
 */
function textOf(answer: FormAnswer): string {
  if (answer.action === 'accept')
    return Object.values(answer.content).flat().map(String).join('\n');
  return answer.action === 'decline' ? (answer.reason ?? '') : '';
}
