import {
  type Attempt,
  type DraftRecord,
  isId,
  type ToolCallId,
  type ToolCallPart,
} from '@millrace/core';
import { textOfError } from '../contract/agent-error.ts';
import type { ChangedInput } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { changedSuffix } from '../state/turn-calls.ts';
import { reasonAgainstChange } from '../tool/mcp-approval.ts';

type PolicyDecision = Exclude<ApprovalDecision, string>;

/**
 * Decides which calls of one attempt may run. It calls the policy once per call, and once more after the
 * user has allowed the call. The answers of users arrive as records of the log.
 */
export class Approvals {
  readonly #context: RunContext;
  readonly #at: Attempt;
  readonly #decisions = new Map<ToolCallId, Promise<PolicyDecision>>();
  readonly #answeredDecisions = new Map<ToolCallId, Promise<PolicyDecision>>();
  readonly #changedDecisions = new Map<ToolCallId, Promise<PolicyDecision>>();
  readonly #waiting = new Map<ToolCallId, () => void>();

  constructor(context: RunContext, at: Attempt) {
    this.#context = context;
    this.#at = at;
  }

  /**
   * Returns the policy's decision on a call. A standing approval for the same rule turns `ask` into
   * `allow`.
   */
  async policyDecision(call: CheckedToolCall): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const known = this.#decisions.get(toolCallId) ?? this.#askPolicy(call);
    this.#decisions.set(toolCallId, known);
    const ruling = await known;
    const isStanding = ruling.decision === 'ask' && this.#isStanding(ruling.rule);
    return isStanding ? { decision: 'allow', judged: ruling.judged } : ruling;
  }

  /**
   * Calls the policy again for a call that the user allowed, and returns its decision. The user's answer
   * may be older than the current rules, or may come from another process. Only a denial counts.
   */
  answeredDecision(call: CheckedToolCall): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const known = this.#answeredDecisions.get(toolCallId) ?? this.#askPolicy(call);
    this.#answeredDecisions.set(toolCallId, known);
    return known;
  }

  /**
   * Returns the decision on a call whose input the user changed. The user approved the new input, so only
   * a denial counts. A user cannot approve a call that the policy denies.
   */
  changedDecision(call: CheckedToolCall): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const known = this.#changedDecisions.get(toolCallId) ?? this.#decideOnChange(call);
    this.#changedDecisions.set(toolCallId, known);
    return known;
  }

  async #decideOnChange(call: CheckedToolCall): Promise<PolicyDecision> {
    const reason = reasonAgainstChange(call) ?? (await this.#guardrailAgainst(call));
    return reason === undefined ? this.#askPolicy(call) : { decision: 'deny', reason };
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

  async #askPolicy(call: CheckedToolCall): Promise<PolicyDecision> {
    const { settings, context, session } = this.#context;
    const { approve, onDiagnostic } = settings;
    const { turn } = this.#at;
    try {
      const returned = await approve(call, { context, session, turn });
      return validDecision(typeof returned === 'string' ? { decision: returned } : returned);
    } catch (error) {
      onDiagnostic(`The policy failed for ${call.tool.name}: ${textOfError(error)}`);
      return { decision: 'deny', reason: 'whether it may run could not be decided' };
    }
  }

  #isStanding(rule: string | undefined): boolean {
    const { settings, journal } = this.#context;
    const until = rule === undefined ? undefined : journal.loop.standingApprovals.get(rule);
    return until !== undefined && settings.clock.now() < until;
  }

  /**
   * Returns the record that asks the user about a call. `changed` is the input that a guardrail gave to
   * the call. Without it, the question is about the input of the model.
   */
  askedDraft(
    { call }: CheckedToolCall,
    { reason, rule, judged }: PolicyDecision,
    changed?: ChangedInput,
  ): DraftRecord {
    const { toolCallId, name } = call;
    const why = { ...(reason !== undefined && { reason }), ...(rule !== undefined && { rule }) };
    const about = judged === undefined ? {} : { judged };
    const asked = { type: 'approval_asked', toolCallId, name, ...why, ...about } as const;
    if (changed === undefined) return { ...this.#at, fact: asked };
    const { session } = this.#context;
    const from = { toolCallId, agents: [`guardrail ${changed.by}`], session, input: changed.input };
    return { ...this.#at, fact: { ...asked, toolCallId: changedCallId(call), from } };
  }

  /** Resolves when the call has an answer, or when the signal aborts. */
  async waitForAnswer(id: ToolCallId, signal: AbortSignal): Promise<void> {
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

  /** Resumes the call that waits for the answer with this id. */
  wake(id: ToolCallId): void {
    this.#waiting.get(id)?.();
  }
}

/** Returns the id of the question about a call whose input a guardrail changed. */
export function changedCallId({ toolCallId }: Pick<ToolCallPart, 'toolCallId'>): ToolCallId {
  const id = `${toolCallId}${changedSuffix}`;
  return (isId(id) ? id : id.slice(-maxIdLength)) as ToolCallId;
}

const maxIdLength = 1024;

/**
 * Returns the policy's decision with valid fields only. The policy is user code, which may return
 * anything, and the log must stay valid.
 */
function validDecision({ decision, reason, rule, judged }: PolicyDecision): PolicyDecision {
  if (decision !== 'allow' && decision !== 'ask' && decision !== 'deny')
    throw new Error('the policy returned neither allow nor ask nor deny');
  const why = typeof reason === 'string' ? { reason } : {};
  const about = typeof judged === 'string' ? { judged } : {};
  return { decision, ...why, ...(typeof rule === 'string' && { rule }), ...about };
}
