import type { Attempt, DraftRecord, ToolCallId, ToolCallPart } from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
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

/** The calls of an attempt, as the log describes them. */
interface LoggedCalls {
  /** The tools that the request of this turn offered. */
  readonly tools: ReadonlyMap<string, Tool>;
  callState(call: ToolCallPart): CallState | undefined;
  /** Returns the id of the question about the call. */
  questionId(call: ToolCallPart): ToolCallId;
  /** Returns the state of the question about the call. */
  questionState(call: ToolCallPart): CallState | undefined;
  /** Returns true if an answer could be about another call. */
  isRepeated(call: ToolCallPart): boolean;
}

interface QuestionsOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  /** Ends the waiting for answers and policies. */
  readonly stop: AbortSignal;
  readonly approvals: Approvals;
  readonly calls: LoggedCalls;
}

/**
 * Asks the user about calls of one attempt, and applies the answers. The answers arrive as records of the
 * log.
 */
export class Questions {
  readonly #context: RunContext;
  readonly #at: Attempt;
  readonly #stop: AbortSignal;
  readonly #approvals: Approvals;
  readonly #calls: LoggedCalls;
  readonly #answeredDecisions = new Map<ToolCallId, Promise<PolicyDecision>>();
  readonly #changedDecisions = new Map<ToolCallId, Promise<PolicyDecision>>();
  readonly #waiting: AnswerWaiter;

  constructor({ context, at, stop, approvals, calls }: QuestionsOptions) {
    this.#context = context;
    this.#at = at;
    this.#stop = stop;
    this.#approvals = approvals;
    this.#calls = calls;
    this.#waiting = new AnswerWaiter(context);
  }

  /** Writes the question about a call. `policy` is the decision that demands it. */
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

  /** Waits for the answer to the question about a call, and applies it. `left`: the run stops. */
  async answer(ready: CheckedToolCall): Promise<Verdict> {
    await this.#waiting.wait(this.#calls.questionId(ready.call), this.#stop);
    return this.apply(ready);
  }

  /** Resumes the call that waits for the answer with this id. */
  wake(id: ToolCallId): void {
    this.#waiting.wake(id);
  }

  /**
   * Applies the answer of the user. The current policy can still deny the call, because the answer may be
   * older than the policy's rules.
   */
  async apply(ready: CheckedToolCall): Promise<Verdict> {
    const { call } = ready;
    const { answer, judged } = this.#calls.questionState(call) ?? {};
    if (answer === undefined) return 'left';
    if (answer.decision === 'deny') return refusal('denied', denialText(answer.reason));
    // Another writer may have added a call with this id while the question was open.
    if (this.#calls.isRepeated(call)) return refusal('invalid', repeatedIdText);
    const isChanged = answer.input !== undefined;
    const work = isChanged
      ? prepareCall(call, this.#calls.tools, answer.input)
      : Promise.resolve({ ...ready, ok: true as const });
    const allowed = await raceAbort(work, this.#stop);
    if (allowed === halted) return 'left';
    if (!allowed.ok) return refusal(allowed.code, allowed.message);
    const deciding = isChanged ? this.#changedDecision(allowed) : this.#answeredDecision(allowed);
    const policy = await raceAbort(deciding, this.#stop);
    if (policy === halted) return 'left';
    if (policy.decision === 'deny') return refusal('denied', denialText(policy.reason));
    // The user saw the text that the policy judged when it asked. If the user changed the input, the
    // policy has judged the new input only now.
    return { ...allowed, judged: isChanged ? policy.judged : (judged ?? policy.judged) };
  }

  /**
   * Calls the policy again for a call that the user allowed, and returns its decision. The user's answer
   * may be older than the current rules, or may come from another process. Only a denial counts.
   */
  #answeredDecision(call: CheckedToolCall): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const known = this.#answeredDecisions.get(toolCallId) ?? this.#approvals.askPolicy(call);
    this.#answeredDecisions.set(toolCallId, known);
    return known;
  }

  /**
   * Returns the decision on a call whose input the user changed. The user approved the new input, so only
   * a denial counts. A user cannot approve a call that the policy denies.
   */
  #changedDecision(call: CheckedToolCall): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const known = this.#changedDecisions.get(toolCallId) ?? this.#decideOnChange(call);
    this.#changedDecisions.set(toolCallId, known);
    return known;
  }

  async #decideOnChange(call: CheckedToolCall): Promise<PolicyDecision> {
    const reason = reasonAgainstChange(call) ?? (await this.#guardrailAgainst(call));
    return reason === undefined ? this.#approvals.askPolicy(call) : { decision: 'deny', reason };
  }

  /**
   * Checks the input that the user gave with the guardrails, which have seen only the input of the model.
   * Returns the reason if a guardrail does not pass the new input, because a user cannot overrule a
   * guardrail.
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
      // A guardrail that asks is satisfied, because a person has just approved the new input.
      if (judged?.verdict === 'pass' || judged?.verdict === 'ask') continue;
      const why = judged?.reason === undefined ? '' : `: ${judged.reason}`;
      return `the guardrail ${guardrail.name} does not pass the new input${why}`;
    }
    return undefined;
  }
}

/** Waits for answers to questions. */
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

  /** Ends the wait for the answer with this id. */
  wake(id: ToolCallId): void {
    this.#waiting.get(id)?.();
  }
}
