import type { ChildAttempt, Fact, LogRecord, SessionId, ToolCallId, Usage } from '@millrace/core';
import type { Decision } from '../contract/command.ts';
import type { ChildAnswer, ChildQuestion, ParentCall } from '../contract/parent-call.ts';
import type { Journal } from '../contract/run-context.ts';
import { callsOfTurn } from '../state/turn-calls.ts';

interface ChildLinkOptions {
  readonly parent: ParentCall;
  readonly session: SessionId;
  readonly journal: () => Journal;
  /** Returns the name of the agent that currently drives the session. */
  readonly agent: () => string;
  /** Submits a decision to the session of this run. A decision whose key was used before has no effect. */
  readonly decide: (decision: Decision, key: string) => Promise<void>;
}

/**
 * Connects the run of a sub-agent with the tool call that runs it. All its state comes from the sub-agent's
 * log, so a new process can rebuild it after a crash.
 */
export class ChildLink {
  readonly #options: ChildLinkOptions;
  readonly #models = new Map<string, Pick<ChildAttempt, 'provider' | 'model' | 'version'>>();
  /** The usage of each attempt. The keys identify the attempts. */
  readonly #usages = new Map<string, readonly [ChildAttempt, Usage]>();
  #isOpen = false;

  constructor(options: ChildLinkOptions) {
    this.#options = options;
  }

  /** Must be called for each record of the session, including the records of earlier processes. */
  track({ fact, turn, attempt }: LogRecord): void {
    if (fact === undefined) return;
    const key = `${turn}.${attempt}`;
    switch (fact.type) {
      case 'response_started':
        this.#models.set(key, {
          ...{ provider: fact.provider, model: fact.model },
          ...(fact.version !== undefined && { version: fact.version }),
        });
        return;
      case 'response_finished':
      case 'usage_reported': {
        const { session, agent } = this.#options;
        const of = { session, agent: agent(), turn, attempt, ...this.#models.get(key) };
        return this.#report(key, of, fact.usage);
      }
      case 'child_usage_reported': {
        const { of, usage } = fact;
        return this.#report(`${of.turn}.${of.attempt} ${of.session}`, of, usage);
      }
      default:
    }
  }

  /**
   * Writes the questions and usage to the caller's log if that log does not have them yet. It also applies
   * the answers in the caller's log. Called once, after the session was read.
   */
  async open(): Promise<void> {
    const { parent, journal } = this.#options;
    this.#isOpen = true;
    parent.onAnswer((id, answer) => void this.#decide(id, answer).catch(() => {}));
    for (const [of, usage] of this.#usages.values()) await parent.reportUsage(of, usage);
    for (const { toolCallId } of journal().state.asked) await this.#ask(toolCallId);
    await journal().write([]);
  }

  /** Must be called for each record that this process commits. */
  onRecord({ fact }: LogRecord): void {
    // Errors are ignored here. If the caller's log fails, the caller stops this run.
    if (fact?.type === 'approval_asked') this.#ask(fact.toolCallId).catch(() => {});
    if (fact?.type === 'approval_answered') this.#noteAnswer(fact).catch(() => {});
  }

  /** The calls that wait for an answer. */
  get asked(): readonly ToolCallId[] {
    return this.#options.journal().state.asked.map(({ toolCallId }) => toolCallId);
  }

  #report(key: string, of: ChildAttempt, usage: Usage): void {
    this.#usages.set(key, [of, usage]);
    if (this.#isOpen) this.#options.parent.reportUsage(of, usage).catch(() => {});
  }

  async #ask(toolCallId: ToolCallId): Promise<void> {
    const question = this.#questionAbout(toolCallId);
    const answer = question && (await this.#options.parent.ask(question));
    if (answer !== undefined) await this.#decide(toolCallId, answer);
  }

  #questionAbout(toolCallId: ToolCallId): ChildQuestion | undefined {
    const { journal, agent, session } = this.#options;
    const { state, loop } = journal();
    const asked = state.asked.find((one) => one.toolCallId === toolCallId);
    if (asked === undefined) return undefined;
    const { name, reason, rule, from } = asked;
    const calls = callsOfTurn(state, loop.turn);
    const own = calls.find(({ part }) => part.toolCallId === toolCallId)?.part;
    return {
      ...{ toolCallId, name, reason },
      // A rule belongs to the policy of one agent. The agent's name is added, because a different agent may
      // use the same rule name for a different rule.
      rule: rule && `${agent()}: ${rule}`,
      judged: loop.turn?.calls.get(toolCallId)?.judged,
      agents: [agent(), ...(from?.agents ?? [])],
      session: from?.session ?? session,
      input: from?.input ?? own?.input ?? null,
      form: from?.form,
    };
  }

  /** Submits the caller's answer to the sub-agent's log, because every answer must be on that log. */
  #decide(toolCallId: ToolCallId, answer: ChildAnswer): Promise<void> {
    const { decision, by, reason, input, basis } = answer;
    const key = `answer of the caller: ${toolCallId}`;
    return decision === 'allow'
      ? this.#options.decide({ type: 'approve', toolCallId, by, input, basis }, key)
      : this.#options.decide({ type: 'deny', toolCallId, by, reason }, key);
  }

  #noteAnswer(fact: Extract<Fact, { readonly type: 'approval_answered' }>): Promise<void> {
    const { toolCallId, decision, reason, by, input, basis } = fact;
    return this.#options.parent.noteAnswer(toolCallId, { decision, reason, by, input, basis });
  }
}
