import type { Attempt, JsonValue, ToolCallId, ToolCallPart, ToolResultPart } from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import { offeredTools } from '../context/build-request.ts';
import type { CallState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { isRepeatedCallId } from '../state/turn-calls.ts';
import { Approvals, changedCallId, refusal, repeatedIdText, type Verdict } from './approvals.ts';
import { prepareCall } from './prepare-call.ts';
import type { Questions } from './questions.ts';
import { denialText } from './tool-result.ts';

/**
 * Decides which calls of one attempt run, and with which input. The schema, the policy, guardrails and
 * the user take part in the decision. The class writes questions, but no results.
 */
export class CallDecisions {
  readonly #context: RunContext;
  readonly #approvals: Approvals;
  readonly #at: Attempt;
  readonly #stop: AbortSignal;
  /** Undefined until the user is asked, because the code loads on demand. */
  #questions: Questions | undefined;

  /** `stop` ends the waiting for answers and policies. */
  constructor(context: RunContext, at: Attempt, stop: AbortSignal) {
    this.#context = context;
    this.#approvals = new Approvals(context, at.turn);
    this.#at = at;
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
    this.#questions?.wake(id);
  }

  /**
   * Decides whether the call runs, and with which input. Asks the user if the policy says so. `parked`:
   * the call waits for the user. `lost`: its tool ran in a process that died, and may have completed.
   */
  async decide(call: ToolCallPart): Promise<Verdict | 'parked' | 'lost'> {
    const { whileAsking } = this.#context.settings;
    const stop = this.#stop;
    if (this.isRepeated(call)) return refusal('invalid', repeatedIdText);
    const { offered } = this.#context.journal.loop.turn ?? {};
    const work = prepareCall(call, this.tools, this.changedInput(call), offered);
    const ready = await raceAbort(work, stop);
    if (ready === halted) return 'left';
    if (!ready.ok) return refusal(ready.code, ready.message);
    if (this.callState(call)?.execution?.isLost && ready.tool.afterCrash !== 'repeat')
      return 'lost';
    // A client was already asked to run this call, which means that the call was allowed.
    if (this.callState(call)?.isAwaited) return ready;
    if (!this.questionState(call)?.isAsked) {
      const policy = await raceAbort(this.#approvals.policyDecision(ready), stop);
      if (policy === halted) return 'left';
      if (policy.decision === 'deny') return refusal('denied', denialText(policy.reason));
      const { asking } = this.callState(call) ?? {};
      if (policy.decision === 'allow' && asking === undefined)
        return { ...ready, judged: policy.judged };
      const why = asking === undefined ? policy : { ...policy, reason: asking.reason };
      const questions = await raceAbort(this.#loadQuestions(), stop);
      if (questions === halted) return 'left';
      if (this.answerTo(call) === undefined) await questions.ask(ready, why);
    }
    if (this.answerTo(call) === undefined && whileAsking === 'park') return 'parked';
    return (await this.#loadQuestions()).answer(ready);
  }

  /** Applies the user's answer to a call, right before the call runs. */
  async applyAnswer(ready: CheckedToolCall): Promise<Verdict> {
    return (await this.#loadQuestions()).apply(ready);
  }

  /** Returns the object that asks the user. The code loads on demand, because many runs ask nothing. */
  async #loadQuestions(): Promise<Questions> {
    const { Questions } = await import('./questions.ts');
    this.#questions ??= new Questions({
      ...{ context: this.#context, at: this.#at, stop: this.#stop },
      ...{ approvals: this.#approvals, calls: this },
    });
    return this.#questions;
  }

  /**
   * True if an answer could be about another call. That call has the same id, or belongs to a sub-agent.
   */
  isRepeated(call: ToolCallPart): boolean {
    const { toolCallId } = call;
    const { isAsked = false, question } = this.questionState(call) ?? {};
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
  questionId(call: ToolCallPart): ToolCallId {
    return this.#changeOf(call) === undefined ? call.toolCallId : changedCallId(call);
  }

  /** Returns the state of the question about the call. */
  questionState(call: ToolCallPart): CallState | undefined {
    return this.#context.journal.loop.turn?.calls.get(this.questionId(call));
  }

  /** Returns the user's answer to the question about the call, if there is one. */
  answerTo(call: ToolCallPart): CallState['answer'] {
    return this.questionState(call)?.answer;
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
