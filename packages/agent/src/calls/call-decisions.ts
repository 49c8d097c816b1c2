import {
  type Attempt,
  isId,
  type JsonValue,
  type ToolCallId,
  type ToolCallPart,
  type ToolResultPart,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import { offeredTools } from '../context/build-request.ts';
import type { CallState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { isRepeatedCallId } from '../state/turn-calls.ts';
import {
  Approvals,
  changedCallId,
  type DecidedCall,
  longIdText,
  refusal,
  repeatedIdText,
  type Verdict,
} from './approvals.ts';
import { prepareCall } from './prepare-call.ts';
import type { Questions } from './questions.ts';
import { denialText, fromClient, removedText } from './tool-result.ts';

const uncheckedText = 'The arguments did not fit when the call was checked. Make the call again.';

/**
 * Decides which tool calls of one attempt run, and with which input. The decision depends on the tool's
 * schema, the policy, the guardrails and the user. This class writes questions to the log, but no results.
 */
export class CallDecisions {
  readonly #context: RunContext;
  readonly #approvals: Approvals;
  readonly #at: Attempt;
  readonly #stop: AbortSignal;
  /** Undefined until the user is asked for the first time. The code that asks is loaded only then. */
  #questions: Questions | undefined;

  /** After `stop` aborts, the class no longer waits for answers of the user or for policies. */
  constructor(context: RunContext, at: Attempt, stop: AbortSignal) {
    this.#context = context;
    this.#approvals = new Approvals(context, at.turn);
    this.#at = at;
    this.#stop = stop;
  }

  /**
   * The tools that the request of this turn offered. The log has their names, so a new process can read them
   * after a crash.
   */
  get tools(): RunContext['settings']['tools'] {
    const { settings, journal } = this.#context;
    return offeredTools(settings.tools, journal.loop.turn?.offered);
  }

  /** Returns the decision of the `approve` policy on a call. */
  policyDecision(ready: CheckedToolCall): ReturnType<Approvals['policyDecision']> {
    return this.#approvals.policyDecision(ready);
  }

  /** Resumes the call that waits for the user's answer with this id. */
  wake(id: ToolCallId): void {
    this.#questions?.wake(id);
  }

  /**
   * Decides whether the call runs, and with which input. Asks the user if the policy requires it. `parked`
   * means that the call waits for the user. `lost` means that the tool ran in a process that died, so it is
   * unknown whether the tool completed.
   */
  async decide(call: ToolCallPart): Promise<Verdict | 'parked' | 'lost'> {
    const { whileAsking } = this.#context.settings;
    const stop = this.#stop;
    // Ids of questions are never cut, because two calls could then share one answer.
    if (!isId(changedCallId(call))) return refusal('invalid', longIdText);
    if (this.isRepeated(call)) return refusal('invalid', repeatedIdText);
    const { offered } = this.#context.journal.loop.turn ?? {};
    const work = prepareCall(call, this.tools, this.changedInput(call), offered);
    const ready = await raceAbort(work, stop);
    if (ready === halted) return 'left';
    if (!ready.ok) {
      const { beforeRejection } = this.#context.settings;
      const wait = beforeRejection && (await raceAbort(beforeRejection(call), stop));
      return wait === halted ? 'left' : refusal(ready.code, ready.message);
    }
    if (this.#isUnchecked(call)) return refusal('invalid', uncheckedText);
    if (this.callState(call)?.execution?.isDone) return refusal('invalid', removedText);
    if (this.callState(call)?.execution?.isLost && ready.tool.afterCrash !== 'repeat')
      return 'lost';
    // The loop already asked a client to run this call, so the call was allowed. A forged record cannot allow
    // a tool that runs here.
    if (this.callState(call)?.isAwaited && ready.tool.client !== undefined) return ready;
    if (!this.questionState(call)?.isAsked) {
      const policy = await raceAbort(this.#approvals.policyDecision(ready), stop);
      if (policy === halted) return 'left';
      if (policy.decision === 'deny') return refusal('denied', denialText(policy.reason));
      const { asking } = this.callState(call) ?? {};
      if (policy.decision === 'allow' && asking === undefined)
        return { ...ready, judged: policy.judged };
      // An approval for the session covers only questions of the policy, so a question of a guardrail has no rule.
      const { rule: _, ...ruling } = policy;
      const why = asking === undefined ? policy : { ...ruling, reason: asking.reason };
      const questions = await raceAbort(this.#loadQuestions(), stop);
      if (questions === halted) return 'left';
      if (this.answerTo(call) === undefined) await questions.ask(ready, why);
    } else {
      const questions = await this.#loadQuestions();
      const stale = await raceAbort(questions.staleReason(ready), stop);
      if (stale === halted) return 'left';
      if (stale !== undefined) return refusal('invalid', stale);
    }
    if (this.answerTo(call) === undefined && whileAsking === 'park') return 'parked';
    return (await this.#loadQuestions()).answer(ready);
  }

  /**
   * Decides again on a call, immediately before it runs. While the call waited, the user may have answered. If it
   * had to wait for a free slot (`hasWaited`), rules and files may have changed too. `undecided` means that the
   * call now needs an answer of the user.
   */
  async decideAgain(ready: DecidedCall, hasWaited: boolean): Promise<Verdict | 'undecided'> {
    if (this.answerTo(ready.call) !== undefined)
      return (await this.#loadQuestions()).apply(ready, hasWaited);
    if (!hasWaited) return ready;
    const policy = await raceAbort(this.#approvals.policyDecision(ready, true), this.#stop);
    if (policy === halted) return 'left';
    if (policy.decision === 'deny') return refusal('denied', denialText(policy.reason));
    return policy.decision === 'ask' ? 'undecided' : { ...ready, judged: policy.judged };
  }

  /** Returns the object that asks the user. Its code loads on demand, because many runs never ask. */
  async #loadQuestions(): Promise<Questions> {
    const { Questions } = await import('./questions.ts');
    this.#questions ??= new Questions({
      ...{ context: this.#context, at: this.#at, stop: this.#stop },
      ...{ approvals: this.#approvals, calls: this },
    });
    return this.#questions;
  }

  /**
   * Returns true if the id of the call is ambiguous: a different call, or the question of a sub-agent, has
   * the same id. The user's answer could then belong to either of them.
   */
  isRepeated(call: ToolCallPart): boolean {
    const { toolCallId } = call;
    const { isAsked = false, question } = this.questionState(call) ?? {};
    const about = this.#changeOf(call) === undefined ? undefined : toolCallId;
    const isOther = isAsked && question?.of !== about;
    return isOther || isRepeatedCallId(this.#context.journal.state, toolCallId);
  }

  /**
   * Returns true if guardrails did not check the call, because its input was invalid at that moment. The result of a
   * validation can change, for example if it reads a file.
   */
  #isUnchecked({ toolCallId, name }: ToolCallPart): boolean {
    const { settings, journal } = this.#context;
    const { verdicts, execution } = journal.loop.turn?.calls.get(toolCallId) ?? {};
    const isOpen = settings.guardrails.some(
      (one) =>
        one.on === 'tool_call' &&
        (one.tools?.includes(name) ?? true) &&
        verdicts?.get(one.name) === undefined,
    );
    return isOpen && execution === undefined;
  }

  /** Returns the state of a call, as the records on the log describe it. */
  callState({ toolCallId }: ToolCallPart): CallState | undefined {
    return this.#context.journal.loop.turn?.calls.get(toolCallId);
  }

  /** Returns the input with which a guardrail replaced the call's input, if there is one. */
  #changeOf(call: ToolCallPart): CallState['changed'] {
    return this.callState(call)?.changed;
  }

  /**
   * Returns the id of the question about the call. If a guardrail changed the input, the question gets a
   * separate id, because an answer with the call's own id refers to the old input.
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
   * Returns the input that replaces the model's input. The user's input takes precedence over the input of a
   * guardrail.
   */
  changedInput(call: ToolCallPart): JsonValue | undefined {
    const answer = this.answerTo(call);
    return answer?.input ?? this.#changeOf(call)?.input;
  }

  /**
   * Adds the changed input to the metadata of the result, because the recorded call still has the model's
   * input. Marks a result that can contain texts of a client, because guardrails check it as an input.
   */
  withChange(call: ToolCallPart, part: ToolResultPart): ToolResultPart {
    const answer = this.answerTo(call);
    const change = this.#changeOf(call);
    const isUsers = answer?.decision === 'allow' && answer.input !== undefined;
    const note = isUsers
      ? { changedInput: answer.input }
      : change && answer?.decision !== 'deny'
        ? { changedInput: change.input, changedBy: change.by }
        : undefined;
    const noted = note ? { ...part, metadata: { ...part.metadata, ...note } } : part;
    return this.#hasClientText(call) ? fromClient(noted) : noted;
  }

  /**
   * Returns true if a client wrote a text for the result: an output, the reason of a denial, or an input. The
   * text can also be in the answer to a question of the tool or of its sub-agent.
   */
  #hasClientText({ toolCallId }: ToolCallPart): boolean {
    return [...(this.#context.journal.loop.turn?.calls ?? [])].some(
      ([id, { question, answer, isAwaited }]) =>
        (id === toolCallId || question?.of === toolCallId) &&
        (isAwaited || (answer?.reason ?? answer?.input) !== undefined),
    );
  }
}
