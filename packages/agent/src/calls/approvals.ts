import type { RejectionCode, ToolCallId, ToolCallPart } from '@millrace/core';
import { textOfError } from '../contract/agent-error.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall, ToolContext } from '../contract/tool.ts';
import { standingKey } from '../state/fold-loop.ts';
import { changedSuffix } from '../state/turn-calls.ts';

/** The decision of the agent's `approve` policy on one tool call. */
export type PolicyDecision = Exclude<ApprovalDecision, string>;

/** The error message for a tool call that has the same id as a different call. */
export const repeatedIdText =
  'It was not run: another call of the session has the same id. Make the call again.';

/** The error message for a tool call without a valid id for a question about its changed input. */
export const longIdText =
  'It was not run: its id is too long. Make the call again with another id.';

/**
 * A tool call that may run. `judged` is the text that the policy decided on, for example a file path. The
 * tool must not work on anything else. `basis` is the state that the user saw. The tool must not run in a different state.
 */
export type DecidedCall = CheckedToolCall & Pick<ToolContext, 'judged' | 'basis'>;

/** A tool call that must not run, with the error message for the model. */
export interface Refusal {
  readonly refused: RejectionCode;
  readonly message: string;
}

/** The outcome of the decision on a call. `left` means that the run stops before the decision. */
export type Verdict = DecidedCall | Refusal | 'left';

/** Returns true if the verdict refuses the call. */
export function isRefusal(verdict: DecidedCall | Refusal): verdict is Refusal {
  return 'refused' in verdict;
}

/** Creates the verdict that refuses a call. */
export function refusal(refused: RejectionCode, message: string): Refusal {
  return { refused, message };
}

/** Calls the `approve` policy of an agent for the tool calls of one turn. */
export class Approvals {
  readonly #context: RunContext;
  readonly #turn: number;
  readonly #decisions = new Map<ToolCallId, Promise<PolicyDecision>>();

  constructor(context: RunContext, turn: number) {
    this.#context = context;
    this.#turn = turn;
  }

  /**
   * Returns the policy's decision on a call. It calls the policy only once per call, and again if the call had to
   * wait (`isAgain`). If the user already approved all calls with the same rule, `ask` becomes `allow`.
   */
  async policyDecision(call: CheckedToolCall, isAgain = false): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const earlier = isAgain ? undefined : this.#decisions.get(toolCallId);
    const known = earlier ?? this.askPolicy(call);
    this.#decisions.set(toolCallId, known);
    const ruling = await known;
    const isStanding = ruling.decision === 'ask' && this.#isStanding(ruling.rule);
    return isStanding ? { decision: 'allow', judged: ruling.judged } : ruling;
  }

  /**
   * Calls the policy. `isAnswered` is true if a person allowed the call. If the policy throws, the call is
   * denied.
   */
  async askPolicy(call: CheckedToolCall, isAnswered?: boolean): Promise<PolicyDecision> {
    const { settings, context, session } = this.#context;
    const { approve, onDiagnostic } = settings;
    try {
      const returned = await approve(call, { context, session, turn: this.#turn, isAnswered });
      return validDecision(typeof returned === 'string' ? { decision: returned } : returned);
    } catch (error) {
      onDiagnostic(`The policy failed for ${call.tool.name}: ${textOfError(error)}`);
      return { decision: 'deny', reason: 'whether it may run could not be decided' };
    }
  }

  #isStanding(rule: string | undefined): boolean {
    const { settings, journal } = this.#context;
    if (rule === undefined) return false;
    const key = standingKey(journal.loop, rule, []);
    return settings.clock.now() < (journal.loop.standingApprovals.get(key) ?? 0);
  }
}

/** Returns the id of the approval question about a call whose input a guardrail changed. */
export function changedCallId({ toolCallId }: Pick<ToolCallPart, 'toolCallId'>): ToolCallId {
  return `${toolCallId}${changedSuffix}` as ToolCallId;
}

/**
 * Returns the policy's decision with valid fields only. The policy is user code and may return any value, but
 * every record on the log must be valid.
 */
function validDecision({ decision, reason, rule, judged }: PolicyDecision): PolicyDecision {
  if (decision !== 'allow' && decision !== 'ask' && decision !== 'deny')
    throw new Error('the policy returned neither allow nor ask nor deny');
  const why = typeof reason === 'string' ? { reason } : {};
  const about = typeof judged === 'string' ? { judged } : {};
  return { decision, ...why, ...(typeof rule === 'string' && { rule }), ...about };
}
