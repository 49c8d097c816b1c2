import type {
  Attempt,
  JsonValue,
  RejectionCode,
  ToolCallId,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import { offeredTools } from '../context/build-request.ts';
import type { CallState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall, ToolContext } from '../contract/tool.ts';
import { isRepeatedCallId } from '../state/turn-calls.ts';
import { Approvals, changedCallId } from './approvals.ts';
import { prepareCall } from './prepare-call.ts';
import { denialText } from './tool-result.ts';

const repeatedIdText =
  'It was not run: another call of the session has the same id. Make the call again.';

/**
 * A call that may run. `judged` is the text that the policy decided on, and the tool must run nothing
 * else.
 */
export type DecidedCall = CheckedToolCall & Pick<ToolContext, 'judged'>;

/** A call that must not run, and the message for the model. */
interface Refusal {
  readonly refused: RejectionCode;
  readonly message: string;
}

/** `left`: nothing is decided, because the run stops. */
type Verdict = DecidedCall | Refusal | 'left';

/** True if the call must not run. */
export function isRefusal(verdict: DecidedCall | Refusal): verdict is Refusal {
  return 'refused' in verdict;
}

function refusal(refused: RejectionCode, message: string): Refusal {
  return { refused, message };
}

/**
 * Decides which calls of one attempt run, and with which input. The schema, the policy, guardrails and
 * the user take part in the decision. The class writes questions, but no results.
 */
export class CallDecisions {
  readonly #context: RunContext;
  readonly #approvals: Approvals;
  readonly #stop: AbortSignal;

  /** `stop` ends the waiting for answers and policies. */
  constructor(context: RunContext, at: Attempt, stop: AbortSignal) {
    this.#context = context;
    this.#approvals = new Approvals(context, at);
    this.#stop = stop;
  }

  /**
   * The tools that the request of this turn offered. Their names are on the log, so they are known after
   * a crash too.
   */
  get tools(): RunContext['settings']['tools'] {
    const { settings, journal } = this.#context;
    return offeredTools(settings.tools, journal.loop.turn?.offered);
  }

  /** Returns the decision of the policy on a call. */
  policyDecision(ready: CheckedToolCall): ReturnType<Approvals['policyDecision']> {
    return this.#approvals.policyDecision(ready);
  }

  /** Resumes the call that waits for the answer with this id. */
  wake(id: ToolCallId): void {
    this.#approvals.wake(id);
  }

  /**
   * Decides whether the call runs, and with which input. Asks the user if the policy says so. `parked`:
   * the call waits for the user. `lost`: its tool ran in a process that died, and may have completed.
   */
  async decide(call: ToolCallPart): Promise<Verdict | 'parked' | 'lost'> {
    const { whileAsking } = this.#context.settings;
    const stop = this.#stop;
    if (this.#isRepeated(call)) return refusal('invalid', repeatedIdText);
    const { offered } = this.#context.journal.loop.turn ?? {};
    const work = prepareCall(call, this.tools, this.changedInput(call), offered);
    const ready = await raceAbort(work, stop);
    if (ready === halted) return 'left';
    if (!ready.ok) return refusal(ready.code, ready.message);
    if (this.callState(call)?.execution?.isLost && ready.tool.afterCrash !== 'repeat')
      return 'lost';
    // A client was already asked to run this call, which means that the call was allowed.
    if (this.callState(call)?.isAwaited) return ready;
    if (!this.#questionState(call)?.isAsked) {
      const policy = await raceAbort(this.#approvals.policyDecision(ready), stop);
      if (policy === halted) return 'left';
      if (policy.decision === 'deny') return refusal('denied', denialText(policy.reason));
      const { asking } = this.callState(call) ?? {};
      if (policy.decision === 'allow' && asking === undefined)
        return { ...ready, judged: policy.judged };
      const why = asking === undefined ? policy : { ...policy, reason: asking.reason };
      if (this.answerTo(call) === undefined)
        await this.#context.journal.write([
          this.#approvals.askedDraft(ready, why, this.#changeOf(call)),
        ]);
    }
    if (this.answerTo(call) === undefined && whileAsking === 'park') return 'parked';
    await this.#approvals.waitForAnswer(this.#questionId(call), stop);
    return this.applyAnswer(ready);
  }

  /**
   * Applies the answer of the user. The current policy can still deny the call, because the answer may be
   * older than the policy's rules.
   */
  async applyAnswer(ready: CheckedToolCall): Promise<Verdict> {
    const { call } = ready;
    const { answer, judged } = this.#questionState(call) ?? {};
    if (answer === undefined) return 'left';
    if (answer.decision === 'deny') return refusal('denied', denialText(answer.reason));
    // Another writer may have added a call with this id while the question was open.
    if (this.#isRepeated(call)) return refusal('invalid', repeatedIdText);
    const isChanged = answer.input !== undefined;
    const work = isChanged
      ? prepareCall(call, this.tools, answer.input)
      : Promise.resolve({ ...ready, ok: true as const });
    const allowed = await raceAbort(work, this.#stop);
    if (allowed === halted) return 'left';
    if (!allowed.ok) return refusal(allowed.code, allowed.message);
    const deciding = isChanged
      ? this.#approvals.changedDecision(allowed)
      : this.#approvals.answeredDecision(allowed);
    const policy = await raceAbort(deciding, this.#stop);
    if (policy === halted) return 'left';
    if (policy.decision === 'deny') return refusal('denied', denialText(policy.reason));
    // The user saw the text that the policy judged when it asked. If the user changed the input, the
    // policy has judged the new input only now.
    return { ...allowed, judged: isChanged ? policy.judged : (judged ?? policy.judged) };
  }

  /**
   * True if an answer could be about another call. That call has the same id, or belongs to a sub-agent.
   */
  #isRepeated(call: ToolCallPart): boolean {
    const { toolCallId } = call;
    const { isAsked = false, question } = this.#questionState(call) ?? {};
    const about = this.#changeOf(call) === undefined ? undefined : toolCallId;
    const isOther = isAsked && question?.of !== about;
    return isOther || isRepeatedCallId(this.#context.journal.state, toolCallId);
  }

  /** Returns the state of a call according to the log. */
  callState({ toolCallId }: ToolCallPart): CallState | undefined {
    return this.#context.journal.loop.turn?.calls.get(toolCallId);
  }

  /** Returns the input that a guardrail gave to the call, if any. */
  #changeOf(call: ToolCallPart): CallState['changed'] {
    return this.callState(call)?.changed;
  }

  /**
   * Returns the id of the question about the call. If a guardrail changed the input, the question has its
   * own id. An answer under the id of the call was about the old input.
   */
  #questionId(call: ToolCallPart): ToolCallId {
    return this.#changeOf(call) === undefined ? call.toolCallId : changedCallId(call);
  }

  #questionState(call: ToolCallPart): CallState | undefined {
    return this.#context.journal.loop.turn?.calls.get(this.#questionId(call));
  }

  /** Returns the user's answer to the question about the call, if there is one. */
  answerTo(call: ToolCallPart): CallState['answer'] {
    return this.#questionState(call)?.answer;
  }

  /**
   * Returns the input that replaces the model's input. It is the user's input, or else that of a
   * guardrail.
   */
  changedInput(call: ToolCallPart): JsonValue | undefined {
    const answer = this.answerTo(call);
    return answer?.input ?? this.#changeOf(call)?.input;
  }

  /**
   * Adds the changed input to the metadata of the result, because the call itself still has the model's
   * input.
   */
  withChange(call: ToolCallPart, part: ToolResultPart): ToolResultPart {
    const answer = this.answerTo(call);
    const change = this.#changeOf(call);
    if (answer?.decision === 'allow' && answer.input !== undefined)
      return { ...part, metadata: { ...part.metadata, changedInput: answer.input } };
    if (change === undefined || answer?.decision === 'deny') return part;
    const note = { changedInput: change.input, changedBy: change.by };
    return { ...part, metadata: { ...part.metadata, ...note } };
  }
}
