import {
  type Attempt,
  checkForm,
  type FormQuestion,
  formDismissed,
  formWithdrawn,
  readForm,
  type ToolCallId,
} from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import type { ApprovalAnswer } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall, FormAnswer, Tool, ToolContext } from '../contract/tool.ts';
import { approvalAnswered } from '../state/drafts.ts';
import { isCallId } from '../state/turn-calls.ts';
import { questionId } from './questions.ts';

interface FormCallOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  readonly call: CheckedToolCall['call'];
  readonly tool: Pick<Tool, 'checksAnswers'>;
  /** The caller calls the function of a question when the question has an answer. */
  readonly answers: Map<ToolCallId, () => void>;
  /** Aborts when the run or the attempt stops. */
  readonly stop: AbortSignal;
}

/** Maximum number of forms that one execution of a tool can show. */
const maxForms = 20;

/**
 * Returns the function with which one execution of a tool asks the user. A question and its answer are
 * records of the log, so any process can show and answer it. If the execution is repeated after a crash,
 * the same form gets the answer that it already has.
 */
export function formAsker(options: FormCallOptions): NonNullable<ToolContext['ask']> {
  let count = 0;
  const keys = new Set<string>();
  return async (form, signal) => {
    const read = readForm(form);
    if (!read.ok) throw badForm(options, read.problem);
    // A program that answers by key must never answer another question.
    if (form.key !== undefined && keys.has(form.key))
      throw badForm(options, `the tool has used the key ${form.key} already`);
    if (form.key !== undefined) keys.add(form.key);
    if (options.context.settings.forms === 'decline') return { action: 'decline' };
    if (++count > maxForms) throw badForm(options, `the tool has asked ${maxForms} times already`);
    const stop = signal === undefined ? options.stop : AbortSignal.any([options.stop, signal]);
    stop.throwIfAborted();
    const answer = await answerTo(options, formId(options.call, form, count), form, stop);
    if (answer.decision === 'deny') return guarded(options, declined(answer));
    const checked = checkForm(read.fields, answer.input);
    // The client of the user should have refused this answer. The user has not answered the form.
    if (!checked.ok) return { action: 'cancel' };
    return guarded(options, { action: 'accept', content: checked.content });
  };
}

/** Returns the answer that the tool gets. The code of guardrails loads on demand. */
async function guarded(
  { context, at, tool }: FormCallOptions,
  answer: FormAnswer,
): Promise<FormAnswer> {
  if (!tool.checksAnswers) return answer;
  const { checkAnswer } = await import('../guardrails/check-answer.ts');
  return checkAnswer(context, at, answer);
}

async function answerTo(
  { context, at, call, answers, stop: runStop }: FormCallOptions,
  id: ToolCallId,
  form: FormQuestion,
  stop: AbortSignal,
): Promise<ApprovalAnswer> {
  const { journal, session } = context;
  const { toolCallId, name } = call;
  const known = journal.loop.turn?.calls.get(id);
  // A provider can choose ids that look like ids of questions. The user has then answered the question about
  // such a call, and has not seen this form.
  const isOther = known !== undefined && known.question?.of !== toolCallId;
  if (isOther || isCallId(journal.state, id))
    throw badForm({ call }, 'a call of the model has the id of this question');
  if (!known?.isAsked) {
    const agents = [`tool ${name}`];
    const from = { toolCallId, agents, session, input: { message: form.message }, form };
    const fact = { type: 'approval_asked', toolCallId: id, name, from } as const;
    await journal.write([{ ...at, fact }]);
  }
  if (journal.loop.turn?.calls.get(id)?.answer === undefined) await untilAnswer(answers, id, stop);
  const answer = journal.loop.turn?.calls.get(id)?.answer;
  if (answer !== undefined) return answer;
  // The signal of the tool has aborted. Without an answer, clients would show the form until the call ends.
  const isRunning = journal.loop.turn?.calls.get(toolCallId)?.execution?.isRunning === true;
  if (isRunning && !runStop.aborted) {
    const about = { toolCallId: id, name };
    await journal.write([
      approvalAnswered(at, about, { type: 'deny', ...about, reason: formWithdrawn }),
    ]);
  }
  stop.throwIfAborted();
  throw badForm({ call }, 'the turn has ended');
}

/** Resolves when the question has an answer, or when the signal aborts. */
async function untilAnswer(
  answers: FormCallOptions['answers'],
  id: ToolCallId,
  stop: AbortSignal,
): Promise<void> {
  if (stop.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  stop.addEventListener('abort', () => resolve(), { once: true });
  answers.set(id, resolve);
  await promise;
  answers.delete(id);
}

function declined({ reason }: ApprovalAnswer): FormAnswer {
  if (reason === formDismissed || reason === formWithdrawn) return { action: 'cancel' };
  return { action: 'decline', ...(reason !== undefined && { reason }) };
}

/** Returns the id of a question. Another form has another id, so an answer never belongs to two forms. */
function formId(
  { toolCallId }: FormCallOptions['call'],
  { message, schema, request }: FormQuestion,
  count: number,
): ToolCallId {
  return questionId('form', [toolCallId, count, message, schema, request ?? null]);
}

function badForm({ call }: Pick<FormCallOptions, 'call'>, problem: string): AgentError {
  const { toolCallId, name: tool } = call;
  const message = `Cannot ask the user with a form of tool ${tool}: ${problem}`;
  return new AgentError('bad_input', message, { toolCallId, tool });
}
