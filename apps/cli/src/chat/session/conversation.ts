import { AgentError, type Clock, type Run, type RunResult } from '@millrace/agent';
import type { AgentEvent, Item, JsonObject, RunId, SessionId } from '@millrace/core';
import { type Log, LogError } from '@millrace/log';
import type { BuiltAgent } from '../../contract/agent.ts';
import { userItem } from '../../store/session-summaries.ts';
import { type Block, note } from '../contract/block.ts';
import type { ChatState, QueuedMessage } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { type Driving, driverOf, Lookout } from './driver-watcher.ts';
import {
  type Approving,
  approveCommand,
  denyCommand,
  messageCommand,
  Withdrawals,
} from './session-commands.ts';
import { type PrintedBefore, SessionView } from './session-view.ts';

interface ConversationOptions {
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
  /** What was said and nobody will hear: back to where it was typed. */
  readonly putBack: (text: string) => void;
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
  readonly #withdrawals = new Withdrawals();
  /** The run that this process drives. */
  #run: Run | undefined;
  /** One that it drove until nothing more could be written: nobody goes on with it. */
  #brokenRun: RunId | undefined;
  /** What began the run, until that is on the log. */
  #unsaid: string | undefined;
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
    return this.#run !== undefined || this.#isOpen;
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
    if (!this.isBusy) return;
    await this.#withdrawAll().catch((error: unknown) => this.#tell(error));
    if (this.#run !== undefined) return this.#run.abort();
    if (this.#isOpen) await this.#submit(this.session, { type: 'abort' });
  }

  /** Something that was said waits, and can be had back. */
  get hasQueued(): boolean {
    return this.#lastQueued !== undefined;
  }

  /** The last thing that was said and is not heard yet goes back to where it was typed. */
  async takeBack(): Promise<void> {
    const last = this.#lastQueued;
    if (last !== undefined) await this.#withdraw(last);
  }

  async approve({ session, id }: PendingApproval, how: Approving = {}): Promise<void> {
    await this.#submit(session, approveCommand(id, how, me));
    this.#goOnParked();
  }

  async deny({ session, id }: PendingApproval, reason?: string): Promise<void> {
    await this.#submit(session, denyCommand(id, reason, me));
    this.#goOnParked();
  }

  /** Tries again what failed, with nothing new said; false where nothing did. */
  retry(): boolean {
    if (!this.canRetry) return false;
    this.#resume();
    return true;
  }

  get canRetry(): boolean {
    return !this.isBusy && this.state.hasFailed && this.holder === undefined;
  }

  /** What was allowed for the session is asked about again. */
  async revoke(rule: string): Promise<void> {
    await this.#submit(this.session, { type: 'revoke', rule });
  }

  /** Has what was said long ago summarised. */
  async compact(): Promise<void> {
    if (this.#run !== undefined) return this.#run.compact();
    await this.#submit(this.session, { type: 'compact' });
    if (this.#isOpen) this.#lookout.start();
    else this.#resume();
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

  /** A run has begun and not ended, and somebody may drive it. */
  get #isOpen(): boolean {
    const { run } = this.state;
    return run !== undefined && run.id !== this.#brokenRun;
  }

  get #lastQueued(): QueuedMessage | undefined {
    return this.state.queued.findLast(({ key }) => !this.#withdrawals.has(key));
  }

  /** The last one first, so that what is put back stands in the order in which it was said. */
  async #withdrawAll(): Promise<void> {
    for (const message of this.state.queued.toReversed())
      if (!this.#withdrawals.has(message.key)) await this.#withdraw(message);
  }

  async #withdraw(message: QueuedMessage): Promise<void> {
    const by = this.#options.newKey();
    this.#withdrawals.add(by, message);
    const command = { type: 'withdraw', key: message.key };
    await this.#options.log.submit(this.session, command, by).catch((error: unknown) => {
      this.#withdrawals.delete(by);
      throw error;
    });
    if (this.isBusy) return;
    // Nobody is there to hear it, and whoever comes hears of this first.
    this.#withdrawals.delete(by);
    this.#options.putBack(message.text);
  }

  /** A run has begun and not ended, or waits for somebody. What only waits in the queue was left there. */
  get #isCutShort(): boolean {
    return this.state.run !== undefined || this.state.approvals.length > 0;
  }

  /** What a script had left to be decided goes on when it is. */
  #goOnParked(): void {
    if (!this.isBusy) this.#resume();
  }

  async #say(text: string, when: 'steer' | 'follow_up'): Promise<void> {
    const item = userItem([text], { cwd: this.#options.cwd });
    try {
      if (this.#run !== undefined) await this.#sayTo(this.#run, item, when);
      else if (this.#isOpen) await this.#leaveMessage(item, when);
      else this.#begin(item);
    } catch (error) {
      this.#options.putBack(text);
      throw error;
    }
  }

  async #sayTo(run: Run, item: Item, when: 'steer' | 'follow_up'): Promise<void> {
    const said = when === 'steer' ? run.steer(item) : run.followUp(item);
    await said.catch(async (error: unknown) => {
      if (!(error instanceof AgentError) || error.code !== 'run_over') throw error;
      await run.result;
      this.#begin(item);
    });
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
    this.#brokenRun = undefined;
    this.#unsaid = item && textOf(item);
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
    } else if (cause instanceof LogError || cause instanceof AgentError) this.#breakOff(run, cause);
  }

  /** Nothing more could be written. What is on the log is kept, and goes on when something is said. */
  #breakOff(run: Run, cause: Error): void {
    const text = this.#unsaid;
    this.#brokenRun = this.state.run?.id ?? run.id;
    this.#unsaid = undefined;
    this.#tell(cause);
    const way = '■ stopped, and kept as it is. Say more to go on, when that is mended.';
    if (this.state.run !== undefined) this.#options.print([note('mark', way)]);
    if (text !== undefined) this.#options.putBack(text);
    this.#options.onChange();
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

  #hear(event: AgentEvent): void {
    const { type } = event;
    if (type === 'item_started' && event.kind === 'user') this.#unsaid = undefined;
    const back = this.#withdrawals.hear(event);
    if (back !== undefined) this.#options.putBack(back);
    // Whoever stops it does not want it to go on with what was left to say.
    if (type === 'aborted') this.#left.clear();
    // Whoever drove it does so no more, though it may take a while to be seen.
    if (type === 'run_finished') this.#holder = undefined;
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
    if (this.#isOpen) {
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

function textOf({ parts }: Item): string {
  return parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('\n');
}
