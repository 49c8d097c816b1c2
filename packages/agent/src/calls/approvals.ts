import { isId, type RejectionCode, type ToolCallId, type ToolCallPart } from '@millrace/core';
import { textOfError } from '../contract/agent-error.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall, ToolContext } from '../contract/tool.ts';
import { changedSuffix } from '../state/turn-calls.ts';

/** The decision of the policy on a call. */
export type PolicyDecision = Exclude<ApprovalDecision, string>;

/** The message for a call whose id another call has too. */
export const repeatedIdText =
  'It was not run: another call of the session has the same id. Make the call again.';

/**
 * A call that may run. `judged` is the text that the policy decided on, and the tool must run nothing
 * else.
 */
export type DecidedCall = CheckedToolCall & Pick<ToolContext, 'judged'>;

/** A call that must not run, and the message for the model. */
export interface Refusal {
  readonly refused: RejectionCode;
  readonly message: string;
}

/** `left`: nothing is decided, because the run stops. */
export type Verdict = DecidedCall | Refusal | 'left';

/** True if the call must not run. */
export function isRefusal(verdict: DecidedCall | Refusal): verdict is Refusal {
  return 'refused' in verdict;
}

/** Returns the verdict that refuses a call. */
export function refusal(refused: RejectionCode, message: string): Refusal {
  return { refused, message };
}

/** Calls the policy of an agent for the calls of one turn. */
export class Approvals {
  readonly #context: RunContext;
  readonly #turn: number;
  readonly #decisions = new Map<ToolCallId, Promise<PolicyDecision>>();

  constructor(context: RunContext, turn: number) {
    this.#context = context;
    this.#turn = turn;
  }

  /**
   * Returns the policy's decision on a call. The policy is called once per call. A standing approval for
   * the same rule turns `ask` into `allow`.
   */
  async policyDecision(call: CheckedToolCall): Promise<PolicyDecision> {
    const { toolCallId } = call.call;
    const known = this.#decisions.get(toolCallId) ?? this.askPolicy(call);
    this.#decisions.set(toolCallId, known);
    const ruling = await known;
    const isStanding = ruling.decision === 'ask' && this.#isStanding(ruling.rule);
    return isStanding ? { decision: 'allow', judged: ruling.judged } : ruling;
  }

  /** Calls the policy. If it fails, the call is denied. */
  async askPolicy(call: CheckedToolCall): Promise<PolicyDecision> {
    const { settings, context, session } = this.#context;
    const { approve, onDiagnostic } = settings;
    try {
      const returned = await approve(call, { context, session, turn: this.#turn });
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
