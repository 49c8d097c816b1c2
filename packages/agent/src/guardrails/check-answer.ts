import { type Attempt, type Item, itemId, type JsonValue } from '@millrace/core';
import { contextItems } from '../context/build-request.ts';
import type { Guardrail } from '../contract/guardrail.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { FormAnswer } from '../contract/tool.ts';
import { isHalt } from './checked-items.ts';
import { judge, type Verdict } from './judge.ts';

/**
 * Checks the answer to a form with the input guardrails, before a tool sends it to a model. The tool gets only
 * an answer that all of them pass. The answer of a user cannot be changed, so it is cancelled instead.
 */
export async function checkAnswer(
  context: RunContext,
  { turn }: Attempt,
  answer: FormAnswer,
): Promise<FormAnswer> {
  const text = textOf(answer);
  const refusal = await refusalOf(context, turn, text);
  if (refusal === undefined) return answer;
  const { verdict } = refusal;
  return { action: 'cancel', ...(verdict && isHalt(verdict) && { stopped: text }) };
}

/** Returns the first input guardrail that does not let a changed input of a call pass, with its verdict. */
export function inputRefusal(
  context: RunContext,
  { turn }: Attempt,
  input: JsonValue,
): Promise<Refusal | undefined> {
  const values: string[] = [];
  const names: string[] = [];
  JSON.stringify(input, (name, value) => {
    names.push(name);
    if (typeof value !== 'object') values.push(String(value));
    return value;
  });
  // The value comes first, because the model of a sub-agent reads the task without its name.
  const texts = [...values, ...names].filter((text) => text !== '');
  return refusalOf(context, turn, texts.join('\n'));
}

/** The id of the checked text. The text is no item of the session, so it uses up no id that a replay needs. */
const checkedId = itemId('checked');

interface Refusal {
  readonly guardrail: Guardrail;
  /** Undefined if the run stops during the check. */
  readonly verdict: Verdict | undefined;
}

async function refusalOf(
  context: RunContext,
  turn: number,
  text: string,
): Promise<Refusal | undefined> {
  if (text === '') return undefined;
  const { settings, journal } = context;
  const item: Item = { id: checkedId, kind: 'user', parts: [{ kind: 'text', text }] };
  for (const guardrail of settings.guardrails.filter(({ on }) => on === 'input')) {
    const items = await contextItems(settings, journal.state, journal.loop);
    const checked = { text, item, items: [...items, item] };
    const verdict = await judge(guardrail, checked, context, turn);
    if (verdict?.verdict !== 'pass') return { guardrail, verdict };
  }
  return undefined;
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
