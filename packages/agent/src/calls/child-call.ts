import {
  type Attempt,
  type ChildAttempt,
  type DraftRecord,
  type Fact,
  isId,
  ownChild,
  type SessionId,
  type Stop,
  type ToolCallId,
  type ToolCallPart,
  toArray,
  type Usage,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import type { ApprovalAnswer, CallState } from '../contract/loop-state.ts';
import type { ChildAnswer, ChildQuestion, ParentCall } from '../contract/parent-call.ts';
import type { RunContext } from '../contract/run-context.ts';
import { checkPrices, exceededBudget } from '../run/limits.ts';
import { questionId } from './questions.ts';

interface ChildCallOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  readonly call: ToolCallPart;
  /** The id of the sub-agent's session. */
  readonly child: SessionId;
  /** The session that the sub-agent belongs to. */
  readonly parent: SessionId;
  /** True if this call continues an earlier execution that was parked, or whose process died. */
  readonly isContinued: boolean;
}

/**
 * One execution of a tool that runs a sub-agent. It writes the sub-agent's questions, answers and usage to
 * the caller's log. All its state is on the log, so a different process can continue the call.
 */
export class ChildCall implements ParentCall {
  readonly isContinued: boolean;
  readonly #options: ChildCallOptions;
  #listener: ((toolCallId: ToolCallId, answer: ChildAnswer) => void) | undefined;
  /** The questions that are being written to the log. The map prevents writing the same question twice. */
  readonly #asking = new Map<ToolCallId, Promise<void>>();
  /**
   * For each question id in the caller's session, the id of the sub-agent's call that the question is about.
   */
  readonly #questions = new Map<ToolCallId, ToolCallId>();
  /** The usage reports that were already on the log when this execution started. */
  readonly #reported: ReadonlySet<string>;
  #stop: Stop | undefined;
  #pending: readonly ToolCallId[] = [];

  constructor(options: ChildCallOptions) {
    this.#options = options;
    this.isContinued = options.isContinued;
    const { usage } = options.context.journal.state;
    const known = options.isContinued ? toArray(usage) : [];
    this.#reported = new Set(known.flatMap(({ of, usage: own }) => (of ? reportKey(of, own) : [])));
  }

  get log(): Log {
    return this.#options.context.settings.log;
  }

  get whileAsking(): 'wait' | 'park' {
    return this.#options.context.settings.whileAsking;
  }

  get leave(): AbortSignal {
    return this.#options.context.leave;
  }

  /** The id of the sub-agent's session. */
  get child(): SessionId {
    return this.#options.child;
  }

  /** The session that the sub-agent belongs to. */
  get parent(): SessionId {
    return this.#options.parent;
  }

  /** True if the run of the sub-agent ended because it waits for an answer. */
  get isParked(): boolean {
    return this.#stop?.reason === 'parked';
  }

  /** True if the sub-agent stopped early so that a different process can continue it. */
  get isLeft(): boolean {
    const { reason, cause } = this.#stop ?? {};
    return cause === 'left' || (reason === 'error' && this.leave.aborted);
  }

  /** The questions of a parked sub-agent that were answered after it parked. */
  get newAnswers(): readonly ToolCallId[] {
    return this.#pending.filter((id) => this.#answerTo(id) !== undefined);
  }

  checkPrices(providers: readonly Provider[]): void {
    const { settings, parent } = this.#options.context;
    checkPrices(settings.limits, providers);
    parent?.checkPrices(providers);
  }

  exceededBudget(): string | undefined {
    return exceededBudget(this.#options.context);
  }

  async ask(question: ChildQuestion): Promise<ChildAnswer | undefined> {
    const { toolCallId } = question;
    const id = this.#idOf(toolCallId);
    this.#questions.set(id, toolCallId);
    const known = this.#loopCalls?.get(id);
    if (known !== undefined && !this.#isOwn(known)) return otherCall;
    if (known === undefined) {
      const asking = this.#asking.get(id) ?? this.#write([this.#askedDraft(id, question)]);
      this.#asking.set(id, asking);
      await asking;
    }
    return this.#answerTo(toolCallId);
  }

  onAnswer(listener: (toolCallId: ToolCallId, answer: ChildAnswer) => void): void {
    this.#listener = listener;
  }

  /** Passes the user's answer to the sub-agent if the sub-agent asked the question with this id. */
  deliver(id: ToolCallId): void {
    const toolCallId = this.#questions.get(id);
    const answer = toolCallId && this.#answerTo(toolCallId);
    if (toolCallId && answer) this.#listener?.(toolCallId, answer);
  }

  async noteAnswer(toolCallId: ToolCallId, answer: ChildAnswer): Promise<void> {
    const id = this.#idOf(toolCallId);
    const known = this.#loopCalls?.get(id);
    if (known?.question === undefined || known.answer !== undefined) return;
    const { at, child } = this.#options;
    const { decision, reason, by, input, basis } = answer;
    const fact: Fact = {
      type: 'approval_answered',
      ...{ toolCallId: id, name: known.question.name, decision },
      ...(reason !== undefined && { reason }),
      ...(by !== undefined && { by }),
      ...(input !== undefined && { input }),
      ...(basis !== undefined && { basis }),
      answeredIn: child,
    };
    await this.#write([{ ...at, fact }]);
  }

  async reportUsage(of: ChildAttempt, usage: Usage): Promise<void> {
    const { at, call } = this.#options;
    const { toolCallId, name } = call;
    if (this.#reported.has(reportKey(of, usage))) return;
    const fact = { type: 'child_usage_reported', toolCallId, name, of, usage } as const;
    await this.#write([{ ...at, fact }]);
  }

  end(stop: Stop, asked: readonly ToolCallId[]): void {
    this.#stop = stop;
    this.#pending = asked;
  }

  #askedDraft(id: ToolCallId, question: ChildQuestion): DraftRecord {
    const { at, call } = this.#options;
    const { name, reason, rule, judged, agents, session, input, form } = question;
    const fact: Fact = {
      type: 'approval_asked',
      ...{ toolCallId: id, name },
      ...(reason !== undefined && { reason }),
      ...(rule !== undefined && { rule: ruleVia(call.name, rule) }),
      ...(judged !== undefined && { judged }),
      from: { toolCallId: call.toolCallId, agents, session, input, ...(form && { form }) },
    };
    return { ...at, fact };
  }

  /**
   * Returns the id that a question of the sub-agent has in the caller's session. A replay reads the second half
   * of the id, so this half is the id of the sub-agent's call, or a hash if this id is too long.
   */
  #idOf(toolCallId: ToolCallId): ToolCallId {
    const { child } = this.#options;
    const id = `${child}/${toolCallId}`;
    const fitting = isId(id) ? id : `${child}/${questionId('sub-agent', [child, toolCallId])}`;
    return fitting as ToolCallId;
  }

  get #loopCalls(): ReadonlyMap<ToolCallId, CallState> | undefined {
    return this.#options.context.journal.loop.turn?.calls;
  }

  #answerTo(toolCallId: ToolCallId): ApprovalAnswer | undefined {
    const known = this.#loopCalls?.get(this.#idOf(toolCallId));
    return known && this.#isOwn(known) ? known.answer : undefined;
  }

  /**
   * Returns true if the entry is a question of this sub-agent. If a call of the caller has the same id, the
   * answer belongs to that call and not to the question.
   */
  #isOwn({ question }: CallState): boolean {
    return question?.of === this.#options.call.toolCallId;
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return this.#options.context.journal.write(drafts);
  }
}

/**
 * Creates the object that connects a tool call to its sub-agent. If an earlier execution of the call was
 * parked, or its process died, the sub-agent continues in the same session. The sub-agent of a copied call
 * belongs to the original session, so the call then gets a sub-agent of its own.
 */
export function createChildCall(call: ToolCallPart, context: RunContext, at: Attempt): ChildCall {
  const { journal, settings } = context;
  const { execution } = journal.loop.turn?.calls.get(call.toolCallId) ?? {};
  const { owner: parent = context.session } = settings;
  const own = ownChild(execution, parent);
  const known = execution?.isLost || execution?.isParked ? own : undefined;
  const child = known ?? settings.ids.session();
  return new ChildCall({ context, at, call, child, parent, isContinued: known !== undefined });
}

const otherCall: ChildAnswer = {
  decision: 'deny',
  reason: 'another call has the id of this question, so nobody can be asked about it',
  by: undefined,
  input: undefined,
  basis: undefined,
};

function reportKey({ session, turn, attempt }: ChildAttempt, usage: Usage): string {
  return JSON.stringify([session, turn, attempt, usage]);
}

/**
 * Returns the rule of a sub-agent's question, with the name of the tool that runs the sub-agent in front. Two tools can
 * run sub-agents with the same name.
 */
function ruleVia(tool: string, rule: string): string {
  return rule.startsWith(`${tool}: `) ? rule : `${tool}: ${rule}`;
}
