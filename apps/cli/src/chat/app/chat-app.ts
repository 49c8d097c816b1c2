import type { Clock } from '@millrace/agent';
import { type Ids, randomIds, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent } from '../../agent/built-agent.ts';
import type { Config } from '../../config/config.ts';
import type { Key } from '../../input/key.ts';
import type { Chosen } from '../../models/chosen.ts';
import type { Theme } from '../../text/theme/theme.ts';
import { ruleOf } from '../ask/approval-choices.ts';
import type { PickList } from '../ask/ask.ts';
import { isCommand, runSlashCommand } from '../commands/command-table.ts';
import type { CommandContext } from '../commands/slash-command.ts';
import { Conversation } from '../session/conversation.ts';
import { ReplaySession } from '../session/replay-session.ts';
import { type Block, note } from '../state/block.ts';
import type { ChatState } from '../state/chat-state.ts';
import type { PendingApproval } from '../state/pending.ts';
import { Asking } from './asking.ts';
import { Display } from './display.ts';
import { lastScreenful } from './last-screenful.ts';
import { Questions } from './questions.ts';
import { goodbye } from './welcome.ts';

export interface ChatAppOptions {
  readonly log: Log;
  readonly built: BuiltAgent;
  readonly config: Config;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly theme: Theme;
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly onQuit: () => void;
  readonly ids?: Ids | undefined;
  /** Stops the process as Ctrl-Z does in a shell, until it goes on; without it, Ctrl-Z does nothing. */
  readonly suspension?: (() => Promise<void>) | undefined;
}

type Suspend = (callback: () => Promise<void>) => Promise<void>;

const noSuspend = () => Promise.resolve();

/** The chat without its terminal: what is said and asked in it, and what is to be seen of that. */
export class ChatApp implements CommandContext {
  readonly log: Log;
  readonly cwd: string;
  readonly config: Config;
  readonly env: ChatAppOptions['env'];
  readonly clock: Clock;
  readonly asking: Asking;
  readonly display: Display;
  readonly #options: ChatAppOptions;
  readonly #ids: Ids;
  readonly #questions: Questions;
  #built: BuiltAgent;
  #conversation: Conversation;
  #replay: ReplaySession | undefined;
  #suspend: () => Promise<void> = noSuspend;

  constructor(options: ChatAppOptions, session: SessionId) {
    const { log, cwd, config, env, clock, theme, size, built } = options;
    this.#options = options;
    this.log = log;
    this.cwd = cwd;
    this.config = config;
    this.env = env;
    this.clock = clock;
    this.#ids = options.ids ?? randomIds((bytes) => crypto.getRandomValues(bytes));
    this.#built = built;
    this.display = new Display({ clock, theme, size, isBusy: () => this.isBusy });
    this.#questions = new Questions(() => this.display.changed());
    this.#built.answerBy(this.#questions.ask);
    this.#conversation = this.#newConversation(session);
    this.asking = this.#newAsking();
  }

  get built(): BuiltAgent {
    return this.#built;
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  /** What is shown: of the session or, while that is streamed once more, of then. */
  get state(): ChatState {
    return this.#replay?.state ?? this.#conversation.state;
  }

  get isBusy(): boolean {
    return this.#replay !== undefined || this.#conversation.isBusy;
  }

  readonly print = (...blocks: readonly Block[]): void => this.display.print(blocks);

  readonly pick = (pick: PickList): void => this.asking.pick(pick);

  readonly newSession = (): SessionId => this.#ids.session();

  readonly quit = (): void => this.#options.onQuit();

  /** Goes to a session, which may be new, and shows the last of it. */
  async open(session: SessionId | undefined): Promise<void> {
    const before = this.#conversation;
    this.#conversation = this.#newConversation(session ?? this.newSession());
    await before.close();
    if (session === undefined) this.print(note('dim', 'A new session.'));
    await this.begin();
  }

  /** Shows what there is of the session, and goes on with it. */
  async begin(): Promise<void> {
    const conversation = this.#conversation;
    const { blocks, count: total } = await conversation.open();
    const { look, rows } = this.display;
    const { session } = conversation;
    this.print(...lastScreenful(look, blocks, { total, rows, session }));
    await conversation.goOn();
  }

  readonly use = (chosen: Chosen): void => {
    this.#built = this.#built.with({ chosen });
    this.display.changed();
  };

  readonly replay = (speed: number): void => {
    const { log, clock, display } = this;
    const { session } = this.#conversation;
    const print = (blocks: readonly Block[]) => display.print(blocks);
    const onChange = () => display.changed();
    const replay = new ReplaySession({ log, session, clock, speed, print, onChange });
    this.#replay = replay;
    this.print(note('mark', `▶ once more, ${speed} times as fast. Esc stops it.`));
    replay
      .play()
      .then((end) => this.print(note('mark', end === 'done' ? '■ that was all' : '■ stopped')))
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#replay = undefined;
        display.changed();
      });
  };

  /** Enter. */
  readonly submit = (text: string): void => {
    // Whoever says something has seen enough.
    this.#replay?.stop();
    this.#do(isCommand(text) ? runSlashCommand(this, text) : this.#conversation.send(text));
  };

  /** Alt-Enter, while something goes on. */
  readonly queue = (text: string): void => {
    this.#replay?.stop();
    this.#do(this.#conversation.queue(text));
  };

  /** Esc or Ctrl-C, while something goes on. */
  readonly stop = (): void => {
    if (this.#replay !== undefined) return this.#replay.stop();
    this.#questions.dismissAll();
    this.#do(this.#conversation.stop());
  };

  /** Keys that mean the same wherever one is. */
  readonly press = (key: Key): boolean => {
    if (key.type !== 'chord' || !key.ctrl) return false;
    if (key.char === 'r') this.#unfold();
    else if (key.char === 'z') this.#do(this.#suspend());
    else return false;
    return true;
  };

  /** How the terminal is given back for a while. */
  suspendBy(suspend: Suspend): () => void {
    const suspension = this.#options.suspension;
    this.#suspend = suspension === undefined ? noSuspend : () => suspend(suspension);
    return () => {
      this.#suspend = noSuspend;
    };
  }

  #unfold(): void {
    const { display } = this;
    display.isUnfolded = !display.isUnfolded;
    const { lastThought: text } = this.state;
    if (display.isUnfolded && text !== undefined && !this.isBusy)
      this.print({ type: 'thought', text, form: 'full', tookMs: 0 });
    display.drawNow();
  }

  /** Stops what this process drives, and lets go of the rest. */
  async close(): Promise<void> {
    this.#replay?.stop();
    this.#questions.dismissAll();
    await this.#conversation.close();
    this.#built.answerBy(undefined);
    const { session } = this.#conversation;
    if ((await this.log.info(session)) !== undefined) this.print(goodbye(session));
    this.display.end();
  }

  #newConversation(session: SessionId): Conversation {
    const { log, cwd, clock } = this.#options;
    const conversation: Conversation = new Conversation({
      ...{ log, session, cwd, clock, built: () => this.#built },
      newKey: () => this.#ids.execution(),
      print: (blocks) => this.display.print(blocks),
      onChange: () => this.display.changed(),
    });
    return conversation;
  }

  #newAsking(): Asking {
    return new Asking({
      clock: this.clock,
      approvals: () => this.#conversation.approvals,
      question: () => this.#questions.first,
      isChild: ({ session }) => session !== this.#conversation.session,
      approve: (approval, how) => this.#conversation.approve(approval, how),
      always: (approval) => this.#always(approval),
      deny: (approval, reason) => this.#conversation.deny(approval, reason),
      stop: this.stop,
      do: (work) => this.#do(work),
      onChange: () => this.display.drawNow(),
    });
  }

  /** The call runs, also where the rule cannot be kept: that is told. */
  async #always(approval: PendingApproval): Promise<void> {
    const rule = approval.rule === undefined ? undefined : ruleOf(approval.rule);
    await this.#conversation.approve(approval, { forSession: true });
    if (rule !== undefined) await this.#built.remember(rule, 'always');
  }

  /** What was asked for goes on by itself; what goes wrong with it is told. */
  #do(work: Promise<void>): void {
    work.catch((error: unknown) => this.#tell(error));
    this.display.changed();
  }

  #tell(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.print(note('bad', `✗ ${message}`));
  }
}
