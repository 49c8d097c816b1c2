import {
  type Attempt,
  type DraftRecord,
  type ToolCallId,
  type ToolCallPart,
  textHash,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import type { Guardrail } from '../contract/guardrail.ts';
import type { CallState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall, Tool } from '../contract/tool.ts';
import { reasonAgainstChange } from '../tool/mcp-approval.ts';
import {
  type Approvals,
  changedCallId,
  type PolicyDecision,
  refusal,
  repeatedIdText,
  type Verdict,
} from './approvals.ts';
import { prepareCall } from './prepare-call.ts';
import { denialText } from './tool-result.ts';

/** Gives access to the calls of an attempt, as the records on the log describe them. */
interface LoggedCalls {
  /** The tools that the request of this turn offered. */
  readonly tools: ReadonlyMap<string, Tool>;
  callState(call: ToolCallPart): CallState | undefined;
  /** Returns the id of the question about the call. */
  questionId(call: ToolCallPart): ToolCallId;
  /** Returns the state of the question about the call. */
  questionState(call: ToolCallPart): CallState | undefined;
  /**
   * Returns true if a different call, or a sub-agent's question, has the same id. The answer could then
   * belong to either.
   */
  isRepeated(call: ToolCallPart): boolean;
}

interface QuestionsOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  /** Aborts when the run stops. The class then no longer waits for answers or policies. */
  readonly stop: AbortSignal;
  readonly approvals: Approvals;
  readonly calls: LoggedCalls;
}

/**
 * Asks the user about tool calls of one attempt, and applies the answers. The answers arrive as records on
 * the log.
 */
export class Questions {
  readonly #context: RunContext;
  readonly #at: Attempt;
  readonly #stop: AbortSignal;
  readonly #approvals: Approvals;
  readonly #calls: LoggedCalls;
  readonly #answeredDecisions = new Map<ToolCallId, Promise<PolicyDecision>>();
  readonly #waiting: AnswerWaiter;

  constructor({ context, at, stop, approvals, calls }: QuestionsOptions) {
    this.#context = context;
    this.#at = at;
    this.#stop = stop;
    this.#approvals = approvals;
    this.#calls = calls;
    this.#waiting = new AnswerWaiter(context);
  }

  /** Writes the question about a call to the log. `policy` is the decision that requires the question. */
  ask(ready: CheckedToolCall, policy: PolicyDecision): Promise<void> {
    return this.#context.journal.write([this.#askedDraft(ready, policy)]);
  }

  /**
   * Returns the record that asks the user about a call. If a guardrail changed the input of the call, the
   * question is about that input.
   */
  #askedDraft({ call }: CheckedToolCall, { reason, rule, judged }: PolicyDecision): DraftRecord {
    const { toolCallId, name } = call;
    const { changed } = this.#calls.callState(call) ?? {};
    const why = { ...(reason !== undefined && { reason }), ...(rule !== undefined && { rule }) };
    const about = judged === undefined ? {} : { judged };
    const asked = { type: 'approval_asked', toolCallId, name, ...why, ...about } as const;
    if (changed === undefined) return { ...this.#at, fact: asked };
    const { session } = this.#context;
    const from = { toolCallId, agents: [`guardrail ${changed.by}`], session, input: changed.input };
    return { ...this.#at, fact: { ...asked, toolCallId: changedCallId(call), from } };
  }

  /**
   * Waits for the answer to the question about a call, and applies it. `left` means that the run stops before
   * the answer arrives.
   */
  async answer(ready: CheckedToolCall): Promise<Verdict> {
    await this.#waiting.wait(this.#calls.questionId(ready.call), this.#stop);
    return this.apply(ready);
  }

  /**
   * Returns the error message for a call whose question on the log was about something different than the call
   * would use now. A different process may have asked, in a different folder or with a different sandbox, so
   * the user's answer does not apply here. Returns undefined if the answer applies.
   */
  async staleReason(ready: CheckedToolCall): Promise<string | undefined> {
    const { judged: asked } = this.#calls.questionState(ready.call) ?? {};
    if (asked === undefined) return undefined;
    const { judged } = await this.#approvals.policyDecision(ready);
    if (judged === undefined || asked === judged) return undefined;
    return `It was not run: the question to the user was about ${nameOf(asked)}, and the call would now use ${nameOf(judged)}. Make the call again, so that the user is asked again.`;
  }

  /** Resumes the call that waits for the user's answer with this id. */
  wake(id: ToolCallId): void {
    this.#waiting.wake(id);
  }

  /**
   * Applies the answer of the user. The current policy can still deny the call, because its rules may have
   * changed after the answer. With `isAgain`, it calls the policy again, because the call had to wait.
   */
  async apply(ready: CheckedToolCall, isAgain = false): Promise<Verdict> {
    const { call } = ready;
    const { answer, judged } = this.#calls.questionState(call) ?? {};
    if (answer === undefined) return 'left';
    if (answer.decision === 'deny') return refusal('denied', denialText(answer.reason));
    // While the question was open, a different writer may have added a call with the same id.
    if (this.#calls.isRepeated(call)) return refusal('invalid', repeatedIdText);
    const isChanged = answer.input !== undefined;
    const work = isChanged
      ? prepareCall(call, this.#calls.tools, answer.input)
      : Promise.resolve({ ...ready, ok: true as const });
    const allowed = await raceAbort(work, this.#stop);
    if (allowed === halted) return 'left';
    if (!allowed.ok) return refusal(allowed.code, allowed.message);
    const deciding = this.#answeredDecision(allowed, { isChanged, isAgain });
    const policy = await raceAbort(deciding, this.#stop);
    if (policy === halted) return 'left';
    if (policy.decision === 'deny') return refusal('denied', denialText(policy.reason));
    // `judged` is the text that the policy decided on, such as the real path. The question showed this text to the
    // user. A changed input must not lead to something that no question showed.
    if (isChanged && policy.judged !== judged)
      return refusal('invalid', changedText(judged, policy.judged));
    return { ...allowed, judged: judged ?? policy.judged, basis: answer.basis };
  }

  /**
   * Calls the policy again for a call that the user allowed, and returns the new decision. The policy's rules
   * may have changed since the answer, or the answer may come from a different process. Only a denial has an
   * effect.
   */
  async #answeredDecision(
    call: CheckedToolCall,
    { isChanged, isAgain }: { readonly isChanged: boolean; readonly isAgain: boolean },
  ): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const earlier = this.#answeredDecisions.get(toolCallId);
    // A denial is final. Otherwise only the policy decides again, because the guardrails have passed the input.
    const isRepeated = isAgain && earlier !== undefined && (await earlier).decision !== 'deny';
    const known =
      (isRepeated ? undefined : earlier) ??
      (isChanged && !isRepeated
        ? this.#decideOnChange(call)
        : this.#approvals.askPolicy(call, true));
    this.#answeredDecisions.set(toolCallId, known);
    return known;
  }

  /**
   * Returns the policy's decision on a call whose input the user changed. The user approved the new input, so
   * only a denial has an effect. A user cannot approve a call that the policy denies.
   */
  async #decideOnChange(call: CheckedToolCall): Promise<PolicyDecision> {
    const reason =
      reasonAgainstChange(call) ??
      (await this.#guardrailAgainst(call)) ??
      (await this.#inputGuardrailAgainst(call));
    return reason === undefined
      ? this.#approvals.askPolicy(call, true)
      : { decision: 'deny', reason };
  }

  /**
   * Checks the user's new input with the guardrails, which until now have checked only the model's input. If
   * a guardrail rejects the new input, the method returns the reason. A user cannot overrule a guardrail.
   */
  async #guardrailAgainst(call: CheckedToolCall): Promise<string | undefined> {
    const { name } = call.tool;
    const guardrails = this.#context.settings.guardrails.filter(
      ({ on, tools }) => on === 'tool_call' && (tools?.includes(name) ?? true),
    );
    if (guardrails.length === 0) return undefined;
    const { judge } = await import('../guardrails/judge.ts');
    for (const guardrail of guardrails) {
      const judged = await judge(guardrail, call, this.#context, this.#at.turn);
      // If the guardrail requires a person's approval, no further question is needed. A person has just
      // approved the new input.
      if (judged?.verdict === 'pass' || judged?.verdict === 'ask') continue;
      return notPassed(guardrail, judged?.reason);
    }
    return undefined;
  }

  /**
   * Checks the user's new input with the input guardrails if the tool sends it to a model. They check the result of
   * the call too, but only after that model has read the input.
   */
  async #inputGuardrailAgainst({ tool, call }: CheckedToolCall): Promise<string | undefined> {
    const input = this.#calls.questionState(call)?.answer?.input;
    if (input === undefined || !(tool.startsSession || tool.checksAnswers)) return undefined;
    const { inputRefusal } = await import('../guardrails/check-answer.ts');
    const refused = await inputRefusal(this.#context, this.#at, input);
    return refused && notPassed(refused.guardrail, refused.verdict?.reason);
  }
}

function notPassed({ name }: Guardrail, reason: string | undefined): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return `the guardrail ${name} does not pass the new input${why}`;
}

function changedText(asked: string | undefined, now: string | undefined): string {
  return `It was not run: the user changed the input, so that the call would now use ${nameOf(now)}, but the question to the user was about ${nameOf(asked)}. Make the call again with the path that the user wants, so that the user is asked about it.`;
}

function nameOf(judged: string | undefined): string {
  return judged || 'an unknown path';
}

/** Waits for the user's answers to questions. */
export class AnswerWaiter {
  readonly #context: RunContext;
  readonly #waiting = new Map<ToolCallId, () => void>();

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Resolves when the question has an answer, or when the signal aborts. */
  async wait(id: ToolCallId, signal: AbortSignal): Promise<void> {
    const { loop } = this.#context.journal;
    if (loop.turn?.calls.get(id)?.answer !== undefined || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#waiting.delete(id);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.set(id, done);
      signal.addEventListener('abort', done);
    });
  }

  /** Resolves the pending `wait` for the answer to this call. */
  wake(id: ToolCallId): void {
    this.#waiting.get(id)?.();
  }
}

/** The kinds of questions that are not about a call of the session's model. */
type QuestionKind = 'form' | 'guardrail' | 'sub-agent';

/**
 * Returns the id of a question that is not about a call of the session's model. Every process computes the same
 * id from the same parts.
 *
 * A person answers a question by its id, and models, servers and clients choose some of the parts. So the id is
 * a cryptographic hash of all parts: two questions never share an id, whatever the length of their parts.
 */
export function questionId(kind: QuestionKind, parts: readonly unknown[]): ToolCallId {
  return `question-${textHash(JSON.stringify([kind, ...parts]))}` as ToolCallId;
}
