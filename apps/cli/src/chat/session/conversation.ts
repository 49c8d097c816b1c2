import { AgentError, type Clock, type Run, type RunResult } from '@millrace/agent';
import type { AgentEvent, Item, JsonObject, SessionId } from '@millrace/core';
import { type Log, LogError } from '@millrace/log';
import type { BuiltAgent } from '../../agent/built-agent.ts';
import { userItem } from '../../store/user-item.ts';
import { type Block, note } from '../state/block.ts';
import type { ChatState } from '../state/chat-state.ts';
import type { PendingApproval } from '../state/pending.ts';
import { type Driving, driverOf } from './driver-of.ts';
import { Lookout } from './lookout.ts';
import type { PrintedBefore } from './printed-before.ts';
import { SessionView } from './session-view.ts';
import {
  type Approving,
  approveCommand,
  denyCommand,
  messageCommand,
} from './steering-commands.ts';

export interface ConversationOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly cwd: string;
  readonly clock: Clock;
  /** The agent as it is now: it may get another model. */
  readonly built: () => Pick<BuiltAgent, 'agent'>;
  /** Names commands, each once. */
  readonly newKey: () => string;
  /** To be printed, once. */
  readonly print: (blocks: readonly Block[]) => void;
  /** What is shown live may have changed. */
  readonly onChange: () => void;
}

/** Who is told to have answered. */
const me = 'you, in the terminal';

/**
 * One session as a chat has it: follows its log, and drives it where nobody else does. Everything that
 * steers goes through the log, so that it does not matter who drives.
 */
export class Conversation {
  readonly session: SessionId;
  readonly #options: ConversationOptions;
  readonly #view: SessionView;
  readonly #lookout: Lookout;
  /** Messages that were left for whoever drives. */
  readonly #left = new Set<string>();
  /** The run that this process drives. */
  #run: Run | undefined;
  #holder: string | undefined;
  #isOver = false;

  constructor(options: ConversationOptions) {
    const { session, log, clock, print, onChange } = options;
    this.session = session;
    this.#options = options;
    const onError = (error: unknown) => this.#tell(error);
    const onEvent = (event: AgentEvent) => this.#hear(event);
    this.#view = new SessionView({ session, log, clock, print, onChange, onEvent, onError });
    const onSeen = (driving: Driving) => this.#see(driving);
    this.#lookout = new Lookout({ log, session, clock, onSeen, onError });
  }

  get state(): ChatState {
    return this.#view.state;
  }

  /** A run goes on, here or elsewhere. */
  get isBusy(): boolean {
    return this.#run !== undefined || this.state.run !== undefined;
  }

  /** Who drives it, where that is not us. */
  get holder(): string | undefined {
    return this.#run === undefined ? this.#holder : undefined;
  }

  /** Those that wait for an answer, sub-agents' too. */
  get approvals(): readonly PendingApproval[] {
    return this.#view.approvals;
  }

  /** Reads what there is. Gives the last of what was printed before; `goOn` when that is on the screen. */
  open(): Promise<Pick<PrintedBefore, 'blocks' | 'count'>> {
    return this.#view.open();
  }

  /** Goes on with what was cut short, unless somebody else does. */
  async goOn(): Promise<void> {
    const { holder, hasWork } = await driverOf(this.#options.log, this.session);
    this.#holder = holder;
    if (holder !== undefined) {
      const text = `${holder} works on this session. You follow it here, and can stop it, answer it and say more.`;
      this.#options.print([note('mark', text)]);
      this.#lookout.start();
    } else if (hasWork && this.#isCutShort) this.#resume();
  }

  /** Starts a run, or joins the next request of the one that goes on. */
  send(text: string): Promise<void> {
    return this.#say(text, 'steer');
  }

  /** Is answered when the run that goes on would end. */
  queue(text: string): Promise<void> {
    return this.#say(text, 'follow_up');
  }

  async stop(): Promise<void> {
    if (this.#run !== undefined) return this.#run.abort();
    if (this.state.run !== undefined) await this.#submit(this.session, { type: 'abort' });
  }

  async approve({ session, id }: PendingApproval, how: Approving = {}): Promise<void> {
    await this.#submit(session, approveCommand(id, how, me));
    this.#goOnParked();
  }

  async deny({ session, id }: PendingApproval, reason?: string): Promise<void> {
    await this.#submit(session, denyCommand(id, reason, me));
    this.#goOnParked();
  }

  /** Has what was said long ago summarised. */
  async compact(): Promise<void> {
    if (this.#run !== undefined) return this.#run.compact();
    await this.#submit(this.session, { type: 'compact' });
    if (this.state.run === undefined) this.#resume();
    else this.#lookout.start();
  }

  /** Stops following. A run that this process drives is stopped first, and its end waited for. */
  async close(): Promise<void> {
    const run = this.#run;
    if (run !== undefined) {
      await run.abort('the chat was left').catch(() => {});
      await run.result;
    }
    this.#isOver = true;
    this.#lookout.stop();
    this.#view.close();
  }

  /** A run has begun and not ended, or waits for somebody. What only waits in the queue was left there. */
  get #isCutShort(): boolean {
    return this.state.run !== undefined || this.state.approvals.length > 0;
  }

  /** What a script had left to be decided goes on when it is. */
  #goOnParked(): void {
    if (this.#run === undefined && this.state.run === undefined) this.#resume();
  }

  async #say(text: string, when: 'steer' | 'follow_up'): Promise<void> {
    const item = userItem([text], { cwd: this.#options.cwd });
    const run = this.#run;
    if (run !== undefined) {
      const said = when === 'steer' ? run.steer(item) : run.followUp(item);
      return said.catch(async (error: unknown) => {
        if (!(error instanceof AgentError) || error.code !== 'run_over') throw error;
        await run.result;
        this.#begin(item);
      });
    }
    if (this.state.run === undefined) return this.#begin(item);
    await this.#leaveMessage(item, when);
  }

  /** For whoever drives. */
  async #leaveMessage(item: Item, when: 'steer' | 'follow_up'): Promise<void> {
    this.#left.add(await this.#submit(this.session, messageCommand(item, when)));
    this.#lookout.start();
  }

  #begin(item: Item): void {
    const { agent } = this.#options.built();
    this.#drive(agent.run(item, { session: this.session }), item);
  }

  #resume(): void {
    const { agent } = this.#options.built();
    this.#drive(agent.resume(this.session), undefined);
  }

  #drive(run: Run, item: Item | undefined): void {
    this.#run = run;
    this.#holder = undefined;
    this.#options.onChange();
    if (!this.#view.isFollowing) this.#followFrom(run);
    run.result
      .then((result) => this.#finish(run, result, item))
      .catch((error: unknown) => this.#tell(error));
  }

  async #finish(run: Run, { stop, cause }: RunResult, item: Item | undefined): Promise<void> {
    if (this.#run === run) this.#run = undefined;
    this.#options.onChange();
    if (stop.reason !== 'error' || this.#isOver) return;
    if (cause instanceof LogError && cause.code === 'held') {
      // Somebody was faster.
      if (!this.#view.isFollowing) this.#view.follow();
      if (item !== undefined) await this.#leaveMessage(item, 'follow_up');
      else this.#lookout.start();
    } else if (cause instanceof LogError || cause instanceof AgentError) this.#tell(cause);
  }

  /** A session that is new is there when its first run has said something. */
  #followFrom({ events }: Run): void {
    const first = events[Symbol.asyncIterator]();
    const follow = async () => {
      await first.next();
      await first.return?.();
      const isThere = (await this.#options.log.info(this.session)) !== undefined;
      if (!this.#view.isFollowing && isThere) this.#view.follow();
    };
    follow().catch((error: unknown) => this.#tell(error));
  }

  #hear({ type }: AgentEvent): void {
    // Whoever stops it does not want it to go on with what was left to say.
    if (type === 'aborted') this.#left.clear();
    // Somebody else begins: it is looked who that is.
    if (type === 'run_started' && this.#run === undefined) this.#lookout.start();
  }

  async #submit(session: SessionId, command: JsonObject): Promise<string> {
    const key = this.#options.newKey();
    await this.#options.log.submit(session, command, key);
    return key;
  }

  /** Takes over where somebody else's process is gone with work left to do. */
  #see({ holder, hasWork }: Driving): boolean {
    if (this.#run !== undefined) return false;
    this.#holder = holder;
    this.#options.onChange();
    if (holder !== undefined || !hasWork) return holder !== undefined;
    if (this.state.run !== undefined) {
      const text = '↻ whoever worked on this session is gone: it goes on here';
      this.#options.print([note('mark', text)]);
      this.#resume();
      // What was left too late to be heard is for us to answer.
    } else if (this.state.queued.some(({ key }) => this.#left.has(key))) this.#resume();
    return false;
  }

  #tell(error: unknown): void {
    if (this.#isOver) return;
    const text = error instanceof Error ? error.message : String(error);
    this.#options.print([note('bad', `✗ ${text}`)]);
  }
}
